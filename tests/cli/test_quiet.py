"""`--quiet`: results stay on standard output, notices on standard error go, and an error is still shown."""

from pathlib import Path

import pytest
from tests.conftest import Outweigh

RECORD = '{"task_id": "t", "arm": "%s", "repeat": 1, "success": true}\n'


@pytest.fixture
def damaged(tmp_path: Path) -> str:
    """Records of two arms and a line that cannot be read, about which `store export --skip-invalid` warns."""
    path = tmp_path / "runs.jsonl"
    path.write_text(RECORD % "a" + RECORD % "b" + "{\n")
    return str(path)


def export(path: str) -> tuple[str, ...]:
    return ("store", "export", path, "--skip-invalid", "-o", f"{path}.csv")


@pytest.mark.parametrize("option", ["-q", "--quiet"])
@pytest.mark.parametrize("before", [True, False], ids=["before-the-verb", "after-the-verb"])
def test_a_notice_is_dropped(outweigh: Outweigh, damaged: str, option: str, *, before: bool) -> None:
    words = export(damaged)

    loud = outweigh(*words)
    quiet = outweigh(option, *words) if before else outweigh(*words, option)

    assert loud.err != ""
    assert (quiet.code, quiet.out, quiet.err) == (loud.code, loud.out, "")


def test_results_stay(outweigh: Outweigh, damaged: str) -> None:
    words = ("compare", damaged, "--skip-invalid", "--baseline", "a", "--candidate", "b", "--format", "json")

    assert outweigh(*words, "-q").out == outweigh(*words).out != ""


def test_an_error_is_shown(outweigh: Outweigh, tmp_path: Path) -> None:
    answer = outweigh("verdict", str(tmp_path / "absent.jsonl"), "--quiet")

    assert answer.code == 2
    assert "absent.jsonl" in answer.err


def test_the_hint_about_an_old_name_is_dropped(outweigh: Outweigh, damaged: str) -> None:
    assert outweigh(*export(damaged)[1:], "-q").err == ""
    assert "is now `outweigh store export`" in outweigh(*export(damaged)[1:]).err


def test_the_next_command_is_not_quiet(outweigh: Outweigh, damaged: str) -> None:
    outweigh(*export(damaged), "-q")

    assert outweigh(*export(damaged)).err != ""


def test_progress_of_a_run_is_dropped(outweigh: Outweigh, tmp_path: Path) -> None:
    suite = str(tmp_path / "suite")
    outweigh("init", suite)

    loud = outweigh("run", "-c", suite, "-k", "1", "-o", str(tmp_path / "loud"))
    quiet = outweigh("run", "-c", suite, "-k", "1", "-o", str(tmp_path / "quiet"), "-q")

    assert loud.err != ""
    assert (quiet.code, quiet.err) == (loud.code, "")


def test_a_run_that_did_not_finish_says_why(outweigh: Outweigh, tmp_path: Path) -> None:
    suite = str(tmp_path / "suite")
    outweigh("init", suite)

    answer = outweigh("run", "-c", suite, "-o", str(tmp_path / "store"), "--budget", "0.0001", "-q")

    assert answer.code == 4
    assert "to go on: " in answer.err
