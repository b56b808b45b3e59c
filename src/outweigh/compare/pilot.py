"""What a pilot says about the next experiment: where the variance of a task's delta lies, and what a run costs."""

from collections.abc import Iterator
from math import sqrt

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_summary import ArmSummary
from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import task_families
from outweigh.compare.task_alignment import places_of_shared_tasks
from outweigh.compare.task_variance import select_tasks, shared_moments
from outweigh.errors import EvidenceError
from outweigh.stats.power import DesignPrices
from outweigh.stats.variance import TaskMoments, VarianceComponents, estimate_components

ROUGH_BELOW = 20
SPARSE_BELOW = 5
# Differences of equal runs leave dust of this size, which is no difference.
DELTA_ROUNDING = 1e-12


class Pilot(Struct, frozen=True, kw_only=True):
    """`tasks` know the metric in both arms; `repeats` is the typical number of their runs in one arm."""

    baseline: str
    candidate: str
    tasks: int
    repeats: int
    components: VarianceComponents
    evidence_sha256: str
    warnings: tuple[str, ...]


def read_pilot(comparison: Comparison, metric: str, *, logs: bool) -> Pilot:
    """Separate the variance of a metric's deltas; refuse records that show no variance or cannot separate it."""
    before, after = _shared_moments(comparison, metric, logs=logs)
    called = metric.removeprefix("deciding_")  # which judges may decide is no part of the name
    components, counts = estimate_components(after, before), np.concatenate([before.counts, after.counts])
    if components.tasks < 2:
        raise EvidenceError(
            f"tasks with a known {called} in both arms: {components.tasks}. Variance between tasks needs at least 2, "
            "and a useful plan 10 or more. Run more tasks, or state the variances with --components."
        )
    if components.true_deltas is None and counts.max() > 1:
        raise EvidenceError(
            "one arm ran every task once and the other did not, so repeat noise cannot be separated from differences "
            "between tasks. Run every task at least twice in both arms, or state the variances with --components."
        )
    if _total(components) <= DELTA_ROUNDING**2:
        raise EvidenceError(
            f"{called} differs by the same amount on every task, run after run, so the pilot does not show how far "
            "another one could be off. Run more tasks, or state the variances with --components."
        )
    return Pilot(
        baseline=comparison.baseline.name,
        candidate=comparison.candidate.name,
        tasks=components.tasks,
        repeats=int(np.median(counts)),
        components=components,
        evidence_sha256=comparison.evidence_sha256,
        warnings=tuple(_warnings(comparison, before, after, components, logs=logs)),
    )


def price_pilot(comparison: Comparison, task_usd: float) -> tuple[DesignPrices | None, tuple[str, ...]]:
    """What tasks and runs cost, by each arm's mean, and what to know about it; None where an arm's cost is unknown."""
    baseline, candidate = (arm.metrics["cost_usd"].mean for arm in (comparison.baseline, comparison.candidate))
    warnings = tuple(note for arm in (comparison.baseline, comparison.candidate) for note in _cost_doubts(arm))
    if baseline is None or candidate is None:
        return None, warnings
    return DesignPrices(task_usd=task_usd, candidate_run_usd=candidate, baseline_run_usd=baseline), warnings


def _shared_moments(comparison: Comparison, metric: str, *, logs: bool) -> tuple[TaskMoments, TaskMoments]:
    """Both arms' moments of the tasks that know the metric in both; by ratio, a zero is not known."""
    arms = comparison.baseline_table, comparison.candidate_table
    places = places_of_shared_tasks(*arms)
    before, after = (shared_moments(arm, metric, where, logs=logs) for arm, where in zip(arms, places, strict=True))
    known = np.isfinite(before.means) & np.isfinite(after.means)
    return select_tasks(before, known), select_tasks(after, known)


def _total(components: VarianceComponents) -> float:
    known = (components.observed_deltas, components.candidate_runs, components.baseline_runs)
    return sum(variance for variance in known if variance is not None)


def _warnings(
    comparison: Comparison, before: TaskMoments, after: TaskMoments, components: VarianceComponents, *, logs: bool
) -> Iterator[str]:
    yield from comparison.warnings
    if lost := len(comparison.tasks) - components.tasks:
        yield f"{lost} of {len(comparison.tasks)} tasks are left out: the metric is unknown in one of the arms."
    yield from (f"{warning}." for warning in components.warnings)
    if components.true_deltas == 0:
        yield "without any variance between tasks, designs with many repeats look better than they may be."
    counts = np.concatenate([before.counts, after.counts])
    if counts.min() < counts.max():
        median = int(np.median(counts))
        yield f"tasks have {counts.min()} to {counts.max()} runs per arm; the plan uses the median, {median}."
    if components.tasks < ROUGH_BELOW:
        error = 1 / sqrt(2 * (components.tasks - 1))
        yield (
            f"the variance between {components.tasks} tasks is a rough estimate: its square root may be off by about "
            f"{100 * error:.0f} %, so the ranges are wide."
        )
    moved = int(np.count_nonzero(np.abs(after.means - before.means) > DELTA_ROUNDING))
    if not logs and moved < SPARSE_BELOW:
        yield f"the arms differ on {moved} tasks only, so showing an effect may take more tasks than planned."
    families = task_families(comparison.baseline_table, comparison.candidate_table)
    if families is not None:
        number = len(set(families.values()))
        yield f"the tasks come from {number} families; the plan assumes independent tasks, so add families too."


def _cost_doubts(arm: ArmSummary) -> Iterator[str]:
    cost = arm.metrics["cost_usd"]
    if cost.mean is None:
        yield f"costs are unknown: no run of {arm.name} has a known cost. Set one with --run-cost USD."
    elif cost.unknown:
        yield f"the cost of {cost.unknown} of {arm.runs} runs of {arm.name} is unknown; the mean of the others is used."
