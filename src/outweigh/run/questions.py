"""Many questions to judges at once: bounded and within their money. What happens to one judge holds up no other."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event as Signal
from typing import Generic, Protocol, TypeVar

from outweigh.run.batch import TICK_SECONDS, Stop
from outweigh.run.events import EventKind, Listener, note
from outweigh.run.purse import Answer, Purse
from outweigh.task.judge import JudgeSpec
from outweigh.transcript.failure import Failure

OUT_OF_MONEY = "its budget is used up"


class BeforeAJudge(Protocol):
    """Whatever a judge is asked about."""

    @property
    def judge(self) -> JudgeSpec:
        """Who is asked."""
        ...


Item = TypeVar("Item", bound=BeforeAJudge)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(Generic[Item]):
    """How one question ended. `keep` writes the answer down and says what is to be asked besides; None without one.

    `hopeless` is what every other question to this judge would meet.
    """

    keep: Callable[[], Sequence[Item]] | None
    cost_usd: float | None
    hopeless: Failure | None
    trouble: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How it ended: why it stopped, which judges were set aside and why, and how many questions are still open."""

    stop: Stop
    set_aside: dict[str, str]
    left_open: int


class Questions(Generic[Item]):
    """Asks in threads; every answer is kept, here and not in its thread, before the next question is asked."""

    def __init__(
        self, *, put: Callable[[Item], Ended[Item]], drain: Signal, purse: Purse, jobs: int, listen: Listener
    ) -> None:
        self._put = put
        self._drain = drain
        self._purse = purse
        self._jobs = jobs
        self._listen = listen
        self._waiting: deque[Item] = deque()
        self._running: dict[Future[Ended[Item]], str] = {}
        self._set_aside: dict[str, str] = {}
        self._left_open = 0
        self._stop: Stop | None = None

    def ask(self, items: Sequence[Item]) -> Judged:
        """Ask about all of them, as far as money and patience last."""
        self._waiting.extend(items)
        with ThreadPoolExecutor(self._jobs, thread_name_prefix="question") as threads:
            while self._running or (self._stop is None and self._waiting):
                self._fill(threads)
                self._collect()
        self._left_open += len(self._waiting)
        incomplete = Stop.INCOMPLETE if self._left_open else Stop.DONE
        return Judged(stop=self._stop or incomplete, set_aside=self._set_aside, left_open=self._left_open)

    def _fill(self, threads: ThreadPoolExecutor) -> None:
        if self._stop is None and self._waiting and self._drain.is_set():
            self._halt(Stop.INTERRUPTED)
        busy = Counter(self._running.values())
        while self._stop is None and self._waiting and len(self._running) < self._jobs:
            name = self._waiting[0].judge.name
            match self._purse.reserve(name):
                case Answer.ALL_ARE_OUT:
                    if not self._running:  # otherwise wait: what is running may come out cheaper than its worst
                        self._halt(Stop.BUDGET)
                    return
                case Answer.JUDGE_IS_OUT:
                    if busy[name]:
                        return
                    self._put_aside(name, OUT_OF_MONEY)
                case Answer.YES:
                    busy[name] += 1
                    self._running[threads.submit(self._put, self._waiting.popleft())] = name

    def _collect(self) -> None:
        done, _ = wait(self._running, timeout=TICK_SECONDS, return_when=FIRST_COMPLETED)
        for future in done:
            self._finish(self._running.pop(future), future.result())

    def _finish(self, name: str, ended: Ended[Item]) -> None:
        self._purse.settle(name, ended.cost_usd)
        if ended.keep is not None:
            self._queue(name, ended.keep())
            return
        self._left_open += 1
        if ended.hopeless is not None and name not in self._set_aside:
            self._put_aside(name, f"{ended.hopeless.kind.value}: {ended.hopeless.detail}")
        if ended.trouble is not None:
            self._listen(note(ended.trouble))

    def _queue(self, name: str, items: Sequence[Item]) -> None:
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
        self._listen(note(f"judge {name} is set aside: {why}"))

    def _halt(self, reason: Stop) -> None:
        self._stop = reason
        running = f"; {len(self._running)} questions under way will be finished" if self._running else ""
        self._listen(note(f"no more questions are asked: {reason.value}{running}", EventKind.STOPPED))
