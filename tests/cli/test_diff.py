"""`outweigh diff`: two runs side by side."""

from pathlib import Path

import pytest
from tests.conftest import Outweigh
from tests.trajectories import Runs, a_patch, a_step, a_trajectory, store_of

from outweigh.testing.builders import a_check, a_run

LOOK = a_step("bash", {"command": "ls"})


@pytest.fixture
def store(tmp_path: Path) -> str:
    edit, other = a_step("edit", {"path": "a.py", "text": "x"}), a_step("edit", {"path": "a.py", "text": "y"})
    a = {"trajectory.json": a_trajectory(LOOK, edit, a_step("bash", {"command": "pytest"}))}
    b = {"trajectory.json": a_trajectory(LOOK, other), "diff.patch": a_patch("a.py", "y")}
    runs = [
        (a_run("fix", "plain", 1), {**a, "diff.patch": a_patch("a.py", "x")}),
        (a_run("fix", "better", 1, passed=False), b),
    ]
    return str(store_of(tmp_path / "store", runs))


def test_it_says_where_two_runs_part(outweigh: Outweigh, store: str) -> None:
    answer = outweigh("diff", store, "fix/plain/1", "fix/better/1")

    assert answer.code == 0
    assert "After 1 step alike they part, at A's step 2; 1 of 3 steps are alike." in answer.out
    assert "a.py  +1 -0  +1 -0  different" in answer.out
    assert "tests  passed  failed" in answer.out


def test_json_has_every_row_and_the_first_that_differs(outweigh: Outweigh, store: str) -> None:
    answer = outweigh("diff", store, "fix/plain/1", "fix/better/1", "--format", "json").json()

    assert answer["schema"] == "outweigh.diff/1"
    assert answer["first_divergence"] == 1
    assert [row["likeness"] for row in answer["steps"]] == ["same", "changed", "only_a"]
    assert answer["files"] == [
        {
            "path": "a.py",
            "likeness": "different",
            "a": {"added": 1, "removed": 0},
            "b": {"added": 1, "removed": 0},
        }
    ]


def test_markdown_keeps_the_steps_as_they_are(outweigh: Outweigh, store: str) -> None:
    answer = outweigh("diff", store, "fix/plain/1", "fix/better/1", "--format", "markdown")

    assert "```\n=   1 bash" in answer.out


def test_a_name_that_is_not_there_is_answered_with_those_that_are(outweigh: Outweigh, store: str) -> None:
    answer = outweigh("diff", store, "fix/plain", "fix/better/1")

    assert answer.code == 2
    assert "holds no run 'fix/plain'. It holds 'fix/plain/1'." in answer.err


def test_of_several_attempts_the_last_is_taken(outweigh: Outweigh, tmp_path: Path) -> None:
    runs: Runs = [
        (a_run("fix", "plain", 1, run_id="one", duration_seconds=1.0), {}),
        (a_run("fix", "plain", 1, run_id="two", attempt=2, duration_seconds=2.0), {}),
    ]
    store = str(store_of(tmp_path / "store", runs))

    answer = outweigh("diff", store, "one", "fix/plain/1", "--format", "json").json()

    assert answer["facts"]["duration_seconds"] == {"a": 1.0, "b": 2.0}


def test_a_lost_trajectory_is_a_warning_and_the_record_stands_in(outweigh: Outweigh, store: str) -> None:
    for path in (Path(store) / "artifacts").glob("??/*"):
        path.unlink()

    answer = outweigh("diff", store, "fix/plain/1", "fix/better/1")

    assert answer.code == 0
    assert "The steps cannot be compared" in answer.out
    assert "cannot be read" in answer.out


def test_what_agents_wrote_cannot_steer_the_terminal(outweigh: Outweigh, tmp_path: Path) -> None:
    hostile = a_step("bash", {"command": "\x1b[2J\u202eevil"}, said="<script>")
    kept = {"trajectory.json": a_trajectory(hostile), "diff.patch": a_patch("\x1b[31m.py", "x")}
    runs = [(a_run("fix", "plain", 1), kept), (a_run("fix", "better", 1), kept)]
    store = str(store_of(tmp_path / "store", runs))

    answer = outweigh("diff", store, "fix/plain/1", "fix/better/1")

    assert answer.code == 0
    assert not any(char in answer.out for char in "\x1b\u202e")


def test_runs_without_steps_are_compared_by_their_numbers(outweigh: Outweigh, tmp_path: Path) -> None:
    checks = (a_check("tests"), a_check("style", passed=None))
    runs: Runs = [(a_run("fix", "plain", 1, checks=checks), {}), (a_run("fix", "better", 1, duration_seconds=None), {})]
    store = str(store_of(tmp_path / "store", runs))

    answer = outweigh("diff", store, "fix/plain/1", "fix/better/1")

    assert "no step of A was kept." in answer.out
    assert ["duration", "60", "s", "unknown", "unknown"] in [line.split() for line in answer.out.splitlines()]
    assert "style" in answer.out
