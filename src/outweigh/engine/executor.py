"""Where attempts are made: the port that a batch starts them through, and the adapter for threads of this process.

It is no part of `ports`, because what it returns is the engine's own. A simulation of a cluster is an adapter, too: the
batch asks it for the time and lets it wait.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event as Signal
from time import monotonic
from typing import Any, Protocol

from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.trial_plan import PlannedRun

RunAttempt = Callable[[PlannedRun, int], FinishedAttempt]
"""Makes one attempt with its number, and returns when its record is durable."""


class DoneFutures:
    """Futures that are done. They report themselves, from any thread, so that not all that run are looked through."""

    def __init__(self) -> None:
        self._reported: deque[Future[Any]] = deque()
        self._has_some = Signal()

    def __bool__(self) -> bool:
        return bool(self._reported)

    def watch(self, future: Future[Any]) -> None:
        """Let a future report itself when it is done, at once where it is."""
        future.add_done_callback(self._report)

    def wait(self, timeout: float) -> None:
        """Return when one has reported itself that was not taken, at the latest after so many seconds."""
        self._has_some.wait(timeout)

    def take(self) -> list[Future[Any]]:
        """Those that have reported themselves since the last time."""
        # In this order: what is reported in between is taken now or noticed by the next wait.
        self._has_some.clear()
        return [self._reported.popleft() for _ in range(len(self._reported))]

    def _report(self, future: Future[Any]) -> None:
        self._reported.append(future)
        self._has_some.set()


class AttemptExecutor(Protocol):
    """Makes attempts somewhere. Its record is durable before the future of an attempt has its result.

    All methods are called by the thread of the batch. Attempts are cancelled by the signal that the whole engine
    shares, so there is no method for it.
    """

    @property
    def slots(self) -> int:
        """How many attempts may run at once, now; it may change while a batch runs."""

    def start(self, planned: PlannedRun, attempt: int) -> Future[FinishedAttempt] | None:
        """Start an attempt; None where no place is free for its arm now."""

    def wait(self, done: DoneFutures, timeout: float) -> None:
        """Return when a future is among those that are done, at the latest after so many seconds of `now`."""

    def now(self) -> float:
        """The seconds of a clock that never goes back; backoffs and pauses are measured by it."""

    def close(self) -> None:
        """Wait for the attempts that run, so that their records are stored, and free everything."""


class ThreadExecutor:
    """An AttemptExecutor whose attempts run in threads of this process."""

    def __init__(self, run_attempt: RunAttempt, jobs: int) -> None:
        self._run_attempt = run_attempt
        self._slots = jobs
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="trial")

    @property
    def slots(self) -> int:
        """The number of threads."""
        return self._slots

    def start(self, planned: PlannedRun, attempt: int) -> Future[FinishedAttempt] | None:
        """Start an attempt in a thread; every arm can run in each."""
        return self._threads.submit(self._run_attempt, planned, attempt)

    def wait(self, done: DoneFutures, timeout: float) -> None:
        """Wait until a thread has made an attempt."""
        done.wait(timeout)

    def now(self) -> float:
        """The time of this machine since some moment in the past."""
        return monotonic()

    def close(self) -> None:
        """Wait for all threads."""
        self._threads.shutdown(wait=True)
