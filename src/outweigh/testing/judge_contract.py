"""The contract of judge backends, and a fake judge and questions for tests that need one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from threading import Event, Lock, Timer
from typing import Any

import msgspec

from outweigh.model.failure import Failure
from outweigh.model.rubric import Rubric
from outweigh.model.suite import JudgeSpec
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST, Cost, Usage
from outweigh.ports.judges import Judge, JudgeAnswer, JudgeQuestion

FakeAnswer = str | Failure
"""The text of an answer, or why there is none."""


def a_question(judge: JudgeSpec, **fields: Any) -> JudgeQuestion:
    """A question to a judge; any field can be given by name."""
    defaults: dict[str, Any] = {
        "system": "Judge by the rubric.",
        "prompt": "Judge this run.",
        "answer_schema": {"type": "object", "properties": {"answers": {"type": "array"}}, "required": ["answers"]},
        "timeout_seconds": 60.0,
        "cancel": Event(),
    }
    return JudgeQuestion(judge=judge, **(defaults | fields))


def full_marks(rubric: Rubric, **changes: Any) -> str:
    """An answer with the highest score for every question; `changes` replace keys of the JSON object."""
    answers = [{"id": question.id, "evidence": "seen", "score": question.high} for question in rubric.questions()]
    return msgspec.json.encode({"answers": answers, "total": 1.0, "confidence": 0.9} | changes).decode()


class FakeJudge:
    """Gives one answer after another and then repeats the last, or computes each from the question.

    `questions` are all that it was asked.
    """

    name = "fake"

    def __init__(
        self, *said: FakeAnswer, reply: Callable[[JudgeQuestion], FakeAnswer] | None = None, cost: Cost = UNKNOWN_COST
    ) -> None:
        self.questions: list[JudgeQuestion] = []
        self.usage: Usage = NO_USAGE
        self._said: Sequence[FakeAnswer] = said
        self._reply = reply
        self._cost = cost
        self._lock = Lock()

    def missing(self, judge: JudgeSpec) -> str | None:  # noqa: ARG002 - the port's signature
        """Nothing is ever missing."""
        return None

    def judge(self, question: JudgeQuestion) -> JudgeAnswer:
        """Give the next answer."""
        with self._lock:
            self.questions.append(question)
            place = min(len(self.questions), len(self._said)) - 1
        said = self._said[place] if self._reply is None else self._reply(question)
        return JudgeAnswer(
            text=said if isinstance(said, str) else None,
            failure=said if isinstance(said, Failure) else None,
            model="fake-1",
            version=None,
            usage=self.usage,
            cost=self._cost,
        )


JUDGE_ANSWER = {
    "answers": [{"id": "works", "evidence": "it says “ok” \u00e9", "score": 1}],
    "total": 1.0,
    "confidence": 0.5,
}


class JudgeContract(ABC):
    """Claims about a judge backend. Subclass it, implement the abstract methods, and pytest runs the tests."""

    @abstractmethod
    def backend(self) -> Judge:
        """The backend under test."""

    @abstractmethod
    def answering_judge(self, text: str) -> AbstractContextManager[JudgeSpec]:
        """A judge that answers every question with this JSON."""

    @abstractmethod
    def unreachable_judge(self) -> JudgeSpec:
        """A judge that cannot be reached."""

    @abstractmethod
    def silent_judge(self) -> AbstractContextManager[JudgeSpec]:
        """A judge that can be reached and does not answer for an hour."""

    def test_the_answer_is_what_the_judge_said(self) -> None:
        """The JSON arrives unchanged, whatever it is sent through."""
        with self.answering_judge(msgspec.json.encode(JUDGE_ANSWER).decode()) as judge:
            answer = self.backend().judge(a_question(judge))

        assert answer.failure is None
        assert msgspec.json.decode(answer.text or "") == JUDGE_ANSWER

    def test_a_judge_that_can_be_asked_misses_nothing(self) -> None:
        """Nothing needed to ask the judge is missing."""
        with self.answering_judge("{}") as judge:
            assert self.backend().missing(judge) is None

    def test_an_unknown_option_is_named_before_anybody_is_asked(self) -> None:
        """A misspelt option must not silently change how runs are judged."""
        with self.answering_judge("{}") as judge:
            mistaken = msgspec.structs.replace(judge, options={**judge.options, "temprature": 0})

            assert "temprature" in (self.backend().missing(mistaken) or "")

    def test_a_judge_that_is_gone_is_a_failure_and_no_exception(self) -> None:
        """No failure of a judge may end the command."""
        answer = self.backend().judge(a_question(self.unreachable_judge()))

        assert answer.text is None
        assert answer.failure is not None

    def test_a_silent_judge_is_not_waited_for(self) -> None:
        """The question's own timeout applies."""
        with self.silent_judge() as judge:
            answer = self.backend().judge(a_question(judge, timeout_seconds=1.0))

        assert answer.failure is not None
        assert answer.failure.kind.value == "timeout"


class CancellableJudgeContract(JudgeContract):
    """Claims about a judge backend that starts programs, which must not outlive the question."""

    def test_a_question_that_nobody_waits_for_any_more_ends(self) -> None:
        """A cancelled question ends long before its timeout."""
        cancel = Event()
        timer = Timer(0.5, cancel.set)
        with self.silent_judge() as judge:
            timer.start()
            answer = self.backend().judge(a_question(judge, timeout_seconds=3600.0, cancel=cancel))

        assert answer.failure is not None
