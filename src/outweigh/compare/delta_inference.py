"""How sure the differences between two arms are."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from outweigh.compare.arm_inference import DRAWS, LEVEL
from outweigh.compare.arm_table import ArmTable, Column
from outweigh.compare.delta import align_tasks
from outweigh.compare.families import families_of
from outweigh.compare.metric import METRICS
from outweigh.compare.task_moments import task_moments
from outweigh.stats.bootstrap import bootstrap_means
from outweigh.stats.bootstrap_interval import expanded_percentile_interval
from outweigh.stats.cluster import cluster_interval, sum_clusters
from outweigh.stats.effect import dominance
from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.log_ratio import exponentiate, geometric_ratio, mean_logs
from outweigh.stats.mean import fixed_suite_interval, mean_interval
from outweigh.stats.median import median_interval
from outweigh.stats.ratio import ratio_of_ratios_interval
from outweigh.stats.unknown import unknown_estimate

Labels = NDArray[np.object_]

RATIOS = {
    "cost": "cost_usd",
    "duration": "duration_seconds",
    "total_tokens": "total_tokens",
    "non_cache_tokens": "non_cache_tokens",
}


class Method(StrEnum):
    """Where intervals over tasks come from."""

    T = "t"
    BOOTSTRAP = "bootstrap"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaInference:
    """Both answers about one delta, over tasks like these and on this suite; beside them what no outlier can move.

    `dominance` is the share of tasks that gained minus the share that lost.
    """

    over_tasks: Estimate
    on_suite: Estimate
    median_of_tasks: Estimate
    dominance: Estimate


def infer_deltas(baseline: ArmTable, candidate: ArmTable, method: Method, seed: int) -> dict[str, DeltaInference]:
    """Both estimands of every delta, by the delta's name."""
    rows = align_tasks(baseline, candidate)
    labels = _labels(baseline, candidate)
    by_task = {
        metric.name: candidate.mean_per_task(metric.name)[rows[:, 1]] - baseline.mean_per_task(metric.name)[rows[:, 0]]
        for metric in METRICS
    }
    draws = _bootstrap(by_task, labels, seed) if method is Method.BOOTSTRAP and len(rows) > 1 else None
    return {
        metric.delta: DeltaInference(
            over_tasks=_over_tasks(by_task[metric.name], labels, None if draws is None else draws[metric.name]),
            on_suite=_on_suite(metric.name, baseline, candidate),
            median_of_tasks=median_interval(_known(by_task[metric.name]), level=LEVEL, unit=Unit.TASK),
            dominance=dominance(_known(by_task[metric.name]), level=LEVEL, unit=Unit.TASK),
        )
        for metric in METRICS
    }


def _known(deltas: Column) -> Column:
    return deltas[~np.isnan(deltas)]


def _over_tasks(deltas: Column, labels: Labels | None, draws: Column | None) -> Estimate:
    known = ~np.isnan(deltas)
    if draws is not None and known.any():
        units = int(known.sum()) if labels is None else len(set(labels[known].tolist()))
        return expanded_percentile_interval(draws, float(deltas[known].mean()), units, LEVEL)
    if labels is not None and len(set(labels[known].tolist())) > 1:
        return cluster_interval(deltas[known], labels[known], LEVEL)
    return mean_interval(deltas[known], level=LEVEL, unit=Unit.TASK)


def _bootstrap(by_task: Mapping[str, Column], labels: Labels | None, seed: int) -> dict[str, Column]:
    """One set of weights for all metrics; a task that does not know a metric weighs nothing in it.

    Families, where there are any, are drawn whole.
    """
    parts = [part for deltas in by_task.values() for part in (np.nan_to_num(deltas), (~np.isnan(deltas)).astype(float))]
    columns = parts if labels is None else [sum_clusters(part, labels).sums for part in parts]
    means = bootstrap_means(np.column_stack(columns), DRAWS, seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {name: means[:, 2 * place] / means[:, 2 * place + 1] for place, name in enumerate(by_task)}


def _on_suite(metric: str, baseline: ArmTable, candidate: ArmTable) -> Estimate:
    rows = align_tasks(baseline, candidate)
    after, before = (task_moments(arm, metric, logs=False) for arm in (candidate, baseline))
    shared = np.isfinite(after.means[rows[:, 1]]) & np.isfinite(before.means[rows[:, 0]])
    ours, theirs = rows[shared, 0], rows[shared, 1]
    if not len(ours):
        return unknown_estimate("no task is known in both arms", n=0, unit=Unit.RUN, method="fixed suite", point=None)
    return fixed_suite_interval(
        mean_a=after.means[theirs],
        var_a=after.variances[theirs],
        n_a=after.counts[theirs].astype(np.float64),
        mean_b=before.means[ours],
        var_b=before.variances[ours],
        n_b=before.counts[ours].astype(np.float64),
        level=LEVEL,
    )


def infer_ratios(baseline: ArmTable, candidate: ArmTable) -> dict[str, Estimate]:
    """Candidate over baseline: geometric means of task ratios, and the ratio of the costs of a pass."""
    rows, labels = align_tasks(baseline, candidate), _labels(baseline, candidate)
    found = {}
    for name, metric in RATIOS.items():
        before, after = (_mean_logs(arm, metric) for arm in (baseline, candidate))
        logs = after[rows[:, 1]] - before[rows[:, 0]]
        # A task nobody measured is left out; a zero, which has no logarithm, makes the ratio unknown.
        measured = ~np.isnan(candidate.mean_per_task(metric)[rows[:, 1]] + baseline.mean_per_task(metric)[rows[:, 0]])
        found[name] = _ratio(logs[measured], None if labels is None else labels[measured])
    found["cost_of_pass"] = _cost_of_pass_ratio(baseline, candidate)
    return found


def _ratio(logs: Column, labels: Labels | None) -> Estimate:
    if labels is None or not np.isfinite(logs).all() or len(set(labels.tolist())) < 2:
        return geometric_ratio(logs, level=LEVEL, unit=Unit.TASK)
    return exponentiate(cluster_interval(logs, labels, LEVEL), method="geometric mean ratio, clustered t on logs")


def _labels(baseline: ArmTable, candidate: ArmTable) -> Labels | None:
    """The family of every task that both arms have, where the records name families."""
    families, rows = families_of(baseline, candidate), align_tasks(baseline, candidate)
    if families is None:
        return None
    return np.array([families[baseline.tasks[place]] for place in rows[:, 0].tolist()], dtype=object)


def _mean_logs(arm: ArmTable, metric: str) -> Column:
    known = ~np.isnan(arm.columns[metric])
    return mean_logs(arm.columns[metric][known], arm.task_of[known], len(arm.tasks))


def _cost_of_pass_ratio(baseline: ArmTable, candidate: ArmTable) -> Estimate:
    rows = align_tasks(baseline, candidate)
    parts = {
        f"{role}_{side}": arm.mean_per_task(metric)[places]
        for arm, side, places in ((candidate, "a", rows[:, 1]), (baseline, "b", rows[:, 0]))
        for role, metric in (("numerators", "cost_usd"), ("denominators", "passed"))
    }
    return ratio_of_ratios_interval(**parts, level=LEVEL, unit=Unit.TASK)
