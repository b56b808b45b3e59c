"""Claims about files that were not there before: all of them or none."""

from pathlib import Path

import pytest

from outweigh.app.new_files import refuse_to_overwrite, write_files
from outweigh.errors import UsageError
from outweigh.ports.suites import DraftFile

FILE = DraftFile(content=b"x\n")


def test_a_file_where_a_folder_must_be_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "tasks").touch()

    with pytest.raises(UsageError, match=r"'[^']*tasks' is already there"):
        refuse_to_overwrite([tmp_path / "suite.toml", tmp_path / "tasks" / "one" / "task.toml"], tmp_path)


def test_a_link_that_leads_nowhere_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "tasks").symlink_to(tmp_path / "nowhere")

    with pytest.raises(UsageError, match=r"'[^']*tasks' is already there"):
        refuse_to_overwrite([tmp_path / "tasks" / "one" / "task.toml"], tmp_path)


def test_folders_that_are_there_are_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()

    refuse_to_overwrite([tmp_path / "tasks" / "one" / "task.toml"], tmp_path)


def test_what_was_written_before_a_fault_is_taken_back(tmp_path: Path) -> None:
    too_long = "x" * 300

    with pytest.raises(UsageError):
        write_files(tmp_path / "suite", {"suite.toml": FILE, f"tasks/{too_long}/task.toml": FILE})

    assert not [path for path in (tmp_path / "suite").rglob("*") if path.is_file()]
