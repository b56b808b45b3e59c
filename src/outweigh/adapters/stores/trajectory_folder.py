"""Trajectories as files for other programs: `<arm>/<task>/<repeat>/trajectory.json`, each saying which run it is of."""

import re
from hashlib import sha256
from pathlib import Path

import msgspec

from outweigh.adapters.stores.artifact_folder import ArtifactFolder
from outweigh.adapters.stores.synced_folder import make_folder
from outweigh.adapters.stores.whole_file import write_whole
from outweigh.errors import UsageError
from outweigh.record.run_record import RunRecord
from outweigh.score.objective import passed
from outweigh.transcript.atif import AtifTrajectory
from outweigh.transcript.atif_file import encode_trajectory, read_trajectory

TRAJECTORY = "trajectory.json"
ARTIFACTS = "artifacts"
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def export_trajectory(run: RunRecord, store: Path, target: Path) -> bool:
    """Write a run's trajectory below a folder; False where the run has none. What it was of stands in its `extra`."""
    trajectory = kept_trajectory(run, store)
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
    folder = target / folder_name(trial.arm) / folder_name(trial.task_id) / _numbered(trial.repeat, run.attempt)
    try:
        make_folder(folder)
    except OSError as fault:
        raise UsageError(f"{folder} cannot be made: {fault.strerror}.") from fault
    write_whole(folder / TRAJECTORY, [encode_trajectory(marked), b"\n"])
    return True


def kept_trajectory(run: RunRecord, store: Path) -> AtifTrajectory | None:
    """A run's trajectory; None where the run has none."""
    digest = run.artifacts.get(TRAJECTORY)
    content = ArtifactFolder(store / ARTIFACTS).read(digest) if digest is not None else b""
    return read_trajectory(content, f"the trajectory of {run.run_id!r}") if content else None


def folder_name(name: str) -> str:
    """A name that any file system takes and no other name shares."""
    if _SAFE.fullmatch(name):
        return name
    return f"{_UNSAFE.sub('-', name).strip('.-')[:60]}-{sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _numbered(repeat: int, attempt: int) -> str:
    return str(repeat) if attempt == 1 else f"{repeat}-attempt-{attempt}"
