"""Judges for tests: who says what, and questions for them."""

from collections.abc import Callable, Sequence
from threading import Event, Lock
from typing import Any

import msgspec

from outweigh.ports.judges import JudgeAnswer, JudgeQuestion
from outweigh.record.cost import UNKNOWN_COST, Cost
from outweigh.record.usage import NO_USAGE, Usage
from outweigh.task.judge import JudgeSpec
from outweigh.task.rubric import Rubric
from outweigh.transcript.failure import Failure

Said = str | Failure
"""An answer's text, or why there is none."""


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
    """An answer that gives every question its highest score; `changes` replace keys of the whole."""
    answers = [{"id": question.id, "evidence": "seen", "score": question.high} for question in rubric.questions()]
    return msgspec.json.encode({"answers": answers, "total": 1.0, "confidence": 0.9} | changes).decode()


class FakeJudge:
    """Says one thing after the other, the last one for ever; or whatever a function makes of a question.

    `questions` are all that it was asked.
    """

    name = "fake"

    def __init__(
        self, *said: Said, reply: Callable[[JudgeQuestion], Said] | None = None, cost: Cost = UNKNOWN_COST
    ) -> None:
        self.questions: list[JudgeQuestion] = []
        self.usage: Usage = NO_USAGE
        self._said: Sequence[Said] = said
        self._reply = reply
        self._cost = cost
        self._lock = Lock()

    def missing(self, judge: JudgeSpec) -> str | None:  # noqa: ARG002 - the port's signature
        """Nothing ever is."""
        return None

    def judge(self, question: JudgeQuestion) -> JudgeAnswer:
        """The next thing to say."""
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
