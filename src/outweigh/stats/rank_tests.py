"""Tests of ranks: Wilcoxon for pairs, Friedman for several treatments of the same tasks, and Kruskal-Wallis and
Scheirer-Ray-Hare for separate samples.
"""

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from outweigh.stats.distributions import chi_square_sf, normal_cdf
from outweigh.stats.estimate import Alternative, Significance, Unit, combine_tails, unknown_significance
from outweigh.stats.hypothesis_tests import EXACT_LIMIT, average_ranks, doubled_ranks, tie_excess
from outweigh.stats.sample import Sample, Values, as_sample, find_defect, zero_rounding_errors

Table = NDArray[np.float64]
Groups = NDArray[np.intp]


def wilcoxon_test(deltas: Values, *, alternative: Alternative, unit: Unit) -> Significance:
    """Signed-rank test of deltas, ties included exactly up to 50 of them; zero deltas have no sign and are left out."""
    name = "Wilcoxon signed-rank"
    sample = as_sample(deltas)
    if defect := find_defect(sample):
        return unknown_significance(defect, n=int(sample.size), unit=unit, method=name)
    sample = zero_rounding_errors(sample)
    sample = sample[sample != 0]
    n = int(sample.size)
    if n == 0:
        return unknown_significance("every delta is zero, so there is nothing to rank", n=0, unit=unit, method=name)
    ranks = doubled_ranks(np.abs(sample))
    positive, negative = (int(ranks[side].sum()) for side in (sample > 0, sample < 0))
    exact = n <= EXACT_LIMIT
    lower, upper = _signed_tails(ranks, positive) if exact else _signed_normal_tails(ranks, positive)
    return Significance(
        p_value=combine_tails(lower, upper, alternative),
        statistic=min(positive, negative) / 2,
        n=n,
        unit=unit,
        method=f"{name}, {'exact' if exact else 'normal approximation'}",
        warnings=(),
    )


def _signed_tails(ranks: NDArray[np.int64], positive: int) -> tuple[float, float]:
    """Chances of a sum of positive ranks as small, and as large, when every sign is equally likely."""
    ways = np.zeros(int(ranks.sum()) + 1)
    ways[0] = 1.0
    for rank in ranks.tolist():
        ways[rank:] += ways[:-rank].copy()
    chances = ways / 2.0 ** len(ranks)
    return min(1.0, float(chances[: positive + 1].sum())), min(1.0, float(chances[positive:].sum()))


def _signed_normal_tails(ranks: NDArray[np.int64], positive: int) -> tuple[float, float]:
    """Normal tails of the sum of positive ranks, whose variance is a quarter of the sum of squared ranks."""
    deviation = math.sqrt(float((ranks.astype(np.float64) ** 2).sum()) / 4)
    distance = (positive - float(ranks.sum()) / 2) / deviation
    return normal_cdf(distance), normal_cdf(-distance)


def friedman_test(table: Table, *, unit: Unit) -> Significance:
    """Whether treatments (columns) differ on the same blocks (rows), by ranks within each block, ties included.

    Blocks that do not know every treatment are left out.
    """
    name = "Friedman"
    complete = np.asarray(table, dtype=np.float64)
    complete = complete[np.isfinite(complete).all(axis=1)]
    blocks, treatments = complete.shape
    if treatments < 2 or blocks < 2:
        reason = f"needs 2 treatments and 2 complete {unit}s, has {treatments} and {blocks}"
        return unknown_significance(reason, n=blocks, unit=unit, method=name)
    ranks = np.stack([average_ranks(_rounded(row)) for row in complete])
    ties = sum(tie_excess(_rounded(row)) for row in complete)
    correction = 1 - ties / (blocks * (treatments**3 - treatments))
    if correction <= 0:
        reason = f"all treatments are equal on every {unit}, so there is nothing to rank"
        return unknown_significance(reason, n=blocks, unit=unit, method=name)
    sums = ranks.sum(axis=0)
    raw = 12 * float((sums**2).sum()) / (blocks * treatments * (treatments + 1)) - 3 * blocks * (treatments + 1)
    return _chi_square(raw / correction, treatments - 1, blocks, unit, name)


