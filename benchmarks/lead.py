"""What one lead can drive: its own decisions, measured alone under a simulated cluster."""

import tracemalloc
from collections.abc import Callable, Collection
from dataclasses import replace
from time import process_time

from benchmarks.cluster.inputs import DAY, ClusterInputs
from benchmarks.cluster.simulate import plan_of, simulate
from benchmarks.cluster.simulated_cluster import SimulatedCluster
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from benchmarks.synthetic import records
from outweigh.app.until_decided import Looks
from outweigh.engine.attempt_queue import AttemptQueue, QueuedAttempt
from outweigh.engine.batch import LookResult
from outweigh.engine.trial_plan import PlannedRun
from outweigh.model.codec import decode, encode
from outweigh.model.look_plan import plan_even_looks
from outweigh.model.pricing import PriceTables
from outweigh.verdict.evidence_settings import evidence_settings

SIZES = (10_000, 100_000)
LARGEST = 1_000_000
NEEDED_PER_SECOND = 2 * 1_000_000 / DAY
"""Starts and results at a million trials a day."""

SPARE = 100.0
"""How many times as much a lead is to drive alone: exchanges, appends and bursts need the rest."""

GROWTH = 1.5
_RECORDS = 2_000


def measure(setting: Setting) -> list[Ratio]:
    """Events per second, how they grow with the plan, and memory."""
    sizes = (*SIZES, LARGEST) if setting.full else SIZES
    plain = {size: _seconds_per_trial(size, looks=False) for size in sizes}
    looked = {size: _seconds_per_trial(size, looks=True) for size in SIZES}
    return [
        *(_rate(size, seconds) for size, seconds in plain.items()),
        _growth("decisions", plain, sizes[0], sizes[-1]),
        _growth("decisions and looks", looked, *SIZES),
        _memory_of_plan(),
        _memory_of_records(),
    ]


def _rate(size: int, seconds: float) -> Ratio:
    per_second = 2 / seconds
    return Ratio(
        name=f"events that a lead decides, plan of {size:,} trials : events of 10^6 trials a day",
        measured=per_second / NEEDED_PER_SECOND,
        target=SPARE,
        better="higher",
        note=f"{per_second:,.0f}/s : {NEEDED_PER_SECOND:.0f}/s, {1e6 * seconds:.0f} µs per trial",
    )


def _growth(what: str, seconds: dict[int, float], small: int, large: int) -> Ratio:
    return Ratio(
        name=f"a lead's {what} per trial, plan of {large:,} : plan of {small:,}",
        measured=seconds[large] / seconds[small],
        target=GROWTH,
        better="lower",
        note=f"{1e6 * seconds[large]:.0f} µs : {1e6 * seconds[small]:.0f} µs",
    )


class _NeverDecided(Looks):
    """Looks that go on to the end, whatever they see."""

    def take(self, still_open: Collection[str]) -> LookResult:
        super().take(still_open)
        self._settled.clear()
        return LookResult()


def _seconds_per_trial(size: int, *, looks: bool) -> float:
    """Processor time of this process without the simulation's own, on a cluster in which things go wrong."""
    inputs = replace(ClusterInputs(), arms=2, tasks=size // 10)
    plan = plan_of(inputs, task_by_task=looks)
    taker = _looks_at(plan, inputs.repeats) if looks else None
    cluster = SimulatedCluster(inputs) if taker is None else SimulatedCluster(inputs, taker.add)
    before = process_time()
    simulate(cluster, plan, looks=taker)
    return (process_time() - before - cluster.processor_seconds) / size


def _looks_at(plan: tuple[PlannedRun, ...], repeats: int) -> Looks:
    order = tuple(dict.fromkeys(run.trial.task_id for run in plan))
    looks = plan_even_looks(order, repeats)
    settings = evidence_settings(gates=("pass_rate", "duration"), looks=looks)
    return _NeverDecided("arm-0", ["arm-1"], looks, settings, PriceTables())


def _memory_of_plan() -> Ratio:
    def queue(tasks: int) -> AttemptQueue:
        waiting = AttemptQueue()
        for run in plan_of(ClusterInputs(tasks=tasks)):
            waiting.add(QueuedAttempt(planned=run, attempt=1, tries=0, not_before=0.0))
        return waiting

    trials = 1_000 * ClusterInputs(tasks=1).trials
    return _memory("a trial that waits", (_traced(lambda: queue(1_100)) - _traced(lambda: queue(100))) / trials)


def _memory_of_records() -> Ratio:
    lines = [encode(record) for record in records(_RECORDS)]
    return _memory("a record that a lead keeps", _traced(lambda: [decode(line) for line in lines]) / _RECORDS)


def _traced(make: Callable[[], object]) -> int:
    """Bytes of what is made."""
    tracemalloc.start()
    made = make()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del made
    return size


def _memory(what: str, each: float) -> Ratio:
    return Ratio(
        name=f"memory of {what} : 1 kB",
        measured=each / 1e3,
        target=None,
        better="lower",
        note=f"{each / 1e3:.2f} GB for 10^6",
    )
