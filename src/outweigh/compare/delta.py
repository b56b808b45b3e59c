"""Candidate minus baseline, over pairs and over tasks."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from outweigh.compare.arm_table import ArmTable, Column, Index
from outweigh.compare.metric import METRICS, Metric
from outweigh.compare.pairing import Pairing
from outweigh.stats.describe import mean, median


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """`mean` and `median` are over (task, repeat) pairs, `task_mean` over tasks with equal weight.

    The median of pairs depends on how the repeats happen to be numbered; decisions rest on tasks.
    """

    metric: Metric
    n: int
    mean: float | None
    median: float | None
    task_mean: float | None


def deltas(baseline: ArmTable, candidate: ArmTable, pairing: Pairing) -> Mapping[str, Delta]:
    """Every metric's delta, by its name in the JSON contract."""
    return {metric.delta: _delta(metric, baseline, candidate, pairing) for metric in METRICS}


def align_tasks(baseline: ArmTable, candidate: ArmTable) -> Index:
    """For every task with counted runs in both arms, its place in the baseline and in the candidate."""
    places = {task: place for place, task in enumerate(candidate.tasks)}
    shared = [(ours, places[task]) for ours, task in enumerate(baseline.tasks) if task in places]
    return np.array(shared, dtype=np.intp).reshape(-1, 2)


def task_deltas(metric: str, baseline: ArmTable, candidate: ArmTable) -> Column:
    """Mean over an arm's repeats, candidate minus baseline, for each task where both sides know the metric."""
    rows = align_tasks(baseline, candidate)
    found = candidate.mean_per_task(metric)[rows[:, 1]] - baseline.mean_per_task(metric)[rows[:, 0]]
    return found[~np.isnan(found)]


def _delta(metric: Metric, baseline: ArmTable, candidate: ArmTable, pairing: Pairing) -> Delta:
    differences = pairing.differences(baseline.columns[metric.name], candidate.columns[metric.name])
    return Delta(
        metric=metric,
        n=len(differences),
        mean=mean(differences).value,
        median=median(differences).value,
        task_mean=mean(task_deltas(metric.name, baseline, candidate)).value,
    )
