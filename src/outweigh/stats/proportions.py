"""Success rates and differences of rates: one rate, two independent ones, paired ones; dominance and Cliff's delta.

Wald's interval is absent on purpose: it is (0, 0) after no success.
"""

import math
from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from outweigh.stats.distributions import normal_quantile, t_quantile
from outweigh.stats.estimate import Estimate, Interval, Unit, unknown_estimate
from outweigh.stats.jackknife import FEWEST_TASKS, few_tasks_reason, warn_of_few_tasks
from outweigh.stats.means import t_estimate
from outweigh.stats.sample import Sample, Values, as_sample, find_defect, zero_rounding_errors
from outweigh.stats.variance import sum_clusters


def wilson_interval(successes: int, n: int, *, level: float, unit: Unit) -> Estimate:
    """Wilson's score interval around the observed rate."""
    method = "Wilson score"
    if n == 0:
        return _no_trials(unit, method)
    _require_count(successes, n)
    low, high = _wilson_ends(successes / n, n, normal_quantile((1 + level) / 2))
    return _rate_estimate(successes, n, Interval(low=low, high=high, level=level, method=method), unit)


def _wilson_ends(rate: float, n: float, z: float) -> tuple[float, float]:
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return centre - half if rate > 0 else 0.0, centre + half if rate < 1 else 1.0


def clustered_rate_interval(passed: Sequence[bool], tasks: Sequence[str], *, level: float) -> Estimate:
    """The rate over all items, with Wilson's interval for as many independent items as its spread over tasks is worth.

    With n items whose clustered variance is v, that is rate·(1 - rate) / v and at most n. Where nothing varies, no
    item says more than its task, so it is the number of tasks. Student's t on T - 1 degrees of freedom replaces z.
    """
    method = "rate, Wilson score with the effective number of items"
    clusters = sum_clusters(passed, tasks)
    count = int(clusters.sizes.size)
    if not passed:
        return _no_trials(Unit.TASK, method)
    if count < FEWEST_TASKS:
        return unknown_estimate(few_tasks_reason(count), n=count, unit=Unit.TASK, method=method, point=clusters.mean)
    n, rate = float(clusters.sizes.sum()), clusters.mean
    variance = count / (count - 1) * float((clusters.residuals**2).sum()) / n**2
    effective = min(rate * (1 - rate) / variance, n) if variance > 0 and 0 < rate < 1 else float(count)
    low, high = _wilson_ends(rate, effective, t_quantile((1 + level) / 2, count - 1))
    return Estimate(
        point=rate,
        interval=Interval(low=low, high=high, level=level, method="clustered Wilson score"),
        standard_error=math.sqrt(variance) if variance > 0 else None,
        n=count,
        unit=Unit.TASK,
        method=method,
        warnings=warn_of_few_tasks(count),
    )


def _rate_estimate(successes: int, n: int, interval: Interval, unit: Unit) -> Estimate:
    rate = successes / n
    return Estimate(
        point=rate,
        interval=interval,
        # After only passes or only failures the plug-in error would be a false zero.
        standard_error=math.sqrt(rate * (1 - rate) / n) if 0 < successes < n else None,
        n=n,
        unit=unit,
        method=interval.method,
        warnings=(),
    )


def _no_trials(unit: Unit, method: str) -> Estimate:
    return unknown_estimate("no trials", n=0, unit=unit, method=method, point=None)


def _require_count(successes: int, n: int) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} trials is impossible")


_NEWCOMBE_METHOD = "Newcombe's hybrid of two Wilson intervals"


def proportion_difference_interval(
    successes: int, n: int, reference_successes: int, reference_n: int, *, level: float, unit: Unit
) -> Estimate:
    """How far a proportion lies above its reference; it holds for few trials, and where all or none succeed."""
    mine = wilson_interval(successes, n, level=level, unit=unit)
    theirs = wilson_interval(reference_successes, reference_n, level=level, unit=unit)
    trials = n + reference_n
    if mine.point is None or theirs.point is None or mine.interval is None or theirs.interval is None:
        return unknown_estimate("one side has no trial", n=trials, unit=unit, method=_NEWCOMBE_METHOD, point=None)
    difference = mine.point - theirs.point
    below = sqrt((mine.point - mine.interval.low) ** 2 + (theirs.interval.high - theirs.point) ** 2)
    above = sqrt((mine.interval.high - mine.point) ** 2 + (theirs.point - theirs.interval.low) ** 2)
    return Estimate(
        point=difference,
        interval=Interval(low=difference - below, high=difference + above, level=level, method=_NEWCOMBE_METHOD),
        standard_error=None,
        n=trials,
        unit=unit,
        method=_NEWCOMBE_METHOD,
        warnings=(),
    )


_TANGO_METHOD = "paired difference of rates, Tango score"


