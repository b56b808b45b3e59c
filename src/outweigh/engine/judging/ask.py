"""One question to a judge: the request with its timeout, the retries, and what all attempts cost together.

An unusable answer is asked for again, together with what was wrong with it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from queue import Empty, SimpleQueue
from threading import Event as Signal
from threading import Thread
from time import monotonic
from typing import Any, Generic, TypeVar

from outweigh.engine.failure_streak import SAME_FAILURES
from outweigh.judging.rubric_question import UnusableAnswerError, retry_prompt
from outweigh.model.failure import Failure, FailureKind, make_failure
from outweigh.model.judgment import JudgeIdentity
from outweigh.model.pricing import PriceTables
from outweigh.model.redact import storable_text
from outweigh.model.run_record import ArtifactReader
from outweigh.model.suite import JudgeSpec
from outweigh.model.usage import (
    NO_USAGE,
    UNKNOWN_COST,
    Cost,
    CostProvenance,
    Usage,
    provider_cost,
    reported_cost,
    sum_usage,
)
from outweigh.ports.judges import Judge, JudgeAnswer, JudgeQuestion

ParsedAnswer = TypeVar("ParsedAnswer")

ANSWER_POLL_SECONDS = 0.2
ANSWER_GRACE_SECONDS = 5.0
"""How long a backend may take to clean up after its timeout or a cancellation, before it is abandoned."""

LONGEST_RETRY_WAIT_SECONDS = 60.0

FATAL_FAILURES = frozenset({FailureKind.UNAUTHORIZED, FailureKind.UNKNOWN_MODEL, FailureKind.BUDGET_REACHED})
"""Failures that every other call of this judge would meet: the judge is set aside, and nothing is stored."""

FINAL_FAILURES = frozenset({FailureKind.BAD_REQUEST, FailureKind.CONTEXT_OVERFLOW})
"""Failures of this question that a retry would meet again."""

CONNECTION_FAILURES = frozenset(
    {
        FailureKind.CONNECTION_REFUSED,
        FailureKind.CUT_STREAM,
        FailureKind.OVERLOADED,
        FailureKind.RATE_LIMITED,
        FailureKind.SERVER_ERROR,
        FailureKind.TIMEOUT,
    }
)
"""Failures on the way to the judge, which the next question is likely to meet as well."""

_ANSWER_FAILURES = frozenset({FailureKind.REFUSAL, FailureKind.NO_RESULT})
"""Failures of the answer itself. The retry tells the judge about them, and does not wait first."""

_POSSIBLY_CHARGED = frozenset(
    {FailureKind.TIMEOUT, FailureKind.CUT_STREAM, FailureKind.CRASH, FailureKind.NO_RESULT, FailureKind.REFUSAL}
)
"""Failures after which a service may have charged without reporting it; a rejected request is free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingContext:
    """What all calls of a round share.

    `backends` are found by the judge's name. `draw_code` returns a new unguessable code for the fences around
    untrusted text. `drain` ends waiting between retries; `cancel` also ends requests under way. After `same_failures`
    questions in a row with the same connection error a judge is asked no more; None means to go on.
    """

    backends: Mapping[str, Judge]
    artifact: ArtifactReader
    prices: PriceTables
    draw_code: Callable[[], str]
    now: Callable[[], datetime]
    drain: Signal
    cancel: Signal
    first_wait_seconds: float = 1.0
    same_failures: int | None = SAME_FAILURES


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePrompt(Generic[ParsedAnswer]):
    """A question in words, and `read`, which parses its answer or raises `UnusableAnswerError`."""

    system: str
    prompt: str
    answer_schema: Mapping[str, Any]
    read: Callable[[str], ParsedAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Generic[ParsedAnswer]):
    """How a question ended: with a usable `answer`, or with the `reason` why the last attempt gave none.

    `failure` is what kept the last attempt from an answer, None where there was an answer in words. After a
    `fatal_failure`, or when `interrupted` by a cancellation, nothing is to be stored. `usage` and `cost` are of all
    attempts.
    """

    answer: ParsedAnswer | None
    reason: str | None
    failure: Failure | None
    fatal_failure: Failure | None
    interrupted: bool
    attempts: int
    model: str | None
    version: str | None
    usage: Usage
    cost: Cost
    seconds: float

    def identity(self, judge: JudgeSpec, rubric_sha256: str, prompt_sha256: str) -> JudgeIdentity:
        """The judge as the suite names it, and the model and version that the backend reported."""
        answered_by = " ".join(filter(None, (self.model, self.version)))
        return JudgeIdentity(
            name=judge.name,
            model=judge.model or self.model,
            version=storable_text(answered_by, ()) or None,
            rubric_sha256=rubric_sha256,
            prompt_sha256=prompt_sha256,
        )


