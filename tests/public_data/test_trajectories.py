"""Trajectories of versions 1.5 to 1.7 that other programs wrote."""

from pathlib import Path

from outweigh.transcript.record_steps import record_steps
from outweigh.transcript.trajectory_file import read_trajectory


def test_every_published_trajectory_is_read(trajectories: Path) -> None:
    read = {path.name: read_trajectory(path.read_bytes(), path.name) for path in trajectories.rglob("*.json")}

    assert len(read) == 11
    assert {each.schema_version for each in read.values()} == {"ATIF-v1.5", "ATIF-v1.6", "ATIF-v1.7"}
    assert all(record_steps(each.steps) for each in read.values())


def test_context_that_was_copied_from_an_earlier_file_does_not_count_twice(trajectories: Path) -> None:
    name = "terminus_2__hello-world-context-summarization-linear-history.trajectory.cont-1.json"
    continued = read_trajectory((trajectories / "harbor_golden" / name).read_bytes())

    kept = record_steps(continued.steps)

    copied = sum(step.is_copied_context is True for step in continued.steps)
    assert (len(continued.steps), copied, len(kept)) == (8, 4, 4)
