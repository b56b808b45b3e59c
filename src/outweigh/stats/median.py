"""Medians with an interval made of two order statistics, which assumes nothing about the distribution."""

import math
from bisect import bisect_right

import numpy as np

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.sample import Sample, Values, as_sample, find_defect, has_no_spread
from outweigh.stats.special import binomial_cdf
from outweigh.stats.unknown import unknown_estimate

_METHOD = "median, exact order statistics"
# Levels such as 0.99 are not exact in binary; a rank may not be lost to that.
_SLACK = 1 + 1e-9


def median_interval(values: Values, *, level: float, unit: Unit) -> Estimate:
    """Median with the narrowest symmetric order-statistic interval; its level is the confidence achieved."""
    sample = as_sample(values)
    n = int(sample.size)
    if defect := find_defect(sample):
        return unknown_estimate(defect, n=n, unit=unit, method=_METHOD, point=None)
    rank = lower_rank(n, level)
    point, low, high = _order_statistics(sample, rank)
    if rank > 0 and has_no_spread(np.array([low, high]), float(np.abs(sample).max())):
        reason = f"the values of ranks {rank} and {n + 1 - rank} are tied, so the interval would have no width"
        return unknown_estimate(reason, n=n, unit=unit, method=_METHOD, point=point)
    needed = f"need >= {sample_size_needed(level)} {unit}s for a {level:.4g} interval of the median, have {n}"
    return Estimate(
        point=point,
        interval=Interval(low=low, high=high, level=achieved_level(n, rank), method=_describe_ranks(n, rank)),
        standard_error=None,
        n=n,
        unit=unit,
        method=_METHOD,
        warnings=() if rank > 0 else (needed,),
    )


def lower_rank(n: int, level: float) -> int:
    """The rank k whose interval (k, n + 1 - k) has at least this confidence; 0 when no rank has."""
    return bisect_right(range(1, n // 2 + 1), (1 - level) * _SLACK, key=lambda rank: _miss_chance(n, rank))


def achieved_level(n: int, rank: int) -> float:
    """The chance that the median of the population lies between the values of ranks k and n + 1 - k."""
    return 1 - _miss_chance(n, rank)


def sample_size_needed(level: float) -> int:
    """The fewest values whose smallest and largest enclose the median with this confidence."""
    return max(1, math.ceil(1 - math.log2((1 - level) * _SLACK)))


def _miss_chance(n: int, rank: int) -> float:
    return 2 * binomial_cdf(rank - 1, n, 0.5)


def _order_statistics(sample: Sample, rank: int) -> tuple[float, float, float]:
    """The median and the values of ranks k and n + 1 - k; rank 0 has no value and cannot bound anything."""
    n = int(sample.size)
    lower_middle, upper_middle = (n - 1) // 2, n // 2
    ends = [rank - 1, n - rank] if rank > 0 else []
    ordered = np.partition(sample, [lower_middle, upper_middle, *ends])
    # Halved before adding, because the sum of the largest floats overflows.
    point = float(ordered[lower_middle] / 2 + ordered[upper_middle] / 2)
    if rank == 0:
        return point, -math.inf, math.inf
    return point, float(ordered[rank - 1]), float(ordered[n - rank])


def _describe_ranks(n: int, rank: int) -> str:
    return f"ranks {rank} and {n + 1 - rank} of {n}" if rank > 0 else "unbounded"
