"""How two arms differ: candidate minus baseline over pairs and over tasks, missing runs, families of tasks."""

from collections import Counter
from collections.abc import Mapping
from functools import partial

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_table import ArmTable, Column, Index
from outweigh.compare.run_columns import (
    Computed,
    count_values,
    counts_by_place,
    last_by_task,
)
from outweigh.compare.run_pairs import Pairing
from outweigh.compare.task_alignment import align_tasks
from outweigh.score.metrics import Metric
from outweigh.stats.sample import mean, median


def task_families(baseline: ArmTable, candidate: ArmTable) -> Mapping[str, str] | None:
    """The family of every task, when the records name several; a task without a name is its own family."""
    if not any(family for arm in (baseline, candidate) for family in count_values(arm.runs, "family")):
        return None
    named = {task: family or task for arm in (baseline, candidate) for task, family in last_by_task(arm.runs, "family")}
    families = set(named.values())
    return named if 1 < len(families) < len(named) else None


def single_family(baseline: ArmTable, candidate: ArmTable) -> str | None:
    """The name of the family that all tasks belong to, where there is just one and it has a name."""
    names = {family for arm in (baseline, candidate) for family in count_values(arm.runs, "family")}
    return names.pop() if len(names) == 1 else None


class MissingRuns(Struct, frozen=True, kw_only=True):
    """One arm's losses. `absent` are runs that the other arm has of a task and this one does not."""

    excluded: int
    retried: int
    absent: int
    expected: int

    @property
    def missing(self) -> int:
        """Runs whose outcome nobody knows."""
        return self.excluded + self.absent

    @property
    def excluded_attempts(self) -> int:
        """Attempts that say nothing about the arm; superseded attempts are among them."""
        return self.excluded + self.retried

    @property
    def attempts(self) -> int:
        """All attempts that were made, superseded ones included."""
        return self.expected - self.absent + self.retried

    @property
    def excluded_share(self) -> float:
        """The part of all recorded attempts that says nothing about the arm."""
        return self.excluded_attempts / self.attempts if self.excluded_attempts else 0.0

    @property
    def absent_share(self) -> float:
        """The part of the runs that the other arm shows should be there and that nobody recorded."""
        return self.absent / self.expected if self.absent else 0.0


def count_missing_runs(arm: ArmTable, other: ArmTable) -> MissingRuns:
    """What one arm lost, measured by what both arms together show should be there."""
    if arm.tasks is other.tasks:
        mine, theirs = (_recorded_by_place(each) for each in (arm, other))
        if mine is not None and theirs is not None:
            return _count_missing(arm, int(np.maximum(mine, theirs).sum()), int(mine.sum()))
    recorded, others = recorded_runs(arm), recorded_runs(other)
    expected = sum(max(number, others.get(task, 0)) for task, number in recorded.items())
    return _count_missing(arm, expected, sum(recorded.values()))


def _count_missing(arm: ArmTable, expected: int, recorded: int) -> MissingRuns:
    return MissingRuns(
        excluded=len(arm.excluded),
        retried=sum(
            (attempt - 1) * runs
            for attempts in (arm.runs, arm.excluded)
            for attempt, runs in count_values(attempts, "attempt").items()
        ),
        absent=expected - recorded,
        expected=expected,
    )


def _recorded_by_place(arm: ArmTable) -> Index | None:
    """How many runs of each task the arm has a record of; None where a task has none that counts."""
    found, stale = arm.runs_per_task(), count_values(arm.stale, "task_id")
    added = arm.lost_per_task(arm.tasks)
    if stale:
        added = added + counts_by_place(arm.tasks, stale)
    return found + added if int(added.sum()) == len(arm.excluded) + len(arm.stale) else None


def recorded_runs(arm: ArmTable) -> Mapping[str, int]:
    """How many runs of each task the arm has a record of, counted or not; stale ones are not missing."""
    found: Counter[str] = Counter()
    for runs in (arm.runs, arm.excluded, arm.stale):
        found.update(count_values(runs, "task_id"))
    return found


class Delta(Struct, frozen=True, kw_only=True):
    """`mean` and `median` are over (task, repeat) pairs, `task_mean` over tasks with equal weight.

    The median of pairs depends on how the repeats happen to be numbered; decisions rest on tasks.
    """

    metric: Metric
    n: int
    mean: float | None
    median: float | None
    task_mean: float | None


def compute_deltas(baseline: ArmTable, candidate: ArmTable, pairing: Pairing) -> Mapping[str, Delta]:
    """Every metric's delta, by its name in the JSON contract."""
    return Computed(
        {metric.delta: partial(_delta, metric, baseline, candidate, pairing) for metric in baseline.metrics}
    )


def task_deltas(metric: str, baseline: ArmTable, candidate: ArmTable) -> Column:
    """Mean over an arm's repeats, candidate minus baseline, for each task where both sides know the metric."""
    rows = align_tasks(baseline, candidate)
    found = candidate.mean_per_task(metric)[rows[:, 1]] - baseline.mean_per_task(metric)[rows[:, 0]]
    return found[~np.isnan(found)]


def _delta(metric: Metric, baseline: ArmTable, candidate: ArmTable, pairing: Pairing) -> Delta:
    differences = pairing.differences(metric.name)
    return Delta(
        metric=metric,
        n=len(differences),
        mean=mean(differences).value,
        median=median(differences).value,
        task_mean=mean(task_deltas(metric.name, baseline, candidate)).value,
    )
