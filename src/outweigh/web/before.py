"""What the checks of a task said before anybody worked on it, where the store kept it."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from outweigh.record.run_record import RunRecord
from outweigh.run.preflight_findings import Preflight

FILE = "preflight.json"


def checks_before(folder: Path, run: RunRecord) -> Mapping[str, bool | None]:
    """Outcomes of the untouched workspace by check; empty where it was not tried, or the task was another one then."""
    try:
        kept = msgspec.json.decode((folder / FILE).read_bytes(), type=Preflight)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    for task in kept.tasks:
        if task.task_id == run.trial.task_id and task.task_checksum == run.task_checksum:
            return {check.name: check.passed for check in task.untouched or ()}
    return {}
