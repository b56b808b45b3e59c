"""Runs many attempts at once, within budget.

Concurrency is bounded, attempts are retried when infrastructure failed, and the batch stops when asked to.
"""

import random
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from threading import Event as Signal
from types import MappingProxyType

from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.attempt_queue import AttemptQueue, QueuedAttempt
from outweigh.engine.budget import Budget
from outweigh.engine.events import EventKind, EventListener, finished_event, note_event, trial_event
from outweigh.engine.executor import AttemptExecutor, DoneFutures
from outweigh.engine.failure_streak import FailureStreak, asks_to_wait
from outweigh.engine.open_tasks import OpenTasks
from outweigh.engine.trial_plan import PlannedRun
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.run_record import most_paid

POLL_SECONDS = 0.2
"""How often the engine looks at signals and clocks."""

LOOK_WAIT_SECONDS = 0.02
"""A look is mostly quicker, and a run that it would have saved costs more than a wait."""

LOOK_SWITCH_SECONDS = 0.0005
"""How long a look computes before another thread has its turn; Python's own 5 ms add up where several take turns."""


class EndReason(StrEnum):
    """Why a batch ended. `incomplete`: all trials were attempted, and some have no result after all retries.
    `futile`: more results would hardly lead to a decision. `stopped`: trial after trial failed for the same reason.
    `unjudged`: all trials have a result, and judges that are to decide have not judged them all. `tier_budget`: the
    budget of a tier is used up, and all other trials were attempted.
    """

    DONE = "done"
    INCOMPLETE = "incomplete"
    BUDGET = "budget"
    INTERRUPTED = "interrupted"
    DECIDED = "decided"
    FUTILE = "futile"
    STOPPED = "stopped"
    UNJUDGED = "unjudged"
    TIER_BUDGET = "tier_budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookResult:
    """What a look at the results so far leads to.

    `settled` are arms that need no more runs, `end` is why nothing more need be started at all, and `notes` are
    sentences for whoever watches.
    """

    settled: frozenset[str] = frozenset()
    end: EndReason | None = None
    notes: tuple[str, ...] = ()


NO_TIER_BUDGETS: Mapping[str, Budget] = MappingProxyType({})

TakeLook = Callable[[Collection[str]], LookResult]
"""Looks at the results, given the tasks that still have open trials; those do not count yet. It runs in a thread of
its own, one look at a time, while the tasks become fewer: it asks which are open before it takes the records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """How often and how soon infrastructure failures are retried, and how long the next start waits for a look that
    is being taken. After `same_failures` trials in a row that infrastructure broke in the same way nothing more is
    started; None means to go on.
    """

    retries: int
    first_backoff_seconds: float
    longest_backoff_seconds: float
    look_wait_seconds: float = LOOK_WAIT_SECONDS
    same_failures: int | None = None


@dataclass(frozen=True, slots=True)
class _Running:
    """An attempt that has started, how many had started before it, and how many failures there had been."""

    due: QueuedAttempt
    number: int
    mark: int


def _take_politely(take_look: TakeLook, still_open: Collection[str]) -> LookResult:
    """Take a look that lets other threads have their turn soon: it computes, and a start takes several turns."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(LOOK_SWITCH_SECONDS)
    try:
        return take_look(still_open)
    finally:
        sys.setswitchinterval(usual)


