"""Runs the lead's own batch on a simulated cluster, and says what came of it."""

import random
from collections import Counter
from dataclasses import dataclass
from io import StringIO
from threading import Event as Signal
from time import thread_time

from benchmarks.cluster.inputs import ClusterInputs
from benchmarks.cluster.simulated_cluster import ClusterTotals, SimulatedCluster
from outweigh.cli.progress import RunProgress
from outweigh.engine.batch import Batch, BatchSettings, EndReason
from outweigh.engine.budget import Budget
from outweigh.engine.events import EngineEvent, EventKind, EventListener
from outweigh.engine.executor import AttemptExecutor
from outweigh.engine.experiment import FIRST_BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS, RunLooks
from outweigh.engine.failure_streak import SAME_FAILURES
from outweigh.engine.token_pace import PacedExecutor
from outweigh.engine.trial_plan import PlannedRun, plan_runs
from outweigh.model.suite import LimitsSpec

WAIT_FOR_A_LOOK = 3_600.0
"""Seconds; simulated time stands still while a look is taken, so that a seed gives one result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a batch ended on a simulated cluster.

    `lead_seconds` is the processor time of the thread of the batch without that of the simulation.
    """

    end: EndReason
    seconds: float
    totals: ClusterTotals
    events: Counter[EventKind]
    lead_seconds: float

    @property
    def results(self) -> int:
        """Attempts that ended, with a result or without."""
        return self.events[EventKind.FINISHED]

    @property
    def lost_usd(self) -> float:
        """What was paid for attempts that a lost host or a long cut took away."""
        return self.totals.lost_with_nodes_usd + self.totals.lost_by_cuts_usd


def plan_of(inputs: ClusterInputs, *, task_by_task: bool = False) -> tuple[PlannedRun, ...]:
    """The plan of a simulation, as `outweigh run` makes it."""
    tasks = [f"task-{number:06}" for number in range(inputs.tasks)]
    arms = [f"arm-{number}" for number in range(inputs.arms)]
    return plan_runs(tasks, arms, inputs.repeats, inputs.seed, task_by_task=task_by_task)


def simulate(
    cluster: SimulatedCluster,
    plan: tuple[PlannedRun, ...],
    *,
    budget: Budget | None = None,
    looks: RunLooks | None = None,
    drain: Signal | None = None,
    listen: EventListener | None = None,
) -> Outcome:
    """Run a plan to its end with the settings of `outweigh run`; its progress is shown to nobody."""
    random.seed(cluster.inputs.seed)  # the jitter of backoffs
    events: Counter[EventKind] = Counter()
    progress = RunProgress(plan, StringIO())

    def note(event: EngineEvent) -> None:
        events[event.kind] += 1
        progress(event)
        if listen is not None:
            listen(event)

    executor: AttemptExecutor = cluster
    if cluster.inputs.is_setting:
        executor = PacedExecutor(cluster, int(cluster.inputs.tokens_per_minute), cluster.token_use, note)
    batch = Batch(
        executor=executor,
        settings=BatchSettings(
            retries=LimitsSpec().retries,
            first_backoff_seconds=FIRST_BACKOFF_SECONDS,
            longest_backoff_seconds=LONGEST_BACKOFF_SECONDS,
            look_wait_seconds=WAIT_FOR_A_LOOK,
            same_failures=SAME_FAILURES,
        ),
        budget=budget or Budget(None, None),
        drain=drain or Signal(),
        listen=note,
        take_look=None if looks is None else looks.take,
    )
    before = thread_time()
    end = batch.run((planned, 1) for planned in plan)
    took = thread_time() - before - cluster.processor_seconds
    return Outcome(end=end, seconds=cluster.now(), totals=cluster.totals, events=events, lead_seconds=took)
