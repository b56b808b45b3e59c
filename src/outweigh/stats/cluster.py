"""Standard errors of a mean when observations come in clusters, such as the tasks of one repository.

For a mean every clustered estimator is a weighted sum of squares of the clusters' residual sums, so all of them are
linear in the number of observations.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.special import t_quantile

Floats = NDArray[np.float64]

_UNEVEN_SIZES = 0.5  # coefficient of variation above which CR1 with C − 1 degrees of freedom is too narrow
_FEW_CLUSTERS = 10
_TOO_FEW_CLUSTERS = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterSums:
    """Each cluster's size and the sum of its values."""

    sizes: Floats
    sums: Floats

    @property
    def mean(self) -> float:
        """The mean over all observations."""
        return float(self.sums.sum() / self.sizes.sum())

    @property
    def residuals(self) -> Floats:
        """What each cluster's sum has in excess of the overall mean."""
        excess: Floats = self.sums - self.sizes * self.mean
        return excess


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterErrors:
    """Standard errors of one mean: ignoring clusters, and from CR0 (no correction) to CR3 (the most careful)."""

    naive: float
    cr0: float
    cr1: float
    cr2: float
    cr3: float
    cr2_df: float
    clusters: int


def sum_clusters(values: ArrayLike, clusters: ArrayLike) -> ClusterSums:
    """Add the values up by cluster label."""
    _, owners = np.unique(np.asarray(clusters), return_inverse=True)
    weights = np.asarray(values, dtype=np.float64)
    sizes = np.bincount(owners.ravel()).astype(np.float64)
    sums = np.bincount(owners.ravel(), weights=weights).astype(np.float64)
    return ClusterSums(sizes=sizes, sums=sums)


def cluster_errors(values: ArrayLike, clusters: ArrayLike) -> ClusterErrors:
    """Return every standard error of the mean, with the Satterthwaite degrees of freedom of CR2; needs 2 clusters."""
    observations = np.asarray(values, dtype=np.float64)
    totals = sum_clusters(observations - observations.mean(), clusters)  # centred first, so that no digits are lost
    total, count = float(totals.sizes.sum()), len(totals.sizes)
    if count < 2:
        raise ValueError(f"a clustered standard error needs at least 2 clusters, not {count}")
    leverages = 1 - totals.sizes / total
    cr0, cr2, cr3 = (math.sqrt(float(np.sum(totals.residuals**2 / leverages**power))) / total for power in (0, 1, 2))
    return ClusterErrors(
        naive=float(observations.std(ddof=1)) / math.sqrt(total),
        cr0=cr0,
        cr1=cr0 * math.sqrt(count / (count - 1)),
        cr2=cr2,
        cr3=cr3,
        cr2_df=_satterthwaite_df(totals.sizes, leverages),
        clusters=count,
    )


def cluster_interval(values: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> Estimate:
    """Estimate the mean with a t interval: CR1 with C − 1 degrees of freedom, or CR2 when cluster sizes are uneven."""
    observations = np.asarray(values, dtype=np.float64)
    labels = np.unique(np.asarray(clusters))
    point = float(observations.mean()) if len(observations) and np.isfinite(observations).all() else None
    if point is None or len(labels) < 2:
        reason = "a value is not a finite number" if len(labels) > 1 else "a cluster interval needs at least 2 clusters"
        return _estimate(point, None, None, len(labels), "cluster t", (reason,))
    errors, sizes = cluster_errors(values, clusters), sum_clusters(values, clusters).sizes
    uneven = float(sizes.std(ddof=1) / sizes.mean()) > _UNEVEN_SIZES
    error, df = (errors.cr2, errors.cr2_df) if uneven else (errors.cr1, errors.clusters - 1)
    method = "cluster t (CR2, Satterthwaite)" if uneven else "cluster t (CR1)"
    if not error > 1e-12 * float(np.abs(observations).max()):
        reason = "all clusters have the same mean, so the data do not show how uncertain it is"
        return _estimate(point, None, None, len(labels), method, (reason,))
    radius = t_quantile(0.5 + level / 2, df) * error
    interval = Interval(low=point - radius, high=point + radius, level=level, method=method)
    return _estimate(point, interval, error, len(labels), method, warn_of_few_clusters(len(labels)))


def warn_of_few_clusters(clusters: int) -> tuple[str, ...]:
    """Say what so few clusters cannot support."""
    if clusters < _TOO_FEW_CLUSTERS:
        return (f"{clusters} clusters cannot support a claim about other clusters; {_TOO_FEW_CLUSTERS} are the least",)
    if clusters < _FEW_CLUSTERS:
        return (f"only {clusters} clusters: the interval may be too narrow; {_FEW_CLUSTERS} or more are better",)
    return ()


def _satterthwaite_df(sizes: Floats, leverages: Floats) -> float:
    """Match two moments of the CR2 variance to chi-square when observations are in truth independent."""
    total, inflated = float(sizes.sum()), sizes**2 / leverages
    between = (float(inflated.sum()) ** 2 - float(np.sum(inflated**2))) / total**2
    return total**2 / (float(np.sum(sizes**2)) + between)


def _estimate(
    point: float | None,
    interval: Interval | None,
    error: float | None,
    clusters: int,
    method: str,
    warnings: tuple[str, ...],
) -> Estimate:
    return Estimate(
        point=point,
        interval=interval,
        standard_error=error,
        n=clusters,
        unit=Unit.CLUSTER,
        method=method,
        warnings=warnings,
    )
