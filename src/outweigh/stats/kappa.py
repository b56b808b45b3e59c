"""Cohen's kappa: how far two raters agree beyond chance.

Apart from stats/agreement.py, because it loads numpy.random, which a plain verdict does not need.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from outweigh.stats.distributions import normal_cdf, t_quantile
from outweigh.stats.estimate import Estimate, Interval, Unit, unknown_estimate
from outweigh.stats.sample import has_no_spread

RESAMPLES = 2_000
METHOD = "Cohen kappa"
Codes = NDArray[np.intp]


def cohen_kappa(one: Sequence[float], other: Sequence[float], *, level: float, rng: Generator) -> Estimate:
    """(observed - expected) / (1 - expected) agreement on the same items, with a bootstrap interval over items."""
    if len(one) != len(other):
        raise ValueError(f"two raters rate the same items, got {len(one)} and {len(other)} ratings")
    n = len(one)
    if n == 0:
        return unknown_estimate("no item has two ratings", n=0, unit=Unit.ITEM, method=METHOD, point=None)
    values, codes = np.unique(np.array([one, other], dtype=np.float64), return_inverse=True)
    cells = codes.reshape(2, n)
    point = _kappa(cells, int(values.size))
    if math.isnan(point):
        reason = "both raters gave everything the same rating, so chance alone would agree too"
        return unknown_estimate(reason, n=n, unit=Unit.ITEM, method=METHOD, point=None)
    interval, warnings = _interval(cells, int(values.size), level, rng)
    return Estimate(
        point=point, interval=interval, standard_error=None, n=n, unit=Unit.ITEM, method=METHOD, warnings=warnings
    )


def _kappa(cells: Codes, values: int) -> float:
    """NaN where chance alone explains full agreement."""
    ours, theirs = (np.bincount(row, minlength=values) / row.size for row in cells)
    expected = float(ours @ theirs)
    observed = float(np.mean(cells[0] == cells[1]))
    return math.nan if expected >= 1 else (observed - expected) / (1 - expected)


def _interval(cells: Codes, values: int, level: float, rng: Generator) -> tuple[Interval | None, tuple[str, ...]]:
    """Expanded percentiles over resampled items: plain percentiles are too narrow for few items."""
    n = int(cells.shape[1])
    if n < 2:
        return None, (f"need >= 2 items for an interval, have {n}",)
    kappas = np.array([_kappa(cells[:, rng.integers(n, size=n)], values) for _ in range(RESAMPLES)])
    known = kappas[~np.isnan(kappas)]
    lost = f"{kappas.size - known.size} of {kappas.size} resamples had a single rating value and were left out"
    if known.size < kappas.size / 2:
        return None, (lost,)
    tail = normal_cdf(-math.sqrt(n / (n - 1)) * t_quantile((1 + level) / 2, n - 1))
    low, high = (float(end) for end in np.quantile(known, [tail, 1 - tail]))
    if has_no_spread(np.array([low, high]), 1.0):
        return None, ("kappa is the same in every resample, so the data do not show how far it could be off",)
    warnings = (lost,) if known.size < kappas.size else ()
    return Interval(low=low, high=high, level=level, method="item bootstrap, expanded percentile"), warnings
