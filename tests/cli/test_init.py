"""`outweigh init` leaves a suite that runs, and never touches what was there."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.interop.skill_creator.skills import a_skill

from outweigh.app.starter_suite import starter_files

WRITTEN = {**starter_files(), ".gitignore": b"outweigh-runs/\n"}


def found_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_starter_suite_is_written_whole_and_the_next_command_is_named(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("init", str(tmp_path / "mine"))

    assert answer.code == 0
    assert found_in(tmp_path / "mine") == WRITTEN
    assert f"  cd {tmp_path / 'mine'}\n" in answer.out
    assert "\n  outweigh run " in answer.out


def test_without_a_folder_it_goes_where_one_stands(
    outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    answer = outweigh("init")

    assert answer.code == 0
    assert found_in(tmp_path) == WRITTEN


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
    assert found_in(tmp_path) == WRITTEN


def test_a_folder_that_cannot_be_made_is_one_paragraph(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    answer = outweigh("init", str(tmp_path / "file" / "suite"))

    assert answer.code == 2
    assert answer.err.startswith("outweigh: ")
    assert "cannot be made: Not a directory" in answer.err


class TestWhatGitIgnores:
    def test_lines_that_are_there_stay_and_the_folder_of_runs_is_added(self, outweigh: Any, tmp_path: Path) -> None:
        (tmp_path / ".gitignore").write_bytes(b"*.log\r\n# mine")

        assert outweigh("init", str(tmp_path)).code == 0
        assert (tmp_path / ".gitignore").read_bytes() == b"*.log\r\n# mine\r\noutweigh-runs/\r\n"

    @pytest.mark.parametrize("line", ["outweigh-runs/", "outweigh-runs", "/outweigh-runs/", "  outweigh-runs/  "])
    def test_a_pattern_that_is_there_is_not_added_again(self, outweigh: Any, tmp_path: Path, line: str) -> None:
        (tmp_path / ".gitignore").write_text(f"a\n{line}\nb\n")

        assert outweigh("init", str(tmp_path)).code == 0
        assert (tmp_path / ".gitignore").read_text() == f"a\n{line}\nb\n"

    def test_git_ignores_what_a_run_writes(
        self, outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        subprocess.run(["git", "init", "-q"], check=True)
        assert outweigh("init").code == 0
        assert outweigh("run", "-k", "1").code == 0

        shown = subprocess.run(["git", "status", "--short", "-uall"], check=True, capture_output=True, text=True).stdout

        assert (tmp_path / "outweigh-runs").is_dir()
        assert "suite.toml" in shown
        assert "outweigh-runs" not in shown

    def test_a_suite_from_elsewhere_has_it_too(self, outweigh: Any, tmp_path: Path) -> None:
        skill = a_skill(tmp_path / "skill", {"evals": [{"id": 1, "prompt": "Do it.", "expectations": ["Done."]}]})

        assert outweigh("init", str(tmp_path / "suite"), "--from-skill", str(skill)).code == 0
        assert (tmp_path / "suite" / ".gitignore").read_text() == "outweigh-runs/\n"
