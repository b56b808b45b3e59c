"""What a store keeps with a run: its steps, patch and trajectory, and trajectories exported as files."""

import re
from hashlib import sha256
from pathlib import Path

import msgspec

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.run_record import DIFF_ARTIFACT, RunRecord, changed_nothing
from outweigh.report.run_diff import ComparedRun
from outweigh.report.run_steps import ShownStep, steps_of_record, steps_of_trajectory
from outweigh.score.objective import passed
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.durable_files import make_folder, write_atomic
from outweigh.transcript.atif import AtifTrajectory
from outweigh.transcript.trajectory_file import encode_trajectory, read_trajectory

TRAJECTORY = "trajectory.json"
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def export_trajectory(run: RunRecord, artifacts: ArtifactFolder, target: Path) -> bool:
    """Write a run's trajectory below a folder; False where the run has none. What it was of stands in its `extra`."""
    trajectory = read_run_trajectory(run, artifacts)
    if trajectory is None:
        return False
    outcome = passed(run).value
    about = {
        "run_id": run.run_id,
        "task_id": run.trial.task_id,
        "arm": run.trial.arm,
        "repeat": run.trial.repeat,
        "attempt": run.attempt,
        "status": run.status.value,
        "passed": None if outcome is None else bool(outcome),
    }
    marked = msgspec.structs.replace(trajectory, extra=(trajectory.extra or {}) | {"outweigh": about})
    trial = run.trial
    folder = (
        target / safe_file_name(trial.arm) / safe_file_name(trial.task_id) / _attempt_folder(trial.repeat, run.attempt)
    )
    try:
        make_folder(folder)
    except OSError as fault:
        raise UsageError(f"{folder} cannot be made: {fault.strerror}.") from fault
    write_atomic(folder / TRAJECTORY, [encode_trajectory(marked), b"\n"])
    return True


def read_run_trajectory(run: RunRecord, artifacts: ArtifactFolder) -> AtifTrajectory | None:
    """A run's trajectory; None where the run has none."""
    digest = run.artifacts.get(TRAJECTORY)
    content = artifacts.read(digest) if digest is not None else b""
    return read_trajectory(content, f"the trajectory of {run.run_id!r}") if content else None


def safe_file_name(name: str) -> str:
    """A name that any file system takes and no other name shares."""
    if _SAFE.fullmatch(name):
        return name
    return f"{_UNSAFE.sub('-', name).strip('.-')[:60]}-{sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _attempt_folder(repeat: int, attempt: int) -> str:
    return str(repeat) if attempt == 1 else f"{repeat}-attempt-{attempt}"


def read_run_side(run: RunRecord, artifacts: ArtifactFolder) -> ComparedRun:
    """Read what there is; what is missing or damaged becomes a warning, and the record stands in for it."""
    warnings: list[str] = []
    steps = _steps(run, artifacts, warnings)
    return ComparedRun(record=run, steps=steps, patch=_patch(run, artifacts, warnings), warnings=tuple(warnings))


def _steps(run: RunRecord, artifacts: ArtifactFolder, warnings: list[str]) -> tuple[ShownStep, ...] | None:
    if TRAJECTORY in run.artifacts:
        try:
            content = artifacts.read(run.artifacts[TRAJECTORY])
            return steps_of_trajectory(read_trajectory(content, f"the trajectory of {run.run_id}").steps)
        except EvidenceError as fault:
            warnings.append(f"{run.run_id}: {fault}")
    return None if run.steps is None else steps_of_record(run.steps)


def _patch(run: RunRecord, artifacts: ArtifactFolder, warnings: list[str]) -> str | None:
    if DIFF_ARTIFACT in run.artifacts:
        try:
            return artifacts.read(run.artifacts[DIFF_ARTIFACT]).decode(errors="backslashreplace")
        except EvidenceError as fault:
            warnings.append(f"{run.run_id}: {fault}")
            return None
    return "" if changed_nothing(run) else None
