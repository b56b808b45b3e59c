"""Exact tests (Mann-Whitney, McNemar, sign test, Fisher) and p-values adjusted for many questions (Holm, Benjamini-
Hochberg).

Adjusted p-values keep the order of the input. An unknown p-value counts as 1: it is never rejected and still counts
as a question that was asked.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.distributions import binomial_cdf, binomial_sf, normal_cdf
from outweigh.stats.estimate import Alternative, Significance, Unit, combine_tails, unknown_significance
from outweigh.stats.sample import Sample, Values, as_sample, find_defect, zero_rounding_errors


def average_ranks(sample: Sample) -> Sample:
    """Rank of every value, from 1; O(n log n)."""
    _, group, sizes = np.unique(sample, return_inverse=True, return_counts=True)
    ranks: Sample = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
    return ranks


def doubled_ranks(sample: Sample) -> NDArray[np.int64]:
    """Twice the average ranks: whole numbers even with ties, so that rank sums can be counted exactly."""
    return np.rint(2 * average_ranks(sample)).astype(np.int64)


def tie_excess(sample: Sample) -> float:
    """Sum of t³ - t over groups of t tied values; rank statistics vary less by this much."""
    sizes = np.unique(sample, return_counts=True)[1].astype(np.float64)
    return float((sizes**3 - sizes).sum())


EXACT_LIMIT = 50


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


_NO_WINNER = "no pair has a winner, so there is nothing to test"


def mcnemar_exact(wins: int, losses: int, *, alternative: Alternative, unit: Unit) -> Significance:
    """Exact binomial test on the pairs in which only A passed (`wins`) or only B did (`losses`)."""
    return _binomial_test(wins, losses, alternative, unit, "McNemar exact")


def sign_test(deltas: Values, *, alternative: Alternative, unit: Unit) -> Significance:
    """Exact binomial test of positive against negative deltas; zero deltas have no winner and are left out."""
    method = "exact sign test"
    sample = as_sample(deltas)
    if defect := find_defect(sample):
        return unknown_significance(defect, n=int(sample.size), unit=unit, method=method)
    signs = np.sign(zero_rounding_errors(sample))
    return _binomial_test(int((signs > 0).sum()), int((signs < 0).sum()), alternative, unit, method)


def _binomial_test(wins: int, losses: int, alternative: Alternative, unit: Unit, method: str) -> Significance:
    n = _count_pairs(wins, losses)
    if n == 0:
        return unknown_significance(_NO_WINNER, n=n, unit=unit, method=method)
    p_value = combine_tails(binomial_cdf(wins, n, 0.5), binomial_sf(wins - 1, n, 0.5), alternative)
    return Significance(p_value=p_value, statistic=min(wins, losses), n=n, unit=unit, method=method, warnings=())


_TIE = 1 + 1e-9  # two tables with the same chance may differ by a rounding error


def fisher_exact_p(events_a: int, n_a: int, events_b: int, n_b: int) -> float:
    """Two-sided p-value of Fisher's exact test that an event is as frequent among A as among B."""
    events = events_a + events_b
    lowest, highest = max(0, events - n_b), min(events, n_a)
    logs = _log_chances(n_a, n_b, events, lowest, highest)
    chances = np.exp(logs - logs.max())
    observed = chances[events_a - lowest]
    return min(1.0, float(chances[chances <= observed * _TIE].sum() / chances.sum()))


_MANY_TABLES = 10_000


def _log_chances(n_a: int, n_b: int, events: int, lowest: int, highest: int) -> NDArray[np.float64]:
    """The log of the chance of every table, but for a constant."""
    if highest - lowest < _MANY_TABLES:
        counts = range(lowest, highest + 1)
        return np.array([_log_choose(n_a, count) + _log_choose(n_b, events - count) for count in counts])
    # From the likeliest table outwards, so that rounding errors add up where there is next to no chance.
    middle = min(max(lowest, events * n_a // (n_a + n_b)), highest)
    count = np.arange(lowest, highest, dtype=np.float64)
    steps = np.log((n_a - count) / (count + 1) * ((events - count) / (n_b - events + count + 1)))
    up, down = np.cumsum(steps[middle - lowest :]), -np.cumsum(steps[: middle - lowest][::-1])
    return np.concatenate([down[::-1], [0.0], up])


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _count_pairs(wins: int, losses: int) -> int:
    if wins < 0 or losses < 0:
        raise ValueError(f"counts are not negative, got {wins} wins and {losses} losses")
    return wins + losses


Floats = NDArray[np.float64]


def adjust_holm(p_values: Sequence[float | None]) -> Floats:
    """Step down from the smallest p-value: as safe as Bonferroni and never less powerful."""
    known = _known(p_values)
    order = np.argsort(known, kind="stable")
    steps = np.maximum.accumulate(known[order] * np.arange(len(known), 0, -1))
    return _restore_order(np.minimum(steps, 1), order)


def adjust_benjamini_hochberg(p_values: Sequence[float | None]) -> Floats:
    """Step up from the largest p-value: holds the false discovery rate, for exploring many tests."""
    known = _known(p_values)
    order = np.argsort(known, kind="stable")
    steps = known[order] * len(known) / np.arange(1, len(known) + 1)
    return _restore_order(np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1), order)


def _known(p_values: Sequence[float | None]) -> Floats:
    values = np.array([1 if p is None else p for p in p_values], dtype=np.float64)
    values[np.isnan(values)] = 1
    if ((values < 0) | (values > 1)).any():
        raise ValueError("a p-value lies between 0 and 1")
    return values


def _restore_order(adjusted: Floats, order: NDArray[np.intp]) -> Floats:
    restored = np.empty_like(adjusted)
    restored[order] = adjusted
    return restored
