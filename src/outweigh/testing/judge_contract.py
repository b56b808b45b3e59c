"""What every judge backend must do. Subclass the contract, give it your backend, and pytest runs the claims."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from threading import Event, Timer

import msgspec

from outweigh.ports.judges import Judge
from outweigh.task.judge import JudgeSpec
from outweigh.testing.judges import a_question

ANSWER = {"answers": [{"id": "works", "evidence": "it says “ok” \u00e9", "score": 1}], "total": 1.0, "confidence": 0.5}


class JudgeContract(ABC):
    """Claims about a Judge."""

    @abstractmethod
    def backend(self) -> Judge:
        """The backend under test."""

    @abstractmethod
    def judge_who_says(self, text: str) -> AbstractContextManager[JudgeSpec]:
        """A judge that can be reached through the backend, and who answers every question with this JSON."""

    @abstractmethod
    def judge_who_is_gone(self) -> JudgeSpec:
        """A judge that cannot be reached."""

    @abstractmethod
    def judge_who_is_silent(self) -> AbstractContextManager[JudgeSpec]:
        """A judge that can be reached and does not answer for an hour."""

    def test_the_answer_is_what_the_judge_said(self) -> None:
        """JSON in, the same JSON out, whatever the way."""
        with self.judge_who_says(msgspec.json.encode(ANSWER).decode()) as judge:
            answer = self.backend().judge(a_question(judge))

        assert answer.failure is None
        assert msgspec.json.decode(answer.text or "") == ANSWER

    def test_a_judge_that_can_be_asked_misses_nothing(self) -> None:
        """Then it is worth asking."""
        with self.judge_who_says("{}") as judge:
            assert self.backend().missing(judge) is None

    def test_an_unknown_option_is_named_before_anybody_is_asked(self) -> None:
        """A typing error must not silently change what is judged."""
        with self.judge_who_says("{}") as judge:
            mistaken = msgspec.structs.replace(judge, options={**judge.options, "temprature": 0})

            assert "temprature" in (self.backend().missing(mistaken) or "")

    def test_a_judge_that_is_gone_is_a_failure_and_no_exception(self) -> None:
        """Nothing that happens to a judge may end a run."""
        answer = self.backend().judge(a_question(self.judge_who_is_gone()))

        assert answer.text is None
        assert answer.failure is not None

    def test_a_silent_judge_is_not_waited_for(self) -> None:
        """The question's own time counts."""
        with self.judge_who_is_silent() as judge:
            answer = self.backend().judge(a_question(judge, timeout_seconds=1.0))

        assert answer.failure is not None
        assert answer.failure.kind.value == "timeout"


class CancellableJudgeContract(JudgeContract):
    """Claims about a Judge that starts programs: they must not outlive the question."""

    def test_a_question_that_nobody_waits_for_any_more_ends(self) -> None:
        """Long before its time is up."""
        cancel = Event()
        timer = Timer(0.5, cancel.set)
        with self.judge_who_is_silent() as judge:
            timer.start()
            answer = self.backend().judge(a_question(judge, timeout_seconds=3600.0, cancel=cancel))

        assert answer.failure is not None