def ask_with_retries(
    judge: JudgeSpec, context: JudgingContext, prompt: JudgePrompt[ParsedAnswer]
) -> Answered[ParsedAnswer]:
    """Ask until an answer is usable, a failure is final, or no retry is left."""
    began, asked_at = monotonic(), context.now()
    replies: list[JudgeAnswer] = []
    parsed: ParsedAnswer | None = None
    fatal_failure: Failure | None = None
    complaint: str | None = None
    reason, interrupted = "", False
    while parsed is None and len(replies) <= judge.retries:
        reply = ask_with_timeout(context.backends[judge.name], _question(judge, context, prompt, complaint))
        replies.append(reply)
        failure = reply.failure
        if context.cancel.is_set():
            interrupted = True
            break
        if failure is None:
            try:
                parsed = prompt.read(reply.text or "")
            except UnusableAnswerError as fault:
                complaint = str(fault)
                reason = f"unusable answer: {complaint}"
            continue
        if failure.kind in FATAL_FAILURES:
            fatal_failure = failure
            break
        reason = f"{failure.kind.value}: {failure.detail}"
        if failure.kind in FINAL_FAILURES:
            break
        complaint = failure.detail if failure.kind in _ANSWER_FAILURES else None
        if failure.kind not in _ANSWER_FAILURES and len(replies) <= judge.retries:
            _wait_before_retry(failure, len(replies), context)
    usage, cost = _total_cost(replies, judge, context.prices, asked_at)
    return Answered(
        answer=parsed,
        reason=None if parsed is not None else storable_text(reason, ()),
        failure=replies[-1].failure,
        fatal_failure=fatal_failure,
        interrupted=interrupted,
        attempts=len(replies),
        model=next((reply.model for reply in reversed(replies) if reply.model), None),
        version=next((reply.version for reply in reversed(replies) if reply.version), None),
        usage=usage,
        cost=cost,
        seconds=monotonic() - began,
    )


def _question(
    judge: JudgeSpec, context: JudgingContext, prompt: JudgePrompt[ParsedAnswer], complaint: str | None
) -> JudgeQuestion:
    return JudgeQuestion(
        judge=judge,
        system=prompt.system,
        prompt=prompt.prompt if complaint is None else retry_prompt(prompt.prompt, complaint),
        answer_schema=prompt.answer_schema,
        timeout_seconds=judge.timeout_seconds,
        cancel=context.cancel,
    )


def _wait_before_retry(failure: Failure, attempts: int, context: JudgingContext) -> None:
    """Wait as long as the service asks for, or twice as long each time; draining ends the wait."""
    backoff = context.first_wait_seconds * 2 ** (attempts - 1)
    context.drain.wait(min(failure.retry_after_seconds or backoff, LONGEST_RETRY_WAIT_SECONDS))


def ask_with_timeout(backend: Judge, question: JudgeQuestion) -> JudgeAnswer:
    """Ask once. A backend that breaks, takes too long or is cancelled gives an answer with a failure.

    The backend works in a thread of its own, which is abandoned if it does not return: a blocking read from a socket
    cannot be interrupted.
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
        # A backend that started a program ends it now, before we return.
        return answers.get(timeout=ANSWER_GRACE_SECONDS)
    except Empty:
        return _failed_answer(FailureKind.TIMEOUT, "no answer in time")


def _ask_backend(backend: Judge, question: JudgeQuestion) -> JudgeAnswer:
    try:
        return backend.judge(question)
    except Exception as fault:  # a third-party backend: its bugs must not end the judging
        return _failed_answer(
            FailureKind.CRASH, f"the judge backend {backend.name!r} is broken: {type(fault).__name__}: {fault}"
        )


def _failed_answer(kind: FailureKind, detail: str) -> JudgeAnswer:
    return JudgeAnswer(
        text=None, failure=make_failure(kind, detail), model=None, version=None, usage=NO_USAGE, cost=UNKNOWN_COST
    )


def _total_cost(
    replies: Sequence[JudgeAnswer], judge: JudgeSpec, prices: PriceTables, at: datetime
) -> tuple[Usage, Cost]:
    """Tokens and dollars of all attempts; dollars as reported, or tokens times prices.

    One attempt of unknown cost makes the total unknown. Rejected requests are free.
    """
    charged = [reply for reply in replies if not _is_free(reply)]
    usage = sum_usage([reply.usage for reply in charged])
    costs = [reply.cost if reply.cost.usd is not None else _priced(reply, judge, prices, at) for reply in charged]
    known = [cost.usd for cost in costs if cost.usd is not None]
    if len(known) < len(costs):
        return usage, UNKNOWN_COST
    tables = sorted({cost.price_table for cost in costs if cost.price_table is not None})
    if not tables:
        by_provider = bool(costs) and all(cost.provenance is CostProvenance.PROVIDER for cost in costs)
        return usage, provider_cost(sum(known)) if by_provider else reported_cost(sum(known))
    return usage, Cost(usd=sum(known), provenance=CostProvenance.PRICED, price_table=" and ".join(tables))


def _is_free(reply: JudgeAnswer) -> bool:
    says_nothing = reply.usage == NO_USAGE and reply.cost.usd is None
    return says_nothing and reply.failure is not None and reply.failure.kind not in _POSSIBLY_CHARGED


def _priced(reply: JudgeAnswer, judge: JudgeSpec, prices: PriceTables, at: datetime) -> Cost:
    for model in filter(None, (reply.model, judge.model)):
        priced, _ = prices.cost(model, reply.usage, at)
        if priced is not None:
            return priced
    return UNKNOWN_COST
