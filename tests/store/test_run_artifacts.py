"""Claims about runs that are shown with what their store kept of them."""

from pathlib import Path

from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.run_artifacts import export_trajectory, read_run_side
from outweigh.testing.builders import a_run


def test_a_run_of_the_engine_without_a_diff_changed_nothing(tmp_path: Path) -> None:
    assert read_run_side(a_run(setup_seconds=0.1), ArtifactFolder.of_store(tmp_path)).patch == ""


def test_of_what_another_harness_ran_nobody_claims_that_nothing_changed(tmp_path: Path) -> None:
    assert (
        read_run_side(a_run(setup_seconds=0.1, check_command_count=None), ArtifactFolder.of_store(tmp_path)).patch
        is None
    )


def test_a_run_without_a_trajectory_is_not_said_to_be_exported(tmp_path: Path) -> None:
    target = tmp_path / "exported"

    assert not export_trajectory(a_run(), ArtifactFolder.of_store(tmp_path), target)
    assert not target.exists()
