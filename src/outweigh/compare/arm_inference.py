"""How sure the rates of one arm are."""

from dataclasses import replace
from math import isfinite

import numpy as np

from outweigh.compare.arm_table import ArmTable, Column
from outweigh.stats.bootstrap import bootstrap_means
from outweigh.stats.bootstrap_interval import expanded_percentile_interval
from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.mean import mean_interval
from outweigh.stats.proportion import wilson_interval
from outweigh.stats.ratio import fieller_interval, ratio_interval

LEVEL = 0.95
DRAWS = 10_000
RELIABILITY_KS = (1, 3, 5)


def pass_rate_estimate(arm: ArmTable) -> Estimate:
    """Wilson for one run per task, or where every task always did the same; else the task means are observations."""
    attempts, means = arm.known_per_task("passed"), arm.mean_per_task("passed")
    means = means[~np.isnan(means)]
    alike = means.size > 0 and means.min() == means.max() and means.max() in (0.0, 1.0)
    if alike or (attempts.size and attempts.max() == 1):
        return wilson_interval(int(means.sum()), int(means.size), level=LEVEL, unit=Unit.TASK)
    return _within_rate(mean_interval(means, level=LEVEL, unit=Unit.TASK))


def cost_of_pass_estimate(arm: ArmTable) -> Estimate:
    """Pooled dollars per pass with a log-scale interval, and a warning where Fieller's exact one has no end."""
    cost, passed = arm.mean_per_task("cost_usd"), arm.mean_per_task("passed")
    known = ~np.isnan(cost) & ~np.isnan(passed)
    estimate = ratio_interval(cost[known], passed[known], level=LEVEL, unit=Unit.TASK)
    exact = fieller_interval(cost[known], passed[known], level=LEVEL, unit=Unit.TASK).interval
    if estimate.interval is None or exact is None or isfinite(exact.high):
        return estimate
    doubt = "passes are so rare that the cost of one cannot be bounded from above"
    return replace(estimate, warnings=(*estimate.warnings, doubt))


def _within_rate(estimate: Estimate) -> Estimate:
    """A rate lies between 0 and 1, and so does what we say about it."""
    inside = estimate.interval
    if inside is None:
        return estimate
    return replace(estimate, interval=replace(inside, low=max(0.0, inside.low), high=min(1.0, inside.high)))


def reliability_intervals(arm: ArmTable, seed: int, *, every: bool) -> dict[int, Interval | None]:
    """Task bootstrap of pass^k (every) or pass@k, for the usual k that all tasks can answer."""
    attempts, passes = arm.known_per_task("passed").astype(np.float64), arm.sum_per_task("passed")
    ks = [k for k in RELIABILITY_KS if attempts.size > 1 and k <= attempts.min()]
    if not ks:
        return {}
    columns = np.column_stack([_k_of_task(attempts, passes, k, every=every) for k in ks])
    draws = bootstrap_means(columns, DRAWS, seed)
    return {
        k: expanded_percentile_interval(draws[:, place], float(columns[:, place].mean()), len(attempts), LEVEL).interval
        for place, k in enumerate(ks)
    }


def _k_of_task(attempts: Column, passes: Column, k: int, *, every: bool) -> Column:
    hits = passes if every else attempts - passes
    chance = np.ones(len(attempts))
    for drawn in range(k):
        chance *= np.maximum(hits - drawn, 0) / (attempts - drawn)
    return chance if every else 1.0 - chance
