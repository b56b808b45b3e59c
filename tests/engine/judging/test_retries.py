"""Asking a judge: an answer, or a failure in time."""

from threading import Event

import pytest
from tests.engine.judging.judging_fixtures import A_JUDGE

from outweigh.engine.judging.ask import ask_with_timeout
from outweigh.model.failure import FailureKind
from outweigh.ports.judges import JudgeQuestion
from outweigh.testing.judge_contract import FakeAnswer, FakeJudge, a_question


def test_an_answer_is_passed_on() -> None:
    assert ask_with_timeout(FakeJudge("{}"), a_question(A_JUDGE)).text == "{}"


def test_a_backend_that_ignores_its_timeout_is_abandoned() -> None:
    forever = Event()

    def hang(question: JudgeQuestion) -> FakeAnswer:
        forever.wait()
        return "{}"

    answer = ask_with_timeout(FakeJudge(reply=hang), a_question(A_JUDGE, timeout_seconds=0.1))
    forever.set()

    assert answer.failure is not None
    assert answer.failure.kind is FailureKind.TIMEOUT


def test_a_backend_may_clean_up_after_a_cancellation() -> None:
    cancel, cleaned = Event(), Event()

    def clean_up(question: JudgeQuestion) -> FakeAnswer:
        cancel.set()
        question.cancel.wait()
        cleaned.set()
        return "late"

    assert ask_with_timeout(FakeJudge(reply=clean_up), a_question(A_JUDGE, cancel=cancel)).text == "late"
    assert cleaned.is_set()


@pytest.mark.parametrize("fault", [RuntimeError("x"), KeyError("y"), RecursionError()])
def test_a_backend_that_breaks_is_a_failure(fault: Exception) -> None:
    def break_down(question: JudgeQuestion) -> FakeAnswer:
        raise fault

    answer = ask_with_timeout(FakeJudge(reply=break_down), a_question(A_JUDGE))

    assert answer.failure is not None
    assert type(fault).__name__ in answer.failure.detail
