"""Many attempts at once: bounded, within budget, retried when infrastructure failed, stopped when asked."""

import random
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum
from threading import Event as Signal
from time import monotonic

from outweigh.record.status import EXCLUDED
from outweigh.run.attempt import Made
from outweigh.run.budget import Budget
from outweigh.run.events import Event, EventKind, Listener, note
from outweigh.run.plan import PlannedRun
from outweigh.score.objective import passed

TICK_SECONDS = 0.2
"""How long the engine waits before it looks at signals and clocks again."""


class Stop(StrEnum):
    """Why a batch ended."""

    DONE = "done"
    BUDGET = "budget"
    INTERRUPTED = "interrupted"
    DECIDED = "decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How many at once, and how patient with infrastructure."""

    jobs: int
    retries: int
    first_backoff_seconds: float
    longest_backoff_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A run that is waiting for its turn."""

    planned: PlannedRun
    attempt: int
    tries: int
    not_before: float


class Batch:
    """Runs a plan. `drain` lets what is running finish and starts nothing more."""

    def __init__(
        self,
        *,
        make: Callable[[PlannedRun, int], Made],
        pace: Pace,
        budget: Budget,
        drain: Signal,
        listen: Listener,
        decided: Callable[[], bool] | None,
    ) -> None:
        self._make = make
        self._pace = pace
        self._budget = budget
        self._drain = drain
        self._listen = listen
        self._decided = decided
        self._waiting: deque[Due] = deque()
        self._running: dict[Future[Made], Due] = {}
        self._paused_until = 0.0
        self._left_of_task: dict[str, int] = {}
        self._stop: Stop | None = None

    def run(self, plan: Iterable[tuple[PlannedRun, int]]) -> Stop:
        """Attempt every planned run, given with the number its next attempt has."""
        self._waiting.extend(Due(planned=run, attempt=attempt, tries=0, not_before=0.0) for run, attempt in plan)
        for due in self._waiting:
            task = due.planned.trial.task_id
            self._left_of_task[task] = self._left_of_task.get(task, 0) + 1
        with ThreadPoolExecutor(self._pace.jobs, thread_name_prefix="trial") as threads:
            while self._running or (self._waiting and self._stop is None):
                self._fill(threads)
                self._collect()
        return self._stop or Stop.DONE

    def _fill(self, threads: ThreadPoolExecutor) -> None:
        while self._waiting and len(self._running) < self._pace.jobs and self._may_start():
            due = self._next_due()
            if due is None:
                return
            if not self._budget.reserve():
                self._waiting.appendleft(due)
                self._halt(Stop.BUDGET)
                return
            self._running[threads.submit(self._make, due.planned, due.attempt)] = due
            self._listen(_started(due))

    def _may_start(self) -> bool:
        if self._drain.is_set():
            self._halt(Stop.INTERRUPTED)
        return self._stop is None and monotonic() >= self._paused_until

    def _next_due(self) -> Due | None:
        """The first run whose waiting time is over; the order of the plan is kept otherwise."""
        now = monotonic()
        for index, due in enumerate(self._waiting):
            if due.not_before <= now:
                del self._waiting[index]
                return due
        return None

    def _collect(self) -> None:
        if not self._running:
            self._drain.wait(TICK_SECONDS)
            return
        done, _ = wait(self._running, timeout=TICK_SECONDS, return_when=FIRST_COMPLETED)
        for future in done:
            self._finish(self._running.pop(future), future.result())

    def _finish(self, due: Due, made: Made) -> None:
        record = made.record
        self._budget.settle(record.cost.usd)
        self._listen(_finished(made))
        if made.retry_after_seconds is not None:
            self._pause(made.retry_after_seconds)
        if record.status in EXCLUDED and due.tries < self._pace.retries and not self._drain.is_set():
            self._retry(due, record.status_detail)
            return
        task = due.planned.trial.task_id
        self._left_of_task[task] -= 1
        if self._decided is not None and self._left_of_task[task] == 0 and self._stop is None and self._decided():
            self._halt(Stop.DECIDED)

    def _retry(self, due: Due, why: str | None) -> None:
        pause = min(self._pace.first_backoff_seconds * 2**due.tries, self._pace.longest_backoff_seconds)
        # Jitter, so that many runs that failed together do not come back together.
        pause *= random.uniform(0.5, 1.0)
        again = Due(planned=due.planned, attempt=due.attempt + 1, tries=due.tries + 1, not_before=monotonic() + pause)
        self._waiting.append(again)
        self._listen(_retrying(again, f"again in {pause:.1f} s: {why or 'infrastructure failed'}"))

    def _pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, monotonic() + seconds)
        self._listen(
            note(f"the model asks for a pause of {seconds:.0f} s; nothing new starts before", EventKind.PAUSED)
        )

    def _halt(self, reason: Stop) -> None:
        if self._stop is None:
            self._stop = reason
            self._listen(note(f"nothing more is started: {reason.value}", EventKind.STOPPED))


def _started(due: Due) -> Event:
    return _about(due.planned, EventKind.STARTED, f"attempt {due.attempt}")


def _retrying(due: Due, detail: str) -> Event:
    return _about(due.planned, EventKind.RETRYING, detail)


def _about(planned: PlannedRun, kind: EventKind, detail: str) -> Event:
    trial = planned.trial
    return Event(
        kind=kind,
        run_id=None,
        task_id=trial.task_id,
        arm=trial.arm,
        repeat=trial.repeat,
        status=None,
        passed=None,
        cost_usd=None,
        detail=detail,
    )


def _finished(made: Made) -> Event:
    record = made.record
    outcome = passed(record).value
    return Event(
        kind=EventKind.FINISHED,
        run_id=record.run_id,
        task_id=record.trial.task_id,
        arm=record.trial.arm,
        repeat=record.trial.repeat,
        status=record.status.value,
        passed=None if outcome is None else outcome == 1,
        cost_usd=record.cost.usd,
        detail=record.status_detail or "",
    )
