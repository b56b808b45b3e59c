"""`outweigh init` leaves a suite that runs, and never touches what was there."""

from pathlib import Path
from typing import Any

import pytest

from outweigh.app.starter_suite import starter_files


def found_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_starter_suite_is_written_whole_and_the_next_command_is_named(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("init", str(tmp_path / "mine"))

    assert answer.code == 0
    assert found_in(tmp_path / "mine") == starter_files()
    assert f"outweigh run -c {tmp_path / 'mine'}" in answer.out


def test_without_a_folder_it_goes_where_one_stands(
    outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    answer = outweigh("init")

    assert answer.code == 0
    assert found_in(tmp_path) == starter_files()


def test_what_is_written_runs_as_it_is_and_can_be_judged(outweigh: Any, tmp_path: Path) -> None:
    outweigh("init", str(tmp_path / "suite"))

    ran = outweigh("run", "-c", str(tmp_path / "suite"), "-o", str(tmp_path / "runs"))
    judged = outweigh("verdict", str(tmp_path / "runs"), "--format", "json")

    assert ran.code == 0, ran.err
    assert (judged.json()["baseline"], judged.json()["candidate"]) == ("plain", "candidate")
    assert judged.json()["decision"] == "inconclusive", "two tasks cannot carry more"


def test_a_file_that_is_there_is_named_and_nothing_is_written(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text("mine")

    answer = outweigh("init", str(tmp_path))

    assert (answer.code, answer.out) == (2, "")
    assert f"'{tmp_path / 'script.toml'}' is already there" in answer.err
    assert found_in(tmp_path) == {"script.toml": b"mine"}


def test_a_second_init_changes_nothing(outweigh: Any, tmp_path: Path) -> None:
    outweigh("init", str(tmp_path))

    answer = outweigh("init", str(tmp_path))

    assert answer.code == 2
    assert "are already there" in answer.err
    assert f"and {len(starter_files()) - 3} more" in answer.err
    assert found_in(tmp_path) == starter_files()


def test_a_folder_that_cannot_be_made_is_one_paragraph(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    answer = outweigh("init", str(tmp_path / "file" / "suite"))

    assert answer.code == 2
    assert answer.err.startswith("outweigh: ")
    assert "cannot be made: Not a directory" in answer.err
