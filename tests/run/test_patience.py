"""Asking a judge: an answer, or a failure in time."""

from threading import Event

import pytest
from tests.run.courts import A_JUDGE

from outweigh.ports.judges import JudgeQuestion
from outweigh.run.patience import ask
from outweigh.testing.judges import FakeJudge, Said, a_question
from outweigh.transcript.failure import FailureKind


def test_an_answer_is_passed_on() -> None:
    assert ask(FakeJudge("{}"), a_question(A_JUDGE)).text == "{}"


def test_a_backend_that_breaks_its_promise_about_time_is_left_behind() -> None:
    forever = Event()

    def hang(question: JudgeQuestion) -> Said:
        forever.wait()
        return "{}"

    answer = ask(FakeJudge(reply=hang), a_question(A_JUDGE, timeout_seconds=0.1))
    forever.set()

    assert answer.failure is not None
    assert answer.failure.kind is FailureKind.TIMEOUT


def test_a_backend_may_clean_up_when_nobody_waits_any_more() -> None:
    cancel, cleaned = Event(), Event()

    def clean_up(question: JudgeQuestion) -> Said:
        cancel.set()
        question.cancel.wait()
        cleaned.set()
        return "late"

    assert ask(FakeJudge(reply=clean_up), a_question(A_JUDGE, cancel=cancel)).text == "late"
    assert cleaned.is_set()


@pytest.mark.parametrize("fault", [RuntimeError("x"), KeyError("y"), RecursionError()])
def test_a_backend_that_breaks_is_a_failure(fault: Exception) -> None:
    def break_down(question: JudgeQuestion) -> Said:
        raise fault

    answer = ask(FakeJudge(reply=break_down), a_question(A_JUDGE))

    assert answer.failure is not None
    assert type(fault).__name__ in answer.failure.detail
