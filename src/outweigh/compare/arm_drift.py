"""Whether an arm still performs as it did: runs of the same arm and tasks, then and now."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from outweigh.compare.arm_table import align_tasks
from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import task_deltas
from outweigh.stats.estimate import Unit, excludes
from outweigh.stats.means import mean_interval
from outweigh.stats.sample import has_no_spread

DRIFT_LEVEL = 0.99
"""Per metric, so that the three together raise a false alarm in at most three checks of a hundred."""
DRIFT_METRICS = {
    "passed": "the pass rate",
    "duration_seconds": "the duration",
    "non_cache_tokens": "the non-cache tokens",
}
FEWEST_TASKS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmDrift:
    """What moved, in words, and on how many tasks that rests; no finding is no proof that nothing moved."""

    findings: tuple[str, ...]
    tasks: int


def find_arm_drift(comparison: Comparison) -> ArmDrift:
    """Compare then (the baseline) with now (the candidate), task by task."""
    shared = len(align_tasks(comparison.baseline_table, comparison.candidate_table))
    return ArmDrift(findings=tuple(_findings(comparison)), tasks=shared)


def _findings(comparison: Comparison) -> Iterator[str]:
    for metric, words in DRIFT_METRICS.items():
        deltas = task_deltas(metric, comparison.baseline_table, comparison.candidate_table)
        if len(deltas) < FEWEST_TASKS:
            continue
        moved = float(np.mean(deltas))
        estimate = mean_interval(deltas, level=DRIFT_LEVEL, unit=Unit.TASK)
        # Where every task moved alike there is no interval, and nothing could be plainer.
        alike = metric == "passed" and has_no_spread(deltas, 1.0) and abs(moved) > 0
        if alike or excludes(estimate.interval, 0.0):
            before = float(np.nanmean(comparison.baseline_table.mean_per_task(metric)))
            yield f"{words} moved by {moved:+.4g} on {len(deltas)} tasks, from {before:.4g}"