class Batch:
    """Runs a plan. Setting `drain` starts nothing more and lets running attempts finish.

    The executor makes the attempts, says how many may run at once, and has the clock; a batch closes it at its end.
    """

    def __init__(
        self,
        *,
        executor: AttemptExecutor,
        settings: BatchSettings,
        budget: Budget,
        drain: Signal,
        listen: EventListener,
        take_look: TakeLook | None,
        tier_budgets: Mapping[str, Budget] = NO_TIER_BUDGETS,
    ) -> None:
        self._executor = executor
        self._settings = settings
        self._budget = budget
        self._drain = drain
        self._listen = listen
        self._take_look = take_look
        self._tier_budgets = tier_budgets
        self._unaffordable: frozenset[str] = frozenset()
        self._queue = AttemptQueue()
        self._numbers = count()
        self._running: dict[Future[FinishedAttempt], _Running] = {}
        self._done = DoneFutures()
        self._streak = FailureStreak(settings.same_failures)
        self._open_tasks = OpenTasks(())
        self._settled: frozenset[str] = frozenset()
        self._look_due = take_look is not None
        self._look: Future[LookResult] | None = None
        self._started = False
        self._paused_until = 0.0
        self._without_result = 0
        self._stop: EndReason | None = None

    def run(self, plan: Iterable[tuple[PlannedRun, int]]) -> EndReason:
        """Attempt every planned run; each comes with the number of its next attempt."""
        self._queue.extend(
            QueuedAttempt(planned=run, attempt=attempt, tries=0, not_before=0.0) for run, attempt in plan
        )
        self._open_tasks = OpenTasks(due.planned.trial.task_id for due in self._queue)
        # Closing the executor waits for running attempts even after an exception, so that their records are stored.
        with ExitStack() as pools:
            pools.enter_context(closing(self._executor))
            looks = pools.enter_context(ThreadPoolExecutor(1, thread_name_prefix="look"))
            try:
                while self._running or (self._stop is None and self._queue):
                    self._begin_look(looks)
                    self._fill()
                    self._collect()
            except Exception as fault:
                self._listen(note_event(f"{fault}{self._what_still_runs()}", EventKind.STOPPED))
                raise
        if self._stop is None and self._unaffordable:
            return EndReason.TIER_BUDGET
        return self._stop or (EndReason.INCOMPLETE if self._without_result else EndReason.DONE)

    def _begin_look(self, looks: ThreadPoolExecutor) -> None:
        """Take a look where a task is complete that was not at the last one, and wait for it a moment."""
        if self._take_look is not None and self._look_due and self._look is None and self._stop is None:
            self._look_due = False
            self._look = looks.submit(_take_politely, self._take_look, self._open_tasks)
            self._done.watch(self._look)
            # Before the first start there is time: results of an earlier engine may decide.
            wait([self._look], timeout=self._settings.look_wait_seconds if self._started else None)
        self._end_look()

    def _end_look(self) -> None:
        """Act on the look that was being taken, if it has ended."""
        if self._look is None or not self._look.done():
            return
        seen, self._look = self._look.result(), None
        self._drop_arms(seen.settled)
        for words in seen.notes:
            self._listen(note_event(words))
        if seen.end is not None:
            self._halt(seen.end)

    def _drop_arms(self, settled: frozenset[str]) -> None:
        """Take out what has not started of arms that need no more runs; what is running will be finished."""
        if settled <= self._settled:
            return
        self._settled |= settled
        for due in self._queue.drop(self._settled):
            self._count_down(due)

    def _fill(self) -> None:
        self._queue.pass_over_none()
        while len(self._running) < self._executor.slots and self._may_start():
            # After a failure of the infrastructure another trial comes first: it tells whether only that trial fails.
            due = self._queue.next(self._executor.now(), retries_last=self._streak.active)
            if due is None:
                return
            if not self._budget.reserve():
                if not self._running:  # otherwise wait: what is running may cost less than was reserved for it
                    self._halt(EndReason.BUDGET)
                return
            of_tier = self._tier_budgets.get(due.arm)
            if of_tier is not None and not of_tier.reserve():
                self._budget.release()
                if of_tier.has_reservations:  # what is running of the tier may cost less
                    return
                self._drop_tier(of_tier)
                continue
            if self._start(due):
                self._queue.take(due)
            else:
                self._queue.pass_over(due.arm)

    def _start(self, due: QueuedAttempt) -> bool:
        """Start an attempt for which its cost is reserved; False where there is no place for its arm now."""
        future = self._executor.start(due.planned, due.attempt)
        if future is None:
            self._budget.release()
            if (of_tier := self._tier_budgets.get(due.arm)) is not None:
                of_tier.release()
            return False
        self._started = True
        self._running[future] = _Running(due, next(self._numbers), self._streak.mark())
        self._done.watch(future)
        self._listen(trial_event(due.planned.trial, EventKind.STARTED, f"attempt {due.attempt}"))
        return True

    def _drop_tier(self, budget: Budget) -> None:
        """Start nothing more of the arms whose tier has used up its budget; the other tiers go on."""
        tier = frozenset(arm for arm, each in self._tier_budgets.items() if each is budget)
        self._unaffordable |= tier
        self._drop_arms(tier)
        names = ", ".join(sorted(tier))
        self._listen(note_event(f"nothing more is started of {names}: the budget of their tier is used up"))

    def _may_start(self) -> bool:
        return self._stop is None and not self._drain.is_set() and self._executor.now() >= self._paused_until

    def _collect(self) -> None:
        if self._drain.is_set():
            self._halt(EndReason.INTERRUPTED)
        self._executor.wait(self._done, POLL_SECONDS)
        attempts = [future for future in self._done.take() if future in self._running]
        for future in sorted(attempts, key=lambda future: self._running[future].number):
            self._finish(self._running.pop(future), future.result())

    def _finish(self, running: _Running, made: FinishedAttempt) -> None:
        due, record = running.due, made.record
        self._budget.record_cost(most_paid(record))
        if (of_tier := self._tier_budgets.get(record.trial.arm)) is not None:
            of_tier.record_cost(most_paid(record))
        self._listen(finished_event(record))
        if made.retry_after_seconds is not None:
            self._pause(made.retry_after_seconds)
        if record.status in EXCLUDED_STATUSES and self._drain.is_set():
            self._halt(EndReason.INTERRUPTED)
            return
        retries = record.status is Status.INFRA_ERROR and made.may_retry and self._may_try_again(due)
        self._note_streak(running, made, retries=retries)
        if retries and self._stop is None:
            self._retry(due, made)
        else:
            self._close(due, has_result=record.status not in EXCLUDED_STATUSES)

    def _note_streak(self, running: _Running, made: FinishedAttempt, *, retries: bool) -> None:
        """Stop where trial after trial fails for the same reason. A failure that a pause will end is none of these."""
        record, kind = made.record, made.failure_kind
        if made.may_come_late:  # nothing is known of why it has no result
            return
        if record.status not in EXCLUDED_STATUSES:
            self._streak.add_result(record.trial.arm)
        elif record.status is Status.INFRA_ERROR and not (retries and asks_to_wait(kind, made.retry_after_seconds)):
            repeated = self._streak.add_failure(record.trial, kind, record.status_detail, running.mark)
            if repeated is not None and self._stop is None:
                self._listen(note_event(str(repeated)))
                self._halt(EndReason.STOPPED)

    def _may_try_again(self, due: QueuedAttempt) -> bool:
        wanted = self._stop is None and due.arm not in self._settled
        return due.tries < self._settings.retries and wanted

    def _close(self, due: QueuedAttempt, *, has_result: bool) -> None:
        self._without_result += not has_result and due.arm not in self._settled
        self._count_down(due)

    def _count_down(self, due: QueuedAttempt) -> None:
        self._look_due |= self._open_tasks.count_down(due.planned.trial.task_id)

    def _retry(self, due: QueuedAttempt, made: FinishedAttempt) -> None:
        """Queue another attempt; one that may prove unnecessary needs no backoff, and comes after all others."""
        last = made.may_come_late
        pause = 0.0 if last else self._backoff(due.tries)
        again = QueuedAttempt(
            planned=due.planned,
            attempt=due.attempt + 1,
            tries=due.tries + 1,
            not_before=self._executor.now() + pause,
            comes_last=last,
        )
        self._queue.add(again)
        if self._streak.active and not last:
            # Another trial would fail as quickly while what is broken is still coming back.
            self._paused_until = max(self._paused_until, again.not_before)
        when = "after all others" if last else f"in {pause:.1f} s"
        detail = f"again {when}: {made.record.status_detail or 'infrastructure failed'}"
        self._listen(trial_event(due.planned.trial, EventKind.RETRYING, detail))

    def _backoff(self, tries: int) -> float:
        longest = self._settings.longest_backoff_seconds
        # Jitter, so that many runs that failed together do not come back together.
        return min(self._settings.first_backoff_seconds * 2.0**tries, longest) * random.uniform(0.5, 1.0)

    def _pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, self._executor.now() + seconds)
        detail = f"the model asks for a pause of {seconds:.0f} s; nothing new starts before"
        self._listen(note_event(detail, EventKind.PAUSED))

    def _halt(self, reason: EndReason) -> None:
        if self._stop is None:
            self._stop = reason
            self._listen(
                note_event(f"nothing more is started: {reason.value}{self._what_still_runs()}", EventKind.STOPPED)
            )

    def _what_still_runs(self) -> str:
        return f"; {len(self._running)} running will be finished" if self._running else ""
