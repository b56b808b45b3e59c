"""The figures of a tier or a configuration, each with its interval over tasks, or with the reason why it has none."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from outweigh.compare.arm_table import Column
from outweigh.score.metrics import METRICS_BY_NAME
from outweigh.score.objective import NO_CHANGES, Change
from outweigh.stats.estimate import Estimate, Interval, Unit, unknown_estimate
from outweigh.stats.means import mean_interval
from outweigh.stats.proportions import wilson_interval
from outweigh.stats.ratios import fieller_interval, ratio_interval
from outweigh.stats.variance import cluster_interval, sum_clusters, warn_of_few_clusters

LEVEL = 0.95
FIGURES = {
    "pass_rate": "passed",
    "composite": "composite",
    "judge_score": "judge_score",
    "cost_usd": "cost_usd",
    "duration_seconds": "duration_seconds",
    "total_tokens": "total_tokens",
    "r_prog": "r_prog",
    "strategic_drift": "strategic_drift",
    "schema_overhead": "schema_overhead",
    "skill_efficiency": "skill_efficiency",
    "token_efficiency_ratio": "token_efficiency_ratio",
}
"""Figures that are means over tasks, with the metric that each is the mean of."""
_WITHIN_ONE = frozenset({"pass_rate", "composite", "judge_score", "r_prog", "strategic_drift", "skill_efficiency"})


def figures_of(
    values: Mapping[str, Column],
    families: Sequence[str] | None,
    changes: Collection[Change],
    reasons: Mapping[str, str],
) -> dict[str, Estimate]:
    """Every figure of one tier or configuration, from its means by task. `reasons` says why a metric is unknown."""
    others = [name for name in values if name not in METRICS_BY_NAME and name != "deciding_judge_score"]
    named = {**FIGURES, **dict.fromkeys(others)}
    found = {}
    for figure, metric in named.items():
        known = _mean(values[metric or figure], families, rate=figure in _WITHIN_ONE)
        found[figure] = known if known.point is not None else _because(known, reasons.get(metric or figure))
    found["cost_of_pass_usd"] = _cost_of_pass(values, families)
    found["cfp"] = _share_of_changes(changes, [change.failed for change in changes])
    found["pr_revert_rate"] = _share_of_changes(changes, [change.reverted for change in changes])
    return found


def _mean(column: Column, families: Sequence[str] | None, *, rate: bool) -> Estimate:
    known = ~np.isnan(column)
    means = column[known]
    labels = [] if families is None else [family for family, is_known in zip(families, known, strict=True) if is_known]
    if rate and means.size and means.min() == means.max() and means.max() in (0.0, 1.0):
        # Tasks that all did the same show no spread, and yet how rare anything else is.
        count, unit = (means.size, Unit.TASK) if families is None else (len(set(labels)), Unit.CLUSTER)
        return wilson_interval(int(means[0]) * count, count, level=LEVEL, unit=unit)
    if len(set(labels)) > 1:
        estimate = cluster_interval(means, labels, LEVEL)
    else:
        estimate = mean_interval(means, level=LEVEL, unit=Unit.TASK)
        if estimate.interval is not None:
            estimate = replace(estimate, warnings=_few(means.size))
    return _within_one(estimate) if rate else estimate


def _few(tasks: int) -> tuple[str, ...]:
    return tuple(warning.replace("clusters", "tasks") for warning in warn_of_few_clusters(tasks))


def _within_one(estimate: Estimate) -> Estimate:
    inside = estimate.interval
    if inside is None:
        return estimate
    ends = Interval(low=max(0.0, inside.low), high=min(1.0, inside.high), level=inside.level, method=inside.method)
    return replace(estimate, interval=ends)


def _because(estimate: Estimate, reason: str | None) -> Estimate:
    return estimate if reason is None else replace(estimate, warnings=(reason,))


def _cost_of_pass(values: Mapping[str, Column], families: Sequence[str] | None) -> Estimate:
    """Mean cost over pass rate, each task with equal weight, by the delta method on logs."""
    cost, passed = values["cost_usd"], values["passed"]
    known = ~np.isnan(cost) & ~np.isnan(passed)
    if not known.any():
        return unknown_estimate(
            "the cost, or whether runs pass, is unknown", n=0, unit=Unit.TASK, method="ratio of sums", point=None
        )
    costs, passes = cost[known], passed[known]
    if passes.sum() == 0:
        return unknown_estimate(
            "no run passes, so no price buys a pass", n=int(known.sum()), unit=Unit.TASK, method="ratio", point=None
        )
    unit = Unit.TASK
    if families is not None:
        labels = [family for family, is_known in zip(families, known, strict=True) if is_known]
        if len(set(labels)) > 1:
            costs, passes, unit = sum_clusters(costs, labels).sums, sum_clusters(passes, labels).sums, Unit.CLUSTER
    estimate = ratio_interval(costs, passes, level=LEVEL, unit=unit)
    exact = fieller_interval(costs, passes, level=LEVEL, unit=unit).interval
    if estimate.interval is None or exact is None or np.isfinite(exact.high):
        return estimate
    doubt = "passes are so rare that the cost of one cannot be bounded from above"
    return replace(estimate, warnings=(*estimate.warnings, doubt))


def _share_of_changes(changes: Collection[Change], outcomes: Sequence[bool]) -> Estimate:
    """The share of changes, which belong to no task: each change is one observation."""
    if not changes:
        return unknown_estimate(NO_CHANGES.reason or "", n=0, unit=Unit.ITEM, method="Wilson score", point=None)
    return wilson_interval(sum(outcomes), len(outcomes), level=LEVEL, unit=Unit.ITEM)
