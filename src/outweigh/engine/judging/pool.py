"""A thread pool for judge calls: bounded, within the judges' budgets.

A judge that fails for good is set aside and does not hold up the others.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event as Signal
from typing import Generic, Protocol, TypeVar

from outweigh.engine.batch import POLL_SECONDS, EndReason
from outweigh.engine.budget import Affordability, JudgeBudget
from outweigh.engine.events import EventKind, EventListener, note_event
from outweigh.model.failure import Failure
from outweigh.model.suite import JudgeSpec

BUDGET_USED_UP = "its budget is used up"


class HasJudge(Protocol):
    """Whatever a judge is asked about."""

    @property
    def judge(self) -> JudgeSpec:
        """Who is asked."""
        ...


PooledCall = TypeVar("PooledCall", bound=HasJudge)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnd(Generic[PooledCall]):
    """How one question ended. `keep` writes the answer down and says what is to be asked besides; None without one.

    `hopeless` is what every other question to this judge would meet.
    """

    keep: Callable[[], Sequence[PooledCall]] | None
    cost_usd: float | None
    hopeless: Failure | None
    trouble: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolResult:
    """How it ended: why it stopped, which judges were set aside and why, and how many questions are still open."""

    stop: EndReason
    set_aside: dict[str, str]
    left_open: int


class JudgePool(Generic[PooledCall]):
    """Asks in threads; every answer is kept, here and not in its thread, before the next question is asked."""

    def __init__(
        self,
        *,
        put: Callable[[PooledCall], CallEnd[PooledCall]],
        drain: Signal,
        purse: JudgeBudget,
        jobs: int,
        listen: EventListener,
    ) -> None:
        self._put = put
        self._drain = drain
        self._purse = purse
        self._jobs = jobs
        self._listen = listen
        self._waiting: deque[PooledCall] = deque()
        self._running: dict[Future[CallEnd[PooledCall]], str] = {}
        self._set_aside: dict[str, str] = {}
        self._left_open = 0
        self._stop: EndReason | None = None

    def ask(self, items: Sequence[PooledCall]) -> PoolResult:
        """Ask about all of them, as far as money and patience last."""
        self._waiting.extend(items)
        with ThreadPoolExecutor(self._jobs, thread_name_prefix="question") as threads:
            while self._running or (self._stop is None and self._waiting):
                self._fill(threads)
                self._collect()
        self._left_open += len(self._waiting)
        incomplete = EndReason.INCOMPLETE if self._left_open else EndReason.DONE
        return PoolResult(stop=self._stop or incomplete, set_aside=self._set_aside, left_open=self._left_open)

    def _fill(self, threads: ThreadPoolExecutor) -> None:
        if self._stop is None and self._waiting and self._drain.is_set():
            self._halt(EndReason.INTERRUPTED)
        busy = Counter(self._running.values())
        while self._stop is None and self._waiting and len(self._running) < self._jobs:
            name = self._waiting[0].judge.name
            match self._purse.reserve(name):
                case Affordability.ALL_ARE_OUT:
                    if not self._running:  # otherwise wait: what is running may come out cheaper than its worst
                        self._halt(EndReason.BUDGET)
                    return
                case Affordability.JUDGE_IS_OUT:
                    if busy[name]:
                        return
                    self._put_aside(name, BUDGET_USED_UP)
                case Affordability.YES:
                    busy[name] += 1
                    self._running[threads.submit(self._put, self._waiting.popleft())] = name

    def _collect(self) -> None:
        done, _ = wait(self._running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
        for future in done:
            self._finish(self._running.pop(future), future.result())

    def _finish(self, name: str, ended: CallEnd[PooledCall]) -> None:
        self._purse.settle(name, ended.cost_usd)
        if ended.keep is not None:
            self._queue(name, ended.keep())
            return
        self._left_open += 1
        if ended.hopeless is not None and name not in self._set_aside:
            self._put_aside(name, f"{ended.hopeless.kind.value}: {ended.hopeless.detail}")
        if ended.trouble is not None:
            self._listen(note_event(ended.trouble))

    def _queue(self, name: str, items: Sequence[PooledCall]) -> None:
        if name in self._set_aside:
            self._left_open += len(items)
        else:
            self._waiting.extend(items)

    def _put_aside(self, name: str, why: str) -> None:
        """Its open questions would all end alike; they stay open, and the other judges go on."""
        self._set_aside[name] = why
        others = [item for item in self._waiting if item.judge.name != name]
        self._left_open += len(self._waiting) - len(others)
        self._waiting = deque(others)
        self._listen(note_event(f"judge {name} is set aside: {why}"))

    def _halt(self, reason: EndReason) -> None:
        self._stop = reason
        running = f"; {len(self._running)} questions under way will be finished" if self._running else ""
        self._listen(note_event(f"no more questions are asked: {reason.value}{running}", EventKind.STOPPED))
