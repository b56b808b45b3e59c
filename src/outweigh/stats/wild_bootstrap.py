"""The wild cluster bootstrap: a test of a mean that stays honest with few and uneven clusters.

Under the null each cluster's deviation could as well have had another sign, so the clusters are multiplied by random
weights of mean 0 and variance 1 and the t statistic is compared with what they give.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outweigh.stats.cluster import sum_clusters, warn_of_few_clusters
from outweigh.stats.estimate import Significance, Unit

Floats = NDArray[np.float64]

RADEMACHER = np.array([-1.0, 1.0])
WEBB = np.array([-math.sqrt(1.5), -1.0, -math.sqrt(0.5), math.sqrt(0.5), 1.0, math.sqrt(1.5)])

_FEW_CLUSTERS = 10
_CELLS_PER_BLOCK = 2**20


def wild_cluster_test(
    values: ArrayLike, clusters: ArrayLike, seed: int, null: float = 0.0, draws: int = 9999
) -> Significance:
    """Test whether the mean is `null`, two-sided; up to ten clusters get Webb's six weights, more get random signs."""
    observations = np.asarray(values, dtype=np.float64) - null
    count = len(np.unique(np.asarray(clusters)))
    if count < 2:
        return _significance(None, None, count, ("a cluster test needs at least 2 clusters",))
    if not np.isfinite(observations).all():
        return _significance(None, None, count, ("a value is not a finite number",))
    totals = sum_clusters(observations, clusters)
    rounding = 1e-12 * float(np.abs(observations).max()) * float(totals.sizes.sum())
    if not np.abs(totals.residuals).max() > rounding:
        return _significance(None, None, count, ("all clusters have the same mean: nothing to compare with",))
    observed = float(_t_statistics(np.ones((1, count)), totals.sums, totals.sizes)[0])
    exceedances = _count_exceedances(abs(observed), totals.sums, totals.sizes, draws, seed)
    p_value = (1 + exceedances) / (1 + draws)
    return _significance(p_value, observed, count, warn_of_few_clusters(count))


def _count_exceedances(observed: float, sums: Floats, sizes: Floats, draws: int, seed: int) -> int:
    generator = np.random.default_rng(seed)
    choices = WEBB if len(sums) <= _FEW_CLUSTERS else RADEMACHER
    rows = max(1, _CELLS_PER_BLOCK // len(sums))
    exceedances = 0
    for start in range(0, draws, rows):
        weights = choices[generator.integers(len(choices), size=(min(rows, draws - start), len(sums)))]
        drawn = np.abs(_t_statistics(weights, sums, sizes))
        # Equal up to rounding counts as exceeding, and so does a statistic that cannot be computed.
        exceedances += int((~(drawn < observed * (1 - 1e-12))).sum())
    return exceedances


def _t_statistics(weights: Floats, sums: Floats, sizes: Floats) -> Floats:
    """Return the mean over its clustered standard error for each row of weights."""
    weighted = weights * sums
    totals = weighted.sum(axis=1)
    residuals = weighted - np.outer(totals / sizes.sum(), sizes)
    correction = math.sqrt((len(sums) - 1) / len(sums))
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics: Floats = correction * totals / np.sqrt(np.sum(residuals**2, axis=1))
    return statistics


def _significance(
    p_value: float | None, statistic: float | None, clusters: int, warnings: tuple[str, ...]
) -> Significance:
    return Significance(
        p_value=p_value,
        statistic=statistic,
        n=clusters,
        unit=Unit.CLUSTER,
        method="wild cluster bootstrap",
        warnings=warnings,
    )
