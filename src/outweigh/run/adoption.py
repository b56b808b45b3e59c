"""A run that another harness made for us, as the record of the trial that it was made for."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

import msgspec

from outweigh.record.run_record import RunRecord
from outweigh.record.secrecy import without_secrets
from outweigh.record.trial import ARBITRARY, REPEAT_LABEL, Trial
from outweigh.task.arm import Arm
from outweigh.task.task import Task

JOB = "job"
"""Where a record says which job of the other harness it comes from."""
SOURCE_CHECKSUM = "source_task_checksum"
"""Where it keeps the harness's own hash of the task."""


def adopted(
    record: RunRecord, trial: Trial, attempt: int, *, arm: Arm, task: Task, job: str, secrets: Collection[str]
) -> RunRecord:
    """What the harness measured, under our names for it, without anybody's secrets.

    Which of several repeats a run is, is a label: the harness knows none. The place in our plan is left unknown:
    whoever asks for the order of the runs goes by the clock.
    """
    own = msgspec.structs.replace(
        record,
        trial=trial,
        attempt=attempt,
        arm_fingerprint=arm.fingerprint,
        task_checksum=task.checksum,
        family=task.family,
        position=None,
        extra={**record.extra, JOB: job, REPEAT_LABEL: ARBITRARY, SOURCE_CHECKSUM: record.task_checksum},
    )
    if not secrets:
        return own
    plain = msgspec.to_builtins(own, builtin_types=(datetime,))
    return msgspec.convert(_clean(plain, secrets), RunRecord)


def _clean(value: Any, secrets: Collection[str]) -> Any:
    if isinstance(value, str):
        return without_secrets(value.encode(errors="backslashreplace"), secrets).decode()
    if isinstance(value, dict):
        return {key: _clean(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item, secrets) for item in value]
    return value
