"""What an agent said last, from what was kept of it, and what checks make of that."""

import json

import pytest

from outweigh.engine.checks.content_checks import SEARCHED_CHARACTERS, check_answer_contains, final_answer
from outweigh.model.task import AnswerContainsCheck


def trajectory(*steps: tuple[str, str]) -> bytes:
    told = [{"step_id": number, "source": who, "message": words} for number, (who, words) in enumerate(steps, start=1)]
    agent = {"name": "agent", "version": "1"}
    return json.dumps({"schema_version": "ATIF-v1.6", "session_id": "s", "agent": agent, "steps": told}).encode()


@pytest.mark.parametrize(
    ("steps", "answer"),
    [
        ([("user", "Do it."), ("agent", "First."), ("agent", "It is 42.")], "It is 42."),
        ([("agent", "It is 42."), ("agent", "  "), ("user", "Thanks.")], "It is 42."),
        ([("user", "Do it.")], ""),
    ],
)
def test_the_answer_is_what_the_agent_said_last(steps: list[tuple[str, str]], answer: str) -> None:
    assert final_answer({"trajectory.json": trajectory(*steps), "stdout.txt": b"noise"}) == answer


def test_a_message_of_a_sub_agent_is_not_the_answer() -> None:
    told = json.loads(trajectory(("agent", "It is 42."), ("agent", "It is 43.")))
    told["steps"][-1]["extra"] = {"sub_agent": "call-1"}

    assert final_answer({"trajectory.json": json.dumps(told).encode()}) == "It is 42."


@pytest.mark.parametrize("absent", [True, False])
def test_an_answer_longer_than_what_is_searched_does_not_help_the_agent(absent: bool) -> None:
    check = AnswerContainsCheck(name="says", text="42", absent=absent)

    assert check_answer_contains(check, "42" + "x" * SEARCHED_CHARACTERS).passed is False
    assert check_answer_contains(check, "x" * SEARCHED_CHARACTERS + "42").passed is not absent


def test_a_command_line_answers_by_what_it_prints() -> None:
    assert final_answer({"stdout.txt": b"It is 42.\n"}) == "It is 42.\n"
    assert final_answer({"stdout.txt": b""}) == ""


@pytest.mark.parametrize("kept", [{}, {"stderr.txt": b"x"}, {"trajectory.json": b"{torn"}])
def test_without_a_stored_artifact_the_answer_is_unknown(kept: dict[str, bytes]) -> None:
    assert final_answer(kept) is None


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        ({"text": "42"}, True),
        ({"text": "43"}, False),
        ({"regex": r"(?i)IT IS \d+"}, True),
        ({"regex": r"^\d+$"}, False),
        ({"text": "sorry", "absent": True}, True),
        ({"text": "42", "absent": True}, False),
        ({"regex": r"\d", "absent": True}, False),
    ],
)
def test_the_answer_must_contain_the_text_or_with_absent_must_not(check: dict[str, object], passed: bool) -> None:
    outcome = check_answer_contains(AnswerContainsCheck(name="says", **check), "It is 42.")  # type: ignore[arg-type]

    assert outcome.passed is passed
    assert (outcome.detail is None) is passed


@pytest.mark.parametrize("absent", [True, False])
def test_an_answer_that_was_not_stored_neither_passes_nor_fails(absent: bool) -> None:
    outcome = check_answer_contains(AnswerContainsCheck(name="says", text="42", absent=absent), None)

    assert outcome.passed is None


def test_a_search_without_end_is_a_failure_and_not_a_hang() -> None:
    outcome = check_answer_contains(AnswerContainsCheck(name="says", regex="(a+)+$"), "a" * 40 + "b")

    assert outcome.passed is False
