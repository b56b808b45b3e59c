"""Judge calls in a thread pool, within the judges' budgets: the same code for one run and for two side by side.

A judge that fails for good, or with the same connection error again and again, is set aside and does not hold up the
others.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from outweigh.engine.batch import POLL_SECONDS, EndReason
from outweigh.engine.budget import Budget
from outweigh.engine.events import EngineEvent, EventKind, EventListener, note_event
from outweigh.engine.failure_streak import without_variable_parts
from outweigh.engine.judging.ask import (
    CONNECTION_FAILURES,
    Answered,
    JudgePrompt,
    JudgingContext,
    ParsedAnswer,
    ask_with_retries,
)
from outweigh.errors import EvidenceError
from outweigh.judging.material import RunMaterial, load_run_material
from outweigh.model.failure import Failure, FailureKind, detail_line
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import JudgeSpec

BUDGET_USED_UP = "its budget is used up"

Record = TypeVar("Record")


class PooledCall(Protocol[ParsedAnswer, Record]):
    """A call that the pool can make: who is asked about which runs, in what words, and what is stored."""

    @property
    def judge(self) -> JudgeSpec:
        """The judge that is asked."""
        ...

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        """The runs that it is shown, in this order."""
        ...

    def prompt(self, materials: Sequence[RunMaterial], code: str) -> JudgePrompt[ParsedAnswer]:
        """The question, and how its answer is read; `code` marks the fences around untrusted text."""
        ...

    def record(self, answered: Answered[ParsedAnswer], materials: Sequence[RunMaterial], judged_at: datetime) -> Record:
        """The answer as it is stored; an unusable one is stored with its reason."""
        ...

    def event(self, record: Record) -> EngineEvent:
        """What a progress display is told about the answer."""
        ...


Call = TypeVar("Call", bound=PooledCall[Any, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult(Generic[Record]):
    """What one call gave: a record to store, or why there is none.

    `cost_usd` is what all attempts cost, None where that is unknown. Every other call of this judge would meet the
    `fatal_failure` too; a `problem` concerns these runs only, and a `connection_failure` perhaps other calls as well.
    """

    record: Record | None
    cost_usd: float | None
    connection_failure: Failure | None = None
    fatal_failure: Failure | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolResult:
    """Why the pool stopped, which judges were set aside and why, and how many calls are still open."""

    stop: EndReason
    set_aside: dict[str, str]
    left_open: int


def judge_call(call: PooledCall[ParsedAnswer, Record], context: JudgingContext) -> CallResult[Record]:
    """Make one call, with its retries. Runs whose artifacts are lost are not judged."""
    try:
        materials = [load_run_material(run, context.artifact) for run in call.runs]
    except EvidenceError as error:
        names = " and ".join(run.run_id for run in call.runs)
        return CallResult(record=None, cost_usd=0.0, problem=f"{names} cannot be judged: {error}")
    answered = ask_with_retries(call.judge, context, call.prompt(materials, context.draw_code()))
    if answered.interrupted or answered.fatal_failure is not None:
        return CallResult(record=None, cost_usd=answered.cost.usd, fatal_failure=answered.fatal_failure)
    failure = answered.failure
    return CallResult(
        record=call.record(answered, materials, context.now()),
        cost_usd=answered.cost.usd,
        connection_failure=failure if failure is not None and failure.kind in CONNECTION_FAILURES else None,
    )


class ConnectionStreak:
    """Counts calls of one judge that fail with the same connection error, one after another.

    Any other end of a call ends the streak. Calls that were under way when one failed count with it: a short outage
    ends all of them, and that is one failure. Without a `limit` nothing is counted.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._ended = 0
        self._reason: tuple[FailureKind, str] | None = None
        self._failures = 0
        self._counted_at = 0

    def mark(self) -> int:
        """The number of calls that have ended; a call that starts keeps it for when it ends."""
        return self._ended

    def add_end(self, failure: Failure | None, started_at: int) -> str | None:
        """A call has ended; returns why no other is to be made, where the same failure came too often in a row.

        `started_at` is the mark of its start.
        """
        self._ended += 1
        reason = None if failure is None else (failure.kind, without_variable_parts(failure.detail))
        if reason != self._reason:
            self._reason, self._failures, self._counted_at = reason, 0, 0
        if failure is None or self._limit is None:
            return None
        if self._counted_at <= started_at:
            self._failures += 1
            self._counted_at = self._ended
        if self._failures < self._limit:
            return None
        return (
            f"{self._failures} questions in a row failed with the same connection error: {failure.kind.value}: "
            f"{detail_line(failure.detail).rstrip('.')}. {_diagnose_connection(failure.kind)} With --keep-going the "
            "other questions are asked anyway."
        )


def _diagnose_connection(kind: FailureKind) -> str:
    if kind in (FailureKind.CONNECTION_REFUSED, FailureKind.TIMEOUT):
        return "Check the network and the judge's address: its options.base_url, or [gateway]."
    return "The provider fails or refuses more questions. Wait, or ask fewer at once with -j 1."


class Affordability(StrEnum):
    """Whether one more judge call is affordable and, if not, which budget is used up."""

    YES = "yes"
    JUDGE_BUDGET_USED = "judge_budget_used"
    TOTAL_BUDGET_USED = "total_budget_used"


