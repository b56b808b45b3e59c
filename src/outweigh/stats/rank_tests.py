"""Tests on ranks: Wilcoxon's for paired deltas, Mann and Whitney's for two separate samples."""

import math

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.alternative import Alternative, combine_tails
from outweigh.stats.estimate import Significance, Unit
from outweigh.stats.ranks import average_ranks, doubled_ranks, tie_excess
from outweigh.stats.sample import Sample, Values, as_sample, clear_dust, find_defect
from outweigh.stats.special import normal_cdf
from outweigh.stats.unknown import unknown_significance

EXACT_LIMIT = 50


def wilcoxon_test(deltas: Values, *, alternative: Alternative, unit: Unit) -> Significance:
    """Signed-rank test of deltas around zero, ties included exactly up to 50; zero deltas are left out."""
    name = "Wilcoxon signed rank"
    sample = as_sample(deltas)
    if defect := find_defect(sample):
        return unknown_significance(defect, n=int(sample.size), unit=unit, method=name)
    nonzero = clear_dust(sample)
    nonzero = nonzero[nonzero != 0]
    n = int(nonzero.size)
    if n == 0:
        return unknown_significance("every delta is zero, so there is nothing to rank", n=n, unit=unit, method=name)
    sizes = np.abs(nonzero)
    positive = float(average_ranks(sizes)[nonzero > 0].sum())
    exact = n <= EXACT_LIMIT
    lower, upper = _signed_rank_tails(sizes, positive) if exact else _signed_rank_normal_tails(sizes, positive)
    two_sided = alternative is Alternative.TWO_SIDED
    return Significance(
        p_value=combine_tails(lower, upper, alternative),
        statistic=min(positive, n * (n + 1) / 2 - positive) if two_sided else positive,
        n=n,
        unit=unit,
        method=f"{name}, {'exact' if exact else 'normal approximation'}",
        warnings=(),
    )


def mann_whitney_test(a: Values, b: Values, *, alternative: Alternative, unit: Unit) -> Significance:
    """Rank test of two separate samples, ties included exactly up to 50 values each."""
    name = "Mann-Whitney U"
    sample_a, sample_b = as_sample(a), as_sample(b)
    pooled = np.concatenate([sample_a, sample_b])
    n, n_a = int(pooled.size), int(sample_a.size)
    if defect := find_defect(sample_a, sample_b):
        return unknown_significance(defect, n=n, unit=unit, method=name)
    if pooled.max() == pooled.min():
        return unknown_significance("all values are equal, so there is nothing to rank", n=n, unit=unit, method=name)
    statistic = float(average_ranks(pooled)[:n_a].sum()) - n_a * (n_a + 1) / 2
    exact = max(n_a, n - n_a) <= EXACT_LIMIT
    lower, upper = _rank_sum_tails(pooled, n_a) if exact else _rank_sum_normal_tails(pooled, n_a, statistic)
    return Significance(
        p_value=combine_tails(lower, upper, alternative),
        statistic=statistic,
        n=n,
        unit=unit,
        method=f"{name}, {'exact' if exact else 'normal approximation'}",
        warnings=(),
    )


def _signed_rank_tails(sizes: Sample, positive: float) -> tuple[float, float]:
    """Chances of a rank sum as small, and as large, when every sign is a coin toss."""
    ranks = doubled_ranks(sizes)
    chances = np.zeros(int(ranks.sum()) + 1)
    chances[0] = 1.0
    for rank in ranks:
        chances[rank:] += chances[:-rank].copy()
        chances /= 2
    return _tails(chances, round(2 * positive))


def _signed_rank_normal_tails(sizes: Sample, positive: float) -> tuple[float, float]:
    n = sizes.size
    variance = n * (n + 1) * (2 * n + 1) / 24 - tie_excess(sizes) / 48
    z = (positive - n * (n + 1) / 4) / math.sqrt(variance)
    return normal_cdf(z), normal_cdf(-z)


def _rank_sum_tails(pooled: Sample, n_a: int) -> tuple[float, float]:
    """Chances of a rank sum as small, and as large, when every choice of `n_a` of the values is equally likely."""
    ranks = doubled_ranks(pooled)
    # ways[size, total] counts the choices of `size` values whose doubled ranks add up to `total`.
    ways = np.zeros((n_a + 1, int(ranks.sum()) + 1))
    ways[0, 0] = 1.0
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, :-rank].copy()
    return _tails(ways[n_a] / math.comb(pooled.size, n_a), int(ranks[:n_a].sum()))


def _rank_sum_normal_tails(pooled: Sample, n_a: int, statistic: float) -> tuple[float, float]:
    """Normal tails with a continuity correction of one half towards the mean."""
    n, n_b = pooled.size, pooled.size - n_a
    variance = n_a * n_b / 12 * ((n + 1) - tie_excess(pooled) / (n * (n - 1)))
    distance = statistic - n_a * n_b / 2
    return normal_cdf((distance + 0.5) / math.sqrt(variance)), normal_cdf((0.5 - distance) / math.sqrt(variance))


def _tails(chances: NDArray[np.float64], observed: int) -> tuple[float, float]:
    return min(1.0, float(chances[: observed + 1].sum())), min(1.0, float(chances[observed:].sum()))
