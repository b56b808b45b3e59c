"""How far judges agree beyond chance: Krippendorff's alpha, with missing ratings allowed, and Cohen's kappa of two."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.distributions import normal_cdf, t_quantile
from outweigh.stats.estimate import Estimate, Interval, Unit, unknown_estimate
from outweigh.stats.sample import Sample, has_no_spread

if TYPE_CHECKING:
    from numpy.random import Generator  # loaded only where random numbers are drawn

RESAMPLES = 2_000
Ratings = Sequence[Sequence[float | None]] | NDArray[np.float64]


class MeasurementScale(StrEnum):
    """What the distance between two ratings means."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """The ratings of the items that at least two judges rated; a code is the place of a value among the values."""

    items: NDArray[np.intp]
    codes: NDArray[np.intp]
    values: Sample
    ratings_per_item: Sample
    disagreeing_pairs: Sample


def krippendorff_alpha(ratings: Ratings, *, scale: MeasurementScale, level: float, rng: "Generator") -> Estimate:
    """Alpha of ratings[judge][item], NaN or None where missing, with a bootstrap interval over items."""
    method = f"Krippendorff alpha, {scale}"
    matrix = np.asarray(ratings, dtype=np.float64)
    if np.isinf(matrix).any():
        return unknown_estimate("a rating is infinite", n=0, unit=Unit.ITEM, method=method, point=None)
    table = _tabulate(matrix)
    n = int(table.ratings_per_item.size)
    if n == 0:
        return unknown_estimate("no item has two ratings", n=n, unit=Unit.ITEM, method=method, point=None)
    point = _weighted_alpha(table, scale, np.ones(n))
    if math.isnan(point):
        reason = "all ratings are the same value, so there is no disagreement to compare with"
        return unknown_estimate(reason, n=n, unit=Unit.ITEM, method=method, point=None)
    interval, warnings = _bootstrap_interval(table, scale, level, rng)
    return Estimate(
        point=point, interval=interval, standard_error=None, n=n, unit=Unit.ITEM, method=method, warnings=warnings
    )


def _tabulate(matrix: Sample) -> _Table:
    by_item = matrix.T[(~np.isnan(matrix)).sum(axis=0) >= 2]
    items, judges = np.nonzero(~np.isnan(by_item))
    values, codes = np.unique(by_item[items, judges], return_inverse=True)
    cells, counts = np.unique(items * values.size + codes, return_counts=True)
    per_item = np.bincount(items, minlength=len(by_item)).astype(np.float64)
    agreeing = np.bincount(cells // max(values.size, 1), weights=counts.astype(np.float64) ** 2, minlength=len(by_item))
    return _Table(
        items=items,
        codes=codes,
        values=values,
        ratings_per_item=per_item,
        disagreeing_pairs=per_item**2 - agreeing,
    )


def _weighted_alpha(table: _Table, scale: MeasurementScale, weights: Sample) -> float:
    """1 - observed / expected disagreement with each item counted `weights` times; NaN when none is expected."""
    totals = _total_by_value(table, weights)
    if np.count_nonzero(totals) < 2:
        return math.nan
    within, overall = _disagreement(table, scale, totals)
    observed = float((weights * within / (table.ratings_per_item - 1)).sum())
    return 1 - (float(totals.sum()) - 1) * observed / overall


def _total_by_value(table: _Table, weights: Sample) -> Sample:
    return np.bincount(table.codes, weights[table.items], table.values.size).astype(np.float64)


def _disagreement(table: _Table, scale: MeasurementScale, totals: Sample) -> tuple[Sample, float]:
    """Sum over pairs of their distance, within each item and over all ratings."""
    if scale is MeasurementScale.NOMINAL:
        return table.disagreeing_pairs, float(totals.sum() ** 2 - (totals**2).sum())
    return _squared_distances(table, totals, _positions(table.values, totals, scale))


def _positions(values: Sample, totals: Sample, scale: MeasurementScale) -> Sample:
    """Where each value lies on a line: at itself, or for ordinal ratings at its mean rank among all ratings."""
    return values if scale is MeasurementScale.INTERVAL else np.cumsum(totals) - totals / 2


def _squared_distances(table: _Table, totals: Sample, positions: Sample) -> tuple[Sample, float]:
    """Sum over pairs of squared distances, within each item and over all ratings, each pair counted once."""
    ratings, sizes = positions[table.codes], table.ratings_per_item
    deviations = ratings - (np.bincount(table.items, weights=ratings) / sizes)[table.items]
    centred = positions - np.average(positions, weights=totals)
    return sizes * np.bincount(table.items, weights=deviations**2), float(totals.sum() * (totals * centred**2).sum())


def _bootstrap_interval(
    table: _Table, scale: MeasurementScale, level: float, rng: "Generator"
) -> tuple[Interval | None, tuple[str, ...]]:
    """Alpha over resampled items, corrected for what resampling does to the expected disagreement."""
    n = int(table.ratings_per_item.size)
    if n < 2:
        return None, (f"need >= 2 items for an interval, have {n}",)
    resamples = (np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64) for _ in range(RESAMPLES))
    alphas = np.array([_weighted_alpha(table, scale, weights) for weights in resamples])
    alphas = 1 - (1 - alphas) * _resampling_bias(table, scale)
    return _item_interval(alphas, "alpha", n, level)


def _item_interval(draws: Sample, statistic: str, items: int, level: float) -> tuple[Interval | None, tuple[str, ...]]:
    """Expanded percentiles of the draws: plain percentiles are too narrow for few items."""
    known = draws[~np.isnan(draws)]
    lost = f"{draws.size - known.size} of {draws.size} resamples had a single rating value and were left out"
    if known.size < draws.size / 2:
        return None, (lost,)
    tail = normal_cdf(-math.sqrt(items / (items - 1)) * t_quantile((1 + level) / 2, items - 1))
    low, high = (float(end) for end in np.quantile(known, [tail, 1 - tail]))
    if has_no_spread(np.array([low, high]), 1.0):
        return None, (f"{statistic} is the same in every resample, so the data do not show how far it could be off",)
    warnings = (lost,) if known.size < draws.size else ()
    return Interval(low=low, high=high, level=level, method="item bootstrap, expanded percentile"), warnings


def _resampling_bias(table: _Table, scale: MeasurementScale) -> float:
    """The factor by which resampling items changes the expected disagreement on average.

    Two items meet in a resample 1 - 1/n times as often as in the data, an item and its own copies 2 - 1/n times.
    """
    n = int(table.ratings_per_item.size)
    within, overall = _disagreement(table, scale, _total_by_value(table, np.ones(n)))
    return 1 - 1 / n + float(within.sum()) / overall


KAPPA_METHOD = "Cohen kappa"
Codes = NDArray[np.intp]


def cohen_kappa(one: Sequence[float], other: Sequence[float], *, level: float, rng: "Generator") -> Estimate:
    """(observed - expected) / (1 - expected) agreement on the same items, with a bootstrap interval over items."""
    if len(one) != len(other):
        raise ValueError(f"two raters rate the same items, got {len(one)} and {len(other)} ratings")
    n = len(one)
    if n == 0:
        return unknown_estimate("no item has two ratings", n=0, unit=Unit.ITEM, method=KAPPA_METHOD, point=None)
    values, codes = np.unique(np.array([one, other], dtype=np.float64), return_inverse=True)
    cells = codes.reshape(2, n)
    point = _kappa(cells, int(values.size))
    if math.isnan(point):
        reason = "both raters gave everything the same rating, so chance alone would agree too"
        return unknown_estimate(reason, n=n, unit=Unit.ITEM, method=KAPPA_METHOD, point=None)
    interval, warnings = _kappa_interval(cells, int(values.size), level, rng)
    return Estimate(
        point=point, interval=interval, standard_error=None, n=n, unit=Unit.ITEM, method=KAPPA_METHOD, warnings=warnings
    )


def _kappa(cells: Codes, values: int) -> float:
    """NaN where chance alone explains full agreement."""
    ours, theirs = (np.bincount(row, minlength=values) / row.size for row in cells)
    expected = float(ours @ theirs)
    observed = float(np.mean(cells[0] == cells[1]))
    return math.nan if expected >= 1 else (observed - expected) / (1 - expected)


def _kappa_interval(
    cells: Codes, values: int, level: float, rng: "Generator"
) -> tuple[Interval | None, tuple[str, ...]]:
    n = int(cells.shape[1])
    if n < 2:
        return None, (f"need >= 2 items for an interval, have {n}",)
    kappas = np.array([_kappa(cells[:, rng.integers(n, size=n)], values) for _ in range(RESAMPLES)])
    return _item_interval(kappas, "kappa", n, level)
