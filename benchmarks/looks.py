"""Looks at a run: what one takes beside weighing everything anew, and how long a start waits for it."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from threading import Event
from time import perf_counter, sleep

from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from benchmarks.synthetic import BASELINE, CANDIDATE, REPEATS, records
from outweigh.app.until_decided import Looks
from outweigh.compare.comparison import compare_arms
from outweigh.compare.evidence import gather
from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.batch import Batch, BatchSettings, LookResult
from outweigh.engine.budget import Budget
from outweigh.engine.events import EngineEvent, EventKind
from outweigh.engine.executor import ThreadExecutor
from outweigh.engine.trial_plan import PlannedRun
from outweigh.model.codec import LocatedRecord
from outweigh.model.look_plan import plan_even_looks
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import RunRecord
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.weigh_evidence import weigh_evidence

SIZES = (1_000, 10_000)
LONGEST_WAIT = 0.050
"""Seconds that the start of a trial may wait because somebody looks."""
TRIAL_SECONDS = 0.001
GATES = ("pass_rate", "duration")

ByTask = Mapping[str, Sequence[RunRecord]]


def measure(_: Setting) -> list[Ratio]:
    """The last look against all records weighed anew, and the longest pause between two starts."""
    return [row for number in SIZES for row in _rows(number)]


def _rows(number: int) -> list[Ratio]:
    tasks: dict[str, list[RunRecord]] = defaultdict(list)
    for record in records(number):
        tasks[record.trial.task_id].append(record)
    anew, last = _weigh_anew(tasks), _last_look(tasks)
    pause = _longest_pause(tasks, _looks(tasks)) - _longest_pause(tasks, None)
    return [
        Ratio(
            name=f"last look at {number:,} records : weighing them all anew",
            measured=last / anew,
            target=0.5,
            better="lower",
            note=f"{1e3 * last:.0f} ms, not in the thread that starts trials",
        ),
        Ratio(
            name=f"longest wait of a start for looks at {number:,} records : {1e3 * LONGEST_WAIT:.0f} ms",
            measured=max(0.0, pause) / LONGEST_WAIT,
            target=1.0,
            better="lower",
            note=f"{1e3 * max(0.0, pause):.1f} ms more than without looks",
        ),
    ]


class _NeverDecided(Looks):
    """Looks that go on to the end, whatever they see."""

    def take(self, still_open: Collection[str]) -> LookResult:
        super().take(still_open)
        self._settled.clear()
        return LookResult()


def _looks(tasks: ByTask) -> Looks:
    plan = plan_even_looks(list(tasks), REPEATS)
    return _NeverDecided(BASELINE, [CANDIDATE], plan, evidence_settings(gates=GATES, looks=plan), PriceTables())


def _weigh_anew(tasks: ByTask) -> float:
    everything = [record for runs in tasks.values() for record in runs]
    began = perf_counter()
    located = (LocatedRecord(record, "store", number) for number, record in enumerate(everything, start=1))
    comparison = compare_arms(gather(located, prices=PriceTables()), BASELINE, CANDIDATE)
    weigh_evidence([comparison], evidence_settings(gates=GATES))
    return perf_counter() - began


def _last_look(tasks: ByTask) -> float:
    looks, names = _looks(tasks), list(tasks)
    took = 0.0
    for place, name in enumerate(names, start=1):
        for record in tasks[name]:
            looks.add(record)
        began = perf_counter()
        looks.take(set(names[place:]))
        took = perf_counter() - began
    return took


def _longest_pause(tasks: ByTask, looks: Looks | None) -> float:
    """The longest time between two starts while trials of a millisecond run two at a time."""
    starts: list[float] = []
    planned = {
        PlannedRun(trial=record.trial, block=block, position=block): record
        for block, record in enumerate(record for runs in tasks.values() for record in runs)
    }

    def attempt(run: PlannedRun, _: int) -> FinishedAttempt:
        sleep(TRIAL_SECONDS)
        record = planned[run]
        if looks is not None:
            looks.add(record)
        return FinishedAttempt(record=record, retry_after_seconds=None, may_retry=False)

    def listen(event: EngineEvent) -> None:
        if event.kind is EventKind.STARTED:
            starts.append(perf_counter())

    Batch(
        executor=ThreadExecutor(attempt, 2),
        settings=BatchSettings(retries=0, first_backoff_seconds=1.0, longest_backoff_seconds=1.0),
        budget=Budget(None, None),
        drain=Event(),
        listen=listen,
        take_look=None if looks is None else looks.take,
    ).run([(run, 1) for run in planned])
    return max(later - earlier for earlier, later in pairwise(starts))
