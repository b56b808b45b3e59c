"""Candidate minus baseline, over pairs and over tasks."""

from collections.abc import Mapping
from dataclasses import dataclass

from outweigh.compare.arm_table import ArmTable
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


def task_deltas(metric: str, baseline: ArmTable, candidate: ArmTable) -> dict[str, float]:
    """Mean over an arm's repeats, candidate minus baseline, for each task where both sides know the metric."""
    theirs = candidate.rows_by_task()
    found = {}
    for task_id, rows in baseline.rows_by_task().items():
        before = mean(baseline.known(metric, rows)).value
        after = mean(candidate.known(metric, theirs.get(task_id, ()))).value
        if before is not None and after is not None:
            found[task_id] = after - before
    return found


def _delta(metric: Metric, baseline: ArmTable, candidate: ArmTable, pairing: Pairing) -> Delta:
    ours, theirs = baseline.columns[metric.name], candidate.columns[metric.name]
    differences = [
        after - before
        for pair in pairing.pairs
        if (before := ours[pair.baseline]) is not None and (after := theirs[pair.candidate]) is not None
    ]
    by_task = list(task_deltas(metric.name, baseline, candidate).values())
    return Delta(
        metric=metric,
        n=len(differences),
        mean=mean(differences).value,
        median=median(differences).value,
        task_mean=mean(by_task).value,
    )