def kruskal_wallis_test(values: Values, groups: Groups, *, unit: Unit) -> Significance:
    """Whether separate groups differ, by ranks over all values, ties included."""
    name = "Kruskal-Wallis"
    sample, owners = _known(values, groups)
    sizes = np.bincount(owners).astype(np.float64)
    sizes = sizes[sizes > 0]
    if sizes.size < 2:
        return unknown_significance("needs 2 groups with values", n=int(sample.size), unit=unit, method=name)
    between, total = _rank_squares(sample, owners)
    if total == 0:
        reason = "all values are equal, so there is nothing to rank"
        return unknown_significance(reason, n=int(sample.size), unit=unit, method=name)
    return _chi_square(between / total * (sample.size - 1), sizes.size - 1, int(sample.size), unit, name)


class TwoWayRanks(Struct, frozen=True, kw_only=True):
    """The Scheirer-Ray-Hare test: two factors and their interaction."""

    first: Significance
    second: Significance
    interaction: Significance


def scheirer_ray_hare_test(values: Values, first: Groups, second: Groups, *, unit: Unit) -> TwoWayRanks:
    """Two-way analysis of variance of ranks; its parts add up only where every cell has as many values.

    `first` and `second` have the level of each value in the two factors, from 0.
    """
    name = "Scheirer-Ray-Hare"
    sample = as_sample(values)
    known = np.isfinite(sample)
    sample, one, other = sample[known], first[known], second[known]
    cells = one * (int(other.max()) + 1 if other.size else 1) + other
    counts = np.bincount(cells)
    balanced = len(set(counts[counts > 0].tolist())) <= 1
    levels = [len(set(factor.tolist())) for factor in (one, other)]
    if min(levels, default=0) < 2 or len(set(cells.tolist())) < levels[0] * levels[1]:
        missing = unknown_significance(
            "needs two levels of both factors, and values in every cell", n=int(sample.size), unit=unit, method=name
        )
        return TwoWayRanks(first=missing, second=missing, interaction=missing)
    squares = [_rank_squares(sample, factor) for factor in (one, other, cells)]
    total = squares[0][1]
    if total == 0:
        flat = unknown_significance(
            "all values are equal, so there is nothing to rank", n=int(sample.size), unit=unit, method=name
        )
        return TwoWayRanks(first=flat, second=flat, interaction=flat)
    parts = [squares[0][0], squares[1][0], max(0.0, squares[2][0] - squares[0][0] - squares[1][0])]
    degrees = [levels[0] - 1, levels[1] - 1, (levels[0] - 1) * (levels[1] - 1)]
    doubt = () if balanced else ("cells have different numbers of values, so the parts do not add up exactly",)
    found = [
        _chi_square(part / total * (sample.size - 1), df, int(sample.size), unit, name, doubt)
        for part, df in zip(parts, degrees, strict=True)
    ]
    return TwoWayRanks(first=found[0], second=found[1], interaction=found[2])


def _known(values: Values, groups: Groups) -> tuple[Sample, Groups]:
    sample = as_sample(values)
    known = np.isfinite(sample)
    return sample[known], groups[known]


def _rank_squares(sample: Sample, owners: Groups) -> tuple[float, float]:
    """The sums of squares of ranks between groups, and in total."""
    ranks = average_ranks(_rounded(sample))
    centred = ranks - ranks.mean()
    sizes = np.bincount(owners)
    sums = np.bincount(owners, centred)
    return float((sums**2 / np.maximum(sizes, 1)).sum()), float((centred**2).sum())


def _rounded(values: Sample) -> Sample:
    """Values whose rounding errors do not break ties: means of the same numbers may differ in their last digit."""
    return np.round(values, 12)


def _chi_square(
    statistic: float, df: int, n: int, unit: Unit, name: str, warnings: tuple[str, ...] = ()
) -> Significance:
    return Significance(
        p_value=chi_square_sf(statistic, df),
        statistic=statistic,
        n=n,
        unit=unit,
        method=f"{name}, chi-square with {df} degrees of freedom",
        warnings=warnings,
    )
