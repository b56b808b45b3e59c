"""One question to a judge.

The context that all calls share, the call with its timeout, the retries (an unusable answer is asked for again,
with what was wrong with it), and what all attempts cost together.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from queue import Empty, SimpleQueue
from threading import Event as Signal
from threading import Thread
from time import monotonic
from typing import Any, Generic, TypeVar

from outweigh.engine.run_draft import storable_text
from outweigh.judging.material import ArtifactReader
from outweigh.judging.rubric_question import UnusableAnswerError, retry_prompt
from outweigh.model.failure import Failure, FailureKind, make_failure
from outweigh.model.judgment import JudgeIdentity
from outweigh.model.pricing import PriceTables
from outweigh.model.suite import JudgeSpec
from outweigh.model.untrusted_json import sum_usage
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST, Cost, CostProvenance, Usage, reported_cost
from outweigh.ports.judges import Judge, JudgeAnswer, JudgeQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingContext:
    """Backends are found by the judge's name. `draw_code` gives a code for fences that nobody can guess."""

    backends: Mapping[str, Judge]
    artifact: ArtifactReader
    prices: PriceTables
    draw_code: Callable[[], str]
    now: Callable[[], datetime]
    drain: Signal
    cancel: Signal
    first_wait_seconds: float = 1.0


_POSSIBLY_CHARGED = frozenset(
    {FailureKind.TIMEOUT, FailureKind.CUT_STREAM, FailureKind.CRASH, FailureKind.NO_RESULT, FailureKind.REFUSAL}
)
"""Failures after which somebody may have worked without telling; a request that was turned away is free."""


class CallCost:
    """Adds up. What one attempt does not tell makes the whole unknown, unless it was turned away at the door."""

    def __init__(self, prices: PriceTables, model: str | None, at: datetime) -> None:
        self._prices = prices
        self._model = model
        self._at = at
        self._usages: list[Usage] = []
        self._costs: list[Cost] = []

    @property
    def usage(self) -> Usage:
        """Tokens of all attempts."""
        return sum_usage(self._usages)

    @property
    def cost(self) -> Cost:
        """Dollars of all attempts: as reported, or tokens times prices. Where all were turned away, it is nothing."""
        known = [cost.usd for cost in self._costs if cost.usd is not None]
        if len(known) < len(self._costs):
            return UNKNOWN_COST
        tables = sorted({cost.price_table for cost in self._costs if cost.price_table is not None})
        if not tables:
            return reported_cost(sum(known))
        return Cost(usd=sum(known), provenance=CostProvenance.PRICED, price_table=" and ".join(tables))

    def add(self, answer: JudgeAnswer) -> None:
        """One attempt."""
        silent = answer.usage == NO_USAGE and answer.cost.usd is None
        if silent and answer.failure is not None and answer.failure.kind not in _POSSIBLY_CHARGED:
            return
        self._usages.append(answer.usage)
        self._costs.append(answer.cost if answer.cost.usd is not None else self._priced(answer))

    def _priced(self, answer: JudgeAnswer) -> Cost:
        for model in filter(None, (answer.model, self._model)):
            priced, _ = self._prices.cost(model, answer.usage, self._at)
            if priced is not None:
                return priced
        return UNKNOWN_COST


ANSWER_POLL_SECONDS = 0.2
ANSWER_GRACE_SECONDS = 5.0
"""Backends end by themselves when time is up or nobody waits; one that does not is left behind after this."""


def ask_with_timeout(backend: Judge, question: JudgeQuestion) -> JudgeAnswer:
    """The backend's answer, or a failure: when it breaks, when time is up, when nobody waits any more.

    It works in a thread of its own, which is left behind if it does not return: a socket cannot be interrupted.
    """
    answers: SimpleQueue[JudgeAnswer] = SimpleQueue()
    Thread(target=lambda: answers.put(_ask_backend(backend, question)), name="judge", daemon=True).start()
    deadline = monotonic() + question.timeout_seconds
    while not question.cancel.is_set() and (rest := deadline - monotonic()) > 0:
        try:
            return answers.get(timeout=min(ANSWER_POLL_SECONDS, rest))
        except Empty:
            continue
    try:
        # A program that was started must be ended before we go, and who started it does that.
        return answers.get(timeout=ANSWER_GRACE_SECONDS)
    except Empty:
        return _failed_answer(FailureKind.TIMEOUT, "no answer in time")


