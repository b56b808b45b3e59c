"""What tests of importers ask about imported runs."""

import shutil
from pathlib import Path

from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import Importer, ImportNotes
from outweigh.testing.importer_contract import read_all

SAMPLES = Path(__file__).parent / "samples"
"""Files that the harnesses themselves wrote; README.md says how."""


def copied_sample(name: str, folder: Path) -> Path:
    """A copy of a sample, which a test may change."""
    return Path(shutil.copytree(SAMPLES / name, folder / name))


def imported_runs(importer: Importer, path: Path, **options: object) -> tuple[list[RunRecord], ImportNotes]:
    """The runs that an importer reads, and its notes."""
    found, notes = read_all(importer, path, **options)
    return [run for run in found if isinstance(run, RunRecord)], notes


def is_pass(run: RunRecord) -> bool | None:
    """What the required check says."""
    assert run.checks is not None
    (required,) = (check for check in run.checks if check.required)
    return required.passed


def passes(runs: list[RunRecord]) -> dict[str, list[bool | None]]:
    """The outcomes by arm, in the order of tasks and repeats."""
    found: dict[str, list[bool | None]] = {}
    for run in sorted(runs, key=lambda run: (run.trial.task_id, run.trial.repeat)):
        found.setdefault(run.trial.arm, []).append(is_pass(run))
    return found