def paired_difference_interval(wins: int, losses: int, n: int, *, level: float, unit: Unit) -> Estimate:
    """(wins - losses) / n with Tango's score interval, which keeps a width even when nobody won a pair."""
    if n == 0:
        return unknown_estimate("no pairs", n=0, unit=unit, method=_TANGO_METHOD, point=None)
    if min(wins, losses) < 0 or wins + losses > n:
        raise ValueError(f"{wins} wins and {losses} losses of {n} pairs is impossible")
    z = normal_quantile((1 + level) / 2)
    point = (wins - losses) / n
    high = _upper_end(wins, losses, n, z)
    low = -_upper_end(losses, wins, n, z)
    variance = (wins + losses - (wins - losses) ** 2 / n) / n**2
    return Estimate(
        point=point,
        interval=Interval(low=low, high=high, level=level, method="Tango score"),
        standard_error=math.sqrt(variance) if wins + losses > 0 and abs(wins - losses) < n else None,
        n=n,
        unit=unit,
        method=_TANGO_METHOD,
        warnings=(),
    )


def _upper_end(wins: int, losses: int, n: int, z: float) -> float:
    """The largest difference that the score test does not reject."""
    point = (wins - losses) / n
    if point == 1:
        return 1.0
    return _bisect(lambda difference: _score(wins, losses, n, difference) > -z, point, 1.0)


def _score(wins: int, losses: int, n: int, difference: float) -> float:
    """Standardised distance of the observed from a supposed difference, given the likeliest loss rate under it."""
    a = 2 * n
    b = -wins - losses + (2 * n - wins + losses) * difference
    c = -losses * difference * (1 - difference)
    loss_rate = (math.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)
    variance = n * (2 * loss_rate + difference * (1 - difference))
    distance = wins - losses - n * difference
    return distance / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, distance)


def _bisect(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where a condition that holds at `inside` stops holding on the way to `outside`."""
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside


Counts = NDArray[np.int64]

_CLIFF_METHOD = "Cliff's delta, DeLong placement error, t with Satterthwaite df"


def dominance(deltas: Values, *, level: float, unit: Unit) -> Estimate:
    """P(delta > 0) - P(delta < 0) over tasks, with a score interval."""
    sample = as_sample(deltas)
    n, method = int(sample.size), "dominance, Tango score"
    if defect := find_defect(sample):
        return unknown_estimate(defect, n=n, unit=unit, method=method, point=None)
    signs = np.sign(zero_rounding_errors(sample))
    wins, losses = int((signs > 0).sum()), int((signs < 0).sum())
    return replace(paired_difference_interval(wins, losses, n, level=level, unit=unit), method=method)


def cliff_delta(a: Values, b: Values, *, level: float, unit: Unit) -> Estimate:
    """P(A > B) - P(A < B) over separate samples; O(n log n)."""
    sample_a, sample_b = as_sample(a), as_sample(b)
    n = int(sample_a.size + sample_b.size)
    if defect := find_defect(sample_a, sample_b):
        return unknown_estimate(defect, n=n, unit=unit, method=_CLIFF_METHOD, point=None)
    dominated, dominating = _placements(sample_a, sample_b), -_placements(sample_b, sample_a)
    # Whole numbers are added up exactly, so samples that balance differ by 0 and not by a rounding error.
    point = int(dominated.sum()) / (sample_a.size * sample_b.size)
    placements = [dominated / sample_b.size, dominating / sample_a.size]
    if reason := _cliff_defect(placements):
        return unknown_estimate(reason, n=n, unit=unit, method=_CLIFF_METHOD, point=point)
    parts = np.array([float(placement.var(ddof=1)) / placement.size for placement in placements])
    freedoms = np.array([placement.size - 1 for placement in placements])
    df = float(parts.sum() ** 2 / (parts**2 / freedoms).sum())
    error = math.sqrt(float(parts.sum()))
    return _within_unit(t_estimate(point, error, df=df, level=level, n=n, unit=unit, method=_CLIFF_METHOD))


def _placements(values: Sample, others: Sample) -> Counts:
    """For each value, from the lowest to the highest, how many of the others are below it minus how many above it."""
    # Looking up values in their order is ten times as fast as in any other, because each is near the one before.
    ordered, values = np.sort(others), np.sort(values)
    below, up_to = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    counts: Counts = below + up_to - others.size
    return counts


def _cliff_defect(placements: list[Sample]) -> str | None:
    if min(placement.size for placement in placements) < 2:
        return "need >= 2 values in each sample for an interval"
    if all(placement.max() == placement.min() for placement in placements):
        return "the samples do not overlap or are all tied, so the data do not show how far delta could be off"
    return None


def _within_unit(estimate: Estimate) -> Estimate:
    """Cut the interval at -1 and 1, beyond which no delta can lie."""
    interval = estimate.interval
    if interval is None:
        return estimate
    cut = replace(interval, low=max(-1.0, interval.low), high=min(1.0, interval.high))
    return replace(estimate, interval=cut)
