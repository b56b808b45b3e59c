"""One question until there is an answer that can be used, or no attempt is left."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Generic, TypeVar

from outweigh.judge.answer import UnusableAnswerError
from outweigh.judge.question import again_text
from outweigh.ports import Judge, JudgeAnswer, JudgeQuestion
from outweigh.run.fees import Fees
from outweigh.run.hearing import FINAL, HOPELESS, LONGEST_WAIT_SECONDS, Courtroom
from outweigh.run.patience import ask
from outweigh.run.redaction import storable
from outweigh.task.judge import JudgeSpec
from outweigh.transcript.failure import Failure, FailureKind

Given = TypeVar("Given")

_ABOUT_THE_ANSWER = frozenset({FailureKind.REFUSAL, FailureKind.NO_RESULT})


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


class Asking(Generic[Given]):
    """A question under way. `read` takes an answer's text over, or says what is wrong with it."""

    def __init__(
        self,
        judge: JudgeSpec,
        backend: Judge,
        room: Courtroom,
        question: Callable[[str], JudgeQuestion],
        read: Callable[[str], Given],
    ) -> None:
        self._judge = judge
        self._backend = backend
        self._room = room
        self._question = question
        self._read = read
        self._fees = Fees(room.prices, judge.model, room.now())
        self._attempts = 0
        self._model: str | None = None
        self._version: str | None = None
        self._reason: str | None = None
        self._began = monotonic()

    def run(self, first: str) -> Asked[Given]:
        """Ask, and ask again with what was wrong."""
        prompt = first
        while self._attempts <= self._judge.retries:
            answer = self._ask(prompt)
            if self._room.cancel.is_set():
                return self._end(interrupted=True)
            complaint: str | None
            if answer.failure is None:
                try:
                    return self._end(given=self._read(answer.text or ""))
                except UnusableAnswerError as fault:
                    complaint = str(fault)
                    self._reason = f"unusable answer: {complaint}"
            else:
                if answer.failure.kind in HOPELESS:
                    return self._end(hopeless=answer.failure)
                self._reason = f"{answer.failure.kind.value}: {answer.failure.detail}"
                if answer.failure.kind in FINAL:
                    break
                complaint = answer.failure.detail if answer.failure.kind in _ABOUT_THE_ANSWER else None
                self._wait(answer.failure)
            prompt = first if complaint is None else again_text(first, complaint)
        return self._end()

    def _ask(self, prompt: str) -> JudgeAnswer:
        self._attempts += 1
        answer = ask(self._backend, self._question(prompt))
        self._fees.add(answer)
        self._model, self._version = answer.model or self._model, answer.version or self._version
        return answer

    def _wait(self, failure: Failure) -> None:
        """As long as the service asks for, within reason; not at all if nobody asks again, or all is to end."""
        if self._attempts <= self._judge.retries and failure.kind not in _ABOUT_THE_ANSWER:
            backoff = self._room.first_wait_seconds * 2 ** (self._attempts - 1)
            self._room.drain.wait(min(failure.retry_after_seconds or backoff, LONGEST_WAIT_SECONDS))

    def _end(
        self, *, given: Given | None = None, hopeless: Failure | None = None, interrupted: bool = False
    ) -> Asked[Given]:
        reason = None if given is not None else storable(self._reason or "", ())
        return Asked(
            given=given,
            reason=reason,
            hopeless=hopeless,
            interrupted=interrupted,
            attempts=self._attempts,
            model=self._model,
            version=self._version,
            fees=self._fees,
            seconds=monotonic() - self._began,
        )
