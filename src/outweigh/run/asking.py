"""One question to a judge. An answer that cannot be used is asked for again, with what was wrong with it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Generic, TypeVar

from outweigh.judge.one_object import UnusableAnswerError
from outweigh.judge.question import again_text
from outweigh.ports.judges import JudgeAnswer, JudgeQuestion
from outweigh.record.judgment import JudgeIdentity
from outweigh.run.courtroom import Courtroom
from outweigh.run.fees import Fees
from outweigh.run.patience import ask
from outweigh.run.redaction import storable
from outweigh.task.judge import JudgeSpec
from outweigh.transcript.failure import Failure, FailureKind

Given = TypeVar("Given")

LONGEST_WAIT_SECONDS = 60.0

HOPELESS = frozenset({FailureKind.UNAUTHORIZED, FailureKind.UNKNOWN_MODEL, FailureKind.BUDGET_REACHED})
"""Every other question would end the same way: the judge is set aside, and nothing is recorded."""

FINAL = frozenset({FailureKind.BAD_REQUEST, FailureKind.CONTEXT_OVERFLOW})
"""Asking again would end the same way."""

_ABOUT_THE_ANSWER = frozenset({FailureKind.REFUSAL, FailureKind.NO_RESULT})
"""Failures of which the judge is told; a full line is none of its business."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording(Generic[Given]):
    """A question in words, and how its answer is read: `read` takes a text over, or says what is wrong with it."""

    system: str
    prompt: str
    answer_schema: Mapping[str, Any]
    read: Callable[[str], Given]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Generic[Given]):
    """What came of a question: something usable, or the reason of the last attempt. `hopeless` is for every other too.

    `interrupted` means that nobody waits any more, and nothing is to be recorded.
    """

    given: Given | None
    reason: str | None
    hopeless: Failure | None
    interrupted: bool
    attempts: int
    model: str | None
    version: str | None
    fees: Fees
    seconds: float

    def identity(self, judge: JudgeSpec, rubric_sha256: str, prompt_sha256: str) -> JudgeIdentity:
        """Who answered what: the judge as the suite names it, and what answered as it calls itself."""
        answered_by = " ".join(filter(None, (self.model, self.version)))
        return JudgeIdentity(
            name=judge.name,
            model=judge.model or self.model,
            version=storable(answered_by, ()) or None,
            rubric_sha256=rubric_sha256,
            prompt_sha256=prompt_sha256,
        )


class Asking(Generic[Given]):
    """A question under way."""

    def __init__(self, judge: JudgeSpec, room: Courtroom, wording: Wording[Given]) -> None:
        self._judge = judge
        self._room = room
        self._wording = wording
        self._fees = Fees(room.prices, judge.model, room.now())
        self._attempts = 0
        self._model: str | None = None
        self._version: str | None = None
        self._reason = ""
        self._began = monotonic()

    def run(self) -> Asked[Given]:
        """Ask until there is an answer that can be used, or no attempt is left."""
        complaint: str | None = None
        while self._may_ask:
            answer = self._ask(complaint)
            if self._room.cancel.is_set():
                return self._end(interrupted=True)
            failure = answer.failure
            if failure is None:
                try:
                    return self._end(given=self._wording.read(answer.text or ""))
                except UnusableAnswerError as fault:
                    complaint = str(fault)
                    self._reason = f"unusable answer: {complaint}"
                    continue
            if failure.kind in HOPELESS:
                return self._end(hopeless=failure)
            self._reason = f"{failure.kind.value}: {failure.detail}"
            if failure.kind in FINAL:
                break
            complaint = failure.detail if failure.kind in _ABOUT_THE_ANSWER else None
            self._wait(failure)
        return self._end()

    @property
    def _may_ask(self) -> bool:
        return self._attempts <= self._judge.retries

    def _ask(self, complaint: str | None) -> JudgeAnswer:
        first = self._wording.prompt
        self._attempts += 1
        question = JudgeQuestion(
            judge=self._judge,
            system=self._wording.system,
            prompt=first if complaint is None else again_text(first, complaint),
            answer_schema=self._wording.answer_schema,
            timeout_seconds=self._judge.timeout_seconds,
            cancel=self._room.cancel,
        )
        answer = ask(self._room.backends[self._judge.name], question)
        self._fees.add(answer)
        self._model, self._version = answer.model or self._model, answer.version or self._version
        return answer

    def _wait(self, failure: Failure) -> None:
        """As long as the service asks for, within reason; not at all if nobody asks again, or all is to end."""
        if self._may_ask and failure.kind not in _ABOUT_THE_ANSWER:
            backoff = self._room.first_wait_seconds * 2 ** (self._attempts - 1)
            self._room.drain.wait(min(failure.retry_after_seconds or backoff, LONGEST_WAIT_SECONDS))

    def _end(
        self, *, given: Given | None = None, hopeless: Failure | None = None, interrupted: bool = False
    ) -> Asked[Given]:
        return Asked(
            given=given,
            reason=None if given is not None else storable(self._reason, ()),
            hopeless=hopeless,
            interrupted=interrupted,
            attempts=self._attempts,
            model=self._model,
            version=self._version,
            fees=self._fees,
            seconds=monotonic() - self._began,
        )
