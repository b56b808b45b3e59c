"""Many duels at once: bounded, within budget, resumable."""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from outweigh.record.preference import Preference
from outweigh.run.batch import TICK_SECONDS, Stop
from outweigh.run.courtroom import Courtroom
from outweigh.run.duel import Duel, Fought, fight
from outweigh.run.events import Event, EventKind, Listener, about, note
from outweigh.run.purse import Answer, Purse

OUT_OF_MONEY = "its budget is used up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dueled:
    """How it ended: why it stopped, which judges were set aside and why, and how many questions are still open."""

    stop: Stop
    set_aside: Mapping[str, str]
    added: int
    left_open: int


class Duels:
    """Asks in threads; every answer is kept before its thread takes the next."""

    def __init__(
        self, *, keep: Callable[[Preference], None], room: Courtroom, purse: Purse, jobs: int, listen: Listener
    ) -> None:
        self._keep = keep
        self._room = room
        self._purse = purse
        self._jobs = jobs
        self._listen = listen
        self._waiting: deque[Duel] = deque()
        self._running: dict[Future[Fought], Duel] = {}
        self._busy: Counter[str] = Counter()
        self._set_aside: dict[str, str] = {}
        self._added = 0
        self._left_open = 0
        self._stop: Stop | None = None

    def run(self, duels: Sequence[Duel]) -> Dueled:
        """Ask about all of them, as far as money and patience last."""
        self._waiting.extend(duels)
        with ThreadPoolExecutor(self._jobs, thread_name_prefix="duel") as threads:
            while self._running or (self._stop is None and self._waiting):
                self._fill(threads)
                self._collect()
        self._left_open += len(self._waiting)
        incomplete = Stop.INCOMPLETE if self._left_open else Stop.DONE
        return Dueled(
            stop=self._stop or incomplete,
            set_aside=self._set_aside,
            added=self._added,
            left_open=self._left_open,
        )

    def _fill(self, threads: ThreadPoolExecutor) -> None:
        while self._stop is None and self._waiting and len(self._running) < self._jobs:
            if self._room.drain.is_set():
                self._halt(Stop.INTERRUPTED)
                return
            name = self._waiting[0].judge.name
            match self._purse.reserve(name):
                case Answer.ALL_ARE_OUT:
                    if not self._running:  # otherwise wait: what is running may come out cheaper than its worst
                        self._halt(Stop.BUDGET)
                    return
                case Answer.JUDGE_IS_OUT:
                    if self._busy[name]:
                        return
                    self._put_aside(name, OUT_OF_MONEY)
                case Answer.YES:
                    duel = self._waiting.popleft()
                    self._busy[name] += 1
                    self._running[threads.submit(fight, duel, self._room)] = duel

    def _collect(self) -> None:
        done, _ = wait(self._running, timeout=TICK_SECONDS, return_when=FIRST_COMPLETED)
        for future in done:
            del self._running[future]
            self._finish(future.result())

    def _finish(self, fought: Fought) -> None:
        name, preference = fought.duel.judge.name, fought.preference
        self._busy[name] -= 1
        self._purse.settle(name, 0.0 if preference is None else preference.cost.usd)
        if preference is not None:
            self._keep(preference)
            self._added += 1
            self._listen(_told(fought.duel, preference))
            return
        self._left_open += 1
        if fought.hopeless is not None and name not in self._set_aside:
            self._put_aside(name, f"{fought.hopeless.kind.value}: {fought.hopeless.detail}")
        if fought.trouble is not None:
            self._listen(note(fought.trouble))

    def _put_aside(self, name: str, why: str) -> None:
        """Its open questions would all end alike; they stay open, and the other judges go on."""
        self._set_aside[name] = why
        others = [duel for duel in self._waiting if duel.judge.name != name]
        self._left_open += len(self._waiting) - len(others)
        self._waiting = deque(others)
        self._listen(note(f"judge {name} is set aside: {why}"))

    def _halt(self, reason: Stop) -> None:
        self._stop = reason
        running = f"; {len(self._running)} questions under way will be finished" if self._running else ""
        self._listen(note(f"no more questions are asked: {reason.value}{running}", EventKind.STOPPED))


def _told(duel: Duel, preference: Preference) -> Event:
    detail = f"{duel.judge.name}, {duel.first.run_id} before {duel.second.run_id}: "
    said = preference.invalid_reason or "answered"
    event = about(duel.first.trial, EventKind.JUDGED, detail + said)
    return replace(event, run_id=duel.first.run_id, cost_usd=preference.cost.usd)
