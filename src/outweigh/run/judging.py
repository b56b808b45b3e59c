"""Many cases at once: bounded, within budget, resumable. Whatever happens to a judge, nobody else is held up by it."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from outweigh.ports import RunStore
from outweigh.record.judgment import Judgment
from outweigh.run.batch import TICK_SECONDS, Stop
from outweigh.run.case import Case, Docket, Judgments
from outweigh.run.courtroom import Courtroom
from outweigh.run.events import EventKind, Listener, judged, note
from outweigh.run.hearing import Heard, hear
from outweigh.run.purse import Answer, Purse

Matter = tuple[str, str]
"""A run's id and a judge's name."""

OUT_OF_MONEY = "its budget is used up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How judging ended: why it stopped, which judges were set aside and why, and how many cases are still open."""

    stop: Stop
    set_aside: dict[str, str]
    left_open: int


class Judging:
    """Hears cases in threads; every judgment is kept before the next question of its kind is asked."""

    def __init__(
        self, *, store: RunStore, room: Courtroom, docket: Docket, purse: Purse, jobs: int, listen: Listener
    ) -> None:
        self._store = store
        self._room = room
        self._docket = docket
        self._purse = purse
        self._jobs = jobs
        self._listen = listen
        self._waiting: deque[Case] = deque()
        self._running: set[Future[Heard]] = set()
        self._busy: Counter[str] = Counter()
        self._pending: Counter[Matter] = Counter()
        self._given: dict[str, list[Judgment]] = defaultdict(list)
        self._set_aside: dict[str, str] = {}
        self._left_open = 0
        self._stop: Stop | None = None

    def run(self, cases: Sequence[Case], given: Judgments) -> Judged:
        """Hear all cases; `given` are the judgments so far, which decide whether another pass is wanted."""
        self._waiting.extend(cases)
        self._pending.update(map(_matter, cases))
        for run_id, judgments in given.items():
            self._given[run_id].extend(judgments)
        with ThreadPoolExecutor(self._jobs, thread_name_prefix="hearing") as threads:
            while self._running or (self._stop is None and self._waiting):
                self._fill(threads)
                self._collect()
        self._left_open += len(self._waiting)
        incomplete = Stop.INCOMPLETE if self._left_open else Stop.DONE
        return Judged(stop=self._stop or incomplete, set_aside=self._set_aside, left_open=self._left_open)

    def _fill(self, threads: ThreadPoolExecutor) -> None:
        if self._stop is None and self._waiting and self._room.drain.is_set():
            self._halt(Stop.INTERRUPTED)
        while self._stop is None and self._waiting and len(self._running) < self._jobs:
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
                    self._busy[name] += 1
                    self._running.add(threads.submit(hear, self._waiting.popleft(), self._room))

    def _collect(self) -> None:
        done, _ = wait(self._running, timeout=TICK_SECONDS, return_when=FIRST_COMPLETED)
        for future in done:
            self._running.discard(future)
            self._finish(future.result())

    def _finish(self, heard: Heard) -> None:
        case, judgment = heard.case, heard.judgment
        self._busy[case.judge.name] -= 1
        self._pending[_matter(case)] -= 1
        self._purse.settle(case.judge.name, 0.0 if judgment is None else judgment.cost.usd)
        if judgment is None:
            self._left_open += 1
            self._explain(heard)
            return
        self._store.append_judgment(judgment)
        self._given[case.run.run_id].append(judgment)
        self._listen(judged(case.run.trial, judgment))
        self._consider_another(case)

    def _consider_another(self, case: Case) -> None:
        """Only when all passes that were asked for are back: what is under way may settle the matter."""
        if self._pending[_matter(case)]:
            return
        if (another := self._docket.next_case(case, self._given[case.run.run_id])) is not None:
            self._pending[_matter(case)] += 1
            self._waiting.append(another)

    def _explain(self, heard: Heard) -> None:
        if heard.hopeless is not None and heard.case.judge.name not in self._set_aside:
            self._put_aside(heard.case.judge.name, f"{heard.hopeless.kind.value}: {heard.hopeless.detail}")
        if heard.trouble is not None:
            self._listen(note(heard.trouble))

    def _put_aside(self, name: str, why: str) -> None:
        """Its open cases would all end alike; they stay open, and the other judges go on."""
        self._set_aside[name] = why
        others = [case for case in self._waiting if case.judge.name != name]
        self._left_open += len(self._waiting) - len(others)
        self._waiting = deque(others)
        self._listen(note(f"judge {name} is set aside: {why}"))

    def _halt(self, reason: Stop) -> None:
        self._stop = reason
        running = f"; {len(self._running)} questions under way will be finished" if self._running else ""
        self._listen(note(f"no more questions are asked: {reason.value}{running}", EventKind.STOPPED))


def _matter(case: Case) -> Matter:
    return case.run.run_id, case.judge.name


def paid_for_judging(given: Iterable[Judgment]) -> dict[str, list[float | None]]:
    """What every judgment came to, by judge."""
    paid: dict[str, list[float | None]] = defaultdict(list)
    for judgment in given:
        paid[judgment.judge.name].append(judgment.cost.usd)
    return paid
