"""A recorded run with what its store kept beside it: steps and patch."""

from pathlib import Path

from outweigh.adapters.stores.artifact_folder import ArtifactFolder
from outweigh.errors import EvidenceError
from outweigh.record.kept_diff import DIFF, changed_nothing
from outweigh.record.run_record import RunRecord
from outweigh.report.run_diff.run_diff import RunSide
from outweigh.report.run_steps import ShownStep, steps_of_record, steps_of_trajectory
from outweigh.transcript.atif_file import read_trajectory

TRAJECTORY = "trajectory.json"


def kept_run(run: RunRecord, folder: Path) -> RunSide:
    """Read what there is; what is missing or damaged becomes a warning, and the record stands in for it."""
    warnings: list[str] = []
    artifacts = ArtifactFolder(folder / "artifacts")
    steps = _steps(run, artifacts, warnings)
    return RunSide(record=run, steps=steps, patch=_patch(run, artifacts, warnings), warnings=tuple(warnings))


def _steps(run: RunRecord, artifacts: ArtifactFolder, warnings: list[str]) -> tuple[ShownStep, ...] | None:
    if TRAJECTORY in run.artifacts:
        try:
            content = artifacts.read(run.artifacts[TRAJECTORY])
            return steps_of_trajectory(read_trajectory(content, f"the trajectory of {run.run_id}").steps)
        except EvidenceError as fault:
            warnings.append(f"{run.run_id}: {fault}")
    return None if run.steps is None else steps_of_record(run.steps)


def _patch(run: RunRecord, artifacts: ArtifactFolder, warnings: list[str]) -> str | None:
    if DIFF in run.artifacts:
        try:
            return artifacts.read(run.artifacts[DIFF]).decode(errors="backslashreplace")
        except EvidenceError as fault:
            warnings.append(f"{run.run_id}: {fault}")
            return None
    return "" if changed_nothing(run) else None