class JudgeBudget:
    """One budget per judge and one for all: a call starts only when both can afford the worst it could cost.

    `caps` are the judges' own, by name; `earlier` are the costs of their calls so far, None where unknown.
    """

    def __init__(
        self, cap_usd: float | None, caps: Mapping[str, float | None], earlier: Mapping[str, Iterable[float | None]]
    ) -> None:
        paid = {name: list(costs) for name, costs in earlier.items()}
        self._all = Budget(cap_usd, None, [cost for costs in paid.values() for cost in costs])
        self._own = {name: Budget(cap, None, paid.get(name, ())) for name, cap in caps.items()}

    def reserve(self, judge: str) -> Affordability:
        """Reserve the worst cost of one call."""
        if not self._own[judge].reserve():
            return Affordability.JUDGE_BUDGET_USED
        if not self._all.reserve():
            self._own[judge].record_cost(0.0)
            return Affordability.TOTAL_BUDGET_USED
        return Affordability.YES

    def record_cost(self, judge: str, cost_usd: float | None) -> None:
        """Replace the reservation by the actual cost, None where it is unknown."""
        self._own[judge].record_cost(cost_usd)
        self._all.record_cost(cost_usd)


@dataclass(frozen=True, slots=True)
class _Running(Generic[Call]):
    """A call that has started, and how many of its judge's calls had ended before it did."""

    call: Call
    mark: int


class JudgePool(Generic[Call, Record]):
    """Makes calls in threads. `store` keeps an answer and returns the calls that it makes necessary.

    It is called in the pool's own thread, before the next call starts, so that no answer is lost.
    """

    def __init__(
        self,
        *,
        context: JudgingContext,
        store: Callable[[Call, Record], Sequence[Call]],
        budget: JudgeBudget,
        jobs: int,
        listen: EventListener,
    ) -> None:
        self._context = context
        self._store = store
        self._budget = budget
        self._jobs = jobs
        self._listen = listen
        self._waiting: deque[Call] = deque()
        self._running: dict[Future[CallResult[Record]], _Running[Call]] = {}
        self._streaks: dict[str, ConnectionStreak] = defaultdict(lambda: ConnectionStreak(context.same_failures))
        self._set_aside: dict[str, str] = {}
        self._left_open = 0
        self._stop: EndReason | None = None

    def run(self, calls: Sequence[Call]) -> PoolResult:
        """Make all calls, until the budget is used up or the user interrupts."""
        self._waiting.extend(calls)
        with ThreadPoolExecutor(self._jobs, thread_name_prefix="judge-call") as threads:
            while self._running or (self._stop is None and self._waiting):
                self._fill(threads)
                self._collect()
        self._left_open += len(self._waiting)
        incomplete = EndReason.INCOMPLETE if self._left_open else EndReason.DONE
        return PoolResult(stop=self._stop or incomplete, set_aside=self._set_aside, left_open=self._left_open)

    def _fill(self, threads: ThreadPoolExecutor) -> None:
        if self._stop is None and self._waiting and self._context.drain.is_set():
            self._halt(EndReason.INTERRUPTED)
        busy = Counter(each.call.judge.name for each in self._running.values())
        while self._stop is None and self._waiting and len(self._running) < self._jobs:
            name = self._waiting[0].judge.name
            match self._budget.reserve(name):
                case Affordability.TOTAL_BUDGET_USED:
                    if not self._running:  # otherwise wait: what is running may cost less than was reserved for it
                        self._halt(EndReason.BUDGET)
                    return
                case Affordability.JUDGE_BUDGET_USED:
                    if busy[name]:
                        return
                    self._put_aside(name, BUDGET_USED_UP)
                case Affordability.YES:
                    busy[name] += 1
                    call = self._waiting.popleft()
                    mark = self._streaks[name].mark()
                    self._running[threads.submit(judge_call, call, self._context)] = _Running(call, mark)

    def _collect(self) -> None:
        done, _ = wait(self._running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
        for future in done:
            self._finish(self._running.pop(future), future.result())

    def _finish(self, running: _Running[Call], result: CallResult[Record]) -> None:
        call, name = running.call, running.call.judge.name
        self._budget.record_cost(name, result.cost_usd)
        if result.record is not None:
            more = self._store(call, result.record)
            self._listen(call.event(result.record))
            self._queue(name, more)
            repeated = self._streaks[name].add_end(result.connection_failure, running.mark)
            if repeated is not None and name not in self._set_aside:
                self._put_aside(name, repeated)
            return
        self._left_open += 1
        if (failure := result.fatal_failure) is not None and name not in self._set_aside:
            self._put_aside(name, f"{failure.kind.value}: {failure.detail}")
        if result.problem is not None:
            self._listen(note_event(result.problem))

    def _queue(self, name: str, calls: Sequence[Call]) -> None:
        if name in self._set_aside:
            self._left_open += len(calls)
        else:
            self._waiting.extend(calls)

    def _put_aside(self, name: str, why: str) -> None:
        """Leave all waiting calls of this judge open, because they would fail alike; the other judges go on."""
        self._set_aside[name] = why
        others = [call for call in self._waiting if call.judge.name != name]
        self._left_open += len(self._waiting) - len(others)
        self._waiting = deque(others)
        self._listen(note_event(f"judge {name} is set aside: {why}"))

    def _halt(self, reason: EndReason) -> None:
        self._stop = reason
        running = f"; {len(self._running)} questions under way will be finished" if self._running else ""
        self._listen(note_event(f"no more questions are asked: {reason.value}{running}", EventKind.STOPPED))
