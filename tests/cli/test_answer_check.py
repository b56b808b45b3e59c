"""Checks of what an agent says, through the command line."""

from pathlib import Path
from typing import Any

from tests.cli.engines import records
from tests.engine.engine_fixtures import write_suite

IDLE = {"idle": {"agent": "noop"}}
BEST = {"best": {"agent": "oracle"}}
SAYS = {"type": "answer_contains", "name": "says", "text": "42"}
POLITE = {"type": "answer_contains", "name": "polite", "regex": "(?i)no idea", "absent": True}


def saying(script: str) -> dict[str, Any]:
    return {"agent": "shell", "options": {"command": ["sh", "-c", script]}}


def outcomes(store: Path) -> dict[str, dict[str, bool | None]]:
    return {run.trial.arm: {check.name: check.passed for check in run.checks or ()} for run in records(store)}


def test_what_agents_say_is_checked_and_silence_is_an_answer(outweigh: Any, tmp_path: Path) -> None:
    arms = {"knows": saying("echo It is 42."), "guesses": saying("echo No idea, 42?"), "silent": saying("true"), **IDLE}
    suite = write_suite(tmp_path / "suite", arms, task={"checks": [SAYS, POLITE]}, repeats=1)

    answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

    assert answer.code == 0, answer.err
    assert outcomes(tmp_path / "store") == {
        "knows": {"says": True, "polite": True},
        "guesses": {"says": True, "polite": False},
        "silent": {"says": False, "polite": True},
        "idle": {"says": False, "polite": True},
    }


def test_a_solution_answers_by_what_it_prints(outweigh: Any, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", {**IDLE, **BEST}, task={"checks": [SAYS]})
    (suite / "task-1/solution").mkdir()
    (suite / "task-1/solution/solve.sh").write_text("#!/bin/sh\necho 42\n")

    answer = outweigh("doctor", "-c", str(suite), "--format", "json")

    assert answer.code == 0, answer.out
    (task,) = answer.json()["tasks"]
    assert task["fit"]
    assert task["findings"] == []


def test_a_check_of_nothing_is_refused(outweigh: Any, tmp_path: Path) -> None:
    empty = {"type": "answer_contains", "name": "says"}
    suite = write_suite(tmp_path / "suite", {**IDLE, **BEST}, task={"checks": [empty]})

    answer = outweigh("doctor", "-c", str(suite))

    assert answer.code == 2
    assert "check 'says': state either text or regex" in answer.err