def _ask_backend(backend: Judge, question: JudgeQuestion) -> JudgeAnswer:
    try:
        return backend.judge(question)
    except Exception as fault:  # somebody else's backend: its mistakes must not end everybody's judging
        return _failed_answer(
            FailureKind.CRASH, f"the judge backend {backend.name!r} is broken: {type(fault).__name__}: {fault}"
        )


def _failed_answer(kind: FailureKind, detail: str) -> JudgeAnswer:
    return JudgeAnswer(
        text=None, failure=make_failure(kind, detail), model=None, version=None, usage=NO_USAGE, cost=UNKNOWN_COST
    )


ParsedAnswer = TypeVar("ParsedAnswer")

LONGEST_RETRY_WAIT_SECONDS = 60.0

FATAL_FAILURES = frozenset({FailureKind.UNAUTHORIZED, FailureKind.UNKNOWN_MODEL, FailureKind.BUDGET_REACHED})
"""Every other question would end the same way: the judge is set aside, and nothing is recorded."""

FINAL_FAILURES = frozenset({FailureKind.BAD_REQUEST, FailureKind.CONTEXT_OVERFLOW})
"""Asking again would end the same way."""

_ANSWER_FAILURES = frozenset({FailureKind.REFUSAL, FailureKind.NO_RESULT})
"""Failures of which the judge is told; a full line is none of its business."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePrompt(Generic[ParsedAnswer]):
    """A question in words, and how its answer is read: `read` takes a text over, or says what is wrong with it."""

    system: str
    prompt: str
    answer_schema: Mapping[str, Any]
    read: Callable[[str], ParsedAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Generic[ParsedAnswer]):
    """What came of a question: something usable, or the reason of the last attempt. `hopeless` is for every other too.

    `interrupted` means that nobody waits any more, and nothing is to be recorded.
    """

    given: ParsedAnswer | None
    reason: str | None
    hopeless: Failure | None
    interrupted: bool
    attempts: int
    model: str | None
    version: str | None
    fees: CallCost
    seconds: float

    def identity(self, judge: JudgeSpec, rubric_sha256: str, prompt_sha256: str) -> JudgeIdentity:
        """Who answered what: the judge as the suite names it, and what answered as it calls itself."""
        answered_by = " ".join(filter(None, (self.model, self.version)))
        return JudgeIdentity(
            name=judge.name,
            model=judge.model or self.model,
            version=storable_text(answered_by, ()) or None,
            rubric_sha256=rubric_sha256,
            prompt_sha256=prompt_sha256,
        )


class RetryLoop(Generic[ParsedAnswer]):
    """A question under way."""

    def __init__(self, judge: JudgeSpec, room: JudgingContext, wording: JudgePrompt[ParsedAnswer]) -> None:
        self._judge = judge
        self._room = room
        self._wording = wording
        self._fees = CallCost(room.prices, judge.model, room.now())
        self._attempts = 0
        self._model: str | None = None
        self._version: str | None = None
        self._reason = ""
        self._began = monotonic()

    def run(self) -> Answered[ParsedAnswer]:
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
            if failure.kind in FATAL_FAILURES:
                return self._end(hopeless=failure)
            self._reason = f"{failure.kind.value}: {failure.detail}"
            if failure.kind in FINAL_FAILURES:
                break
            complaint = failure.detail if failure.kind in _ANSWER_FAILURES else None
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
            prompt=first if complaint is None else retry_prompt(first, complaint),
            answer_schema=self._wording.answer_schema,
            timeout_seconds=self._judge.timeout_seconds,
            cancel=self._room.cancel,
        )
        answer = ask_with_timeout(self._room.backends[self._judge.name], question)
        self._fees.add(answer)
        self._model, self._version = answer.model or self._model, answer.version or self._version
        return answer

    def _wait(self, failure: Failure) -> None:
        """As long as the service asks for, within reason; not at all if nobody asks again, or all is to end."""
        if self._may_ask and failure.kind not in _ANSWER_FAILURES:
            backoff = self._room.first_wait_seconds * 2 ** (self._attempts - 1)
            self._room.drain.wait(min(failure.retry_after_seconds or backoff, LONGEST_RETRY_WAIT_SECONDS))

    def _end(
        self, *, given: ParsedAnswer | None = None, hopeless: Failure | None = None, interrupted: bool = False
    ) -> Answered[ParsedAnswer]:
        return Answered(
            given=given,
            reason=None if given is not None else storable_text(self._reason, ()),
            hopeless=hopeless,
            interrupted=interrupted,
            attempts=self._attempts,
            model=self._model,
            version=self._version,
            fees=self._fees,
            seconds=monotonic() - self._began,
        )
