"""Where the variance of task deltas comes from: clusters of tasks, differences between tasks, noise between repeats.

For a mean every clustered estimator is a weighted sum of squares of the clusters' residual sums, so all are linear
in the number of observations. Components are estimated by the method of moments on paired tasks.
"""

import math
from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from outweigh.stats.distributions import t_quantile
from outweigh.stats.estimate import Estimate, Interval, Unit

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
_Chosen = NDArray[np.intp] | NDArray[np.bool_]

_UNEVEN_SIZES = 0.5  # coefficient of variation above which CR1 with C − 1 degrees of freedom is too narrow
_FEW_CLUSTERS = 10
_TOO_FEW_CLUSTERS = 5


class ClusterSums(Struct, frozen=True, kw_only=True, eq=False):
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


class ClusterErrors(Struct, frozen=True, kw_only=True):
    """Clustered standard errors of one mean: CR0 (no correction), CR1 and CR2 (unbiased with uneven clusters)."""

    cr0: float
    cr1: float
    cr2: float
    cr2_df: float
    clusters: int


def sum_clusters(values: ArrayLike, clusters: ArrayLike) -> ClusterSums:
    """Add the values up by cluster label."""
    places: dict[object, int] = {}
    labels = clusters if isinstance(clusters, tuple) else np.asarray(clusters).ravel().tolist()
    # Numbered as they appear: to sort the labels takes longer than all sums.
    owners = np.array([places.setdefault(label, len(places)) for label in labels], dtype=np.intp)
    weights = np.asarray(values, dtype=np.float64)
    sizes = np.bincount(owners).astype(np.float64)
    sums = np.bincount(owners, weights=weights).astype(np.float64)
    return ClusterSums(sizes=sizes, sums=sums)


def cluster_errors(values: ArrayLike, clusters: ArrayLike) -> ClusterErrors:
    """Return every standard error of the mean, with the Satterthwaite degrees of freedom of CR2; needs 2 clusters."""
    observations = np.asarray(values, dtype=np.float64)
    totals = sum_clusters(observations - observations.mean(), clusters)  # centred first, so that no digits are lost
    total, count = float(totals.sizes.sum()), len(totals.sizes)
    if count < 2:
        raise ValueError(f"a clustered standard error needs at least 2 clusters, not {count}")
    leverages = 1 - totals.sizes / total
    cr0, cr2 = (math.sqrt(float(np.sum(totals.residuals**2 / leverages**power))) / total for power in (0, 1))
    return ClusterErrors(
        cr0=cr0,
        cr1=cr0 * math.sqrt(count / (count - 1)),
        cr2=cr2,
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


class TaskMoments:
    """One arm's runs, task by task: mean, sample variance (NaN below two runs) and count.

    Each may be given as what computes it, because few ask for them, and large suites have millions.
    """

    def __init__(
        self,
        *,
        means: Floats | Callable[[], Floats],
        variances: Floats | Callable[[], Floats],
        counts: Counts | Callable[[], Counts],
    ) -> None:
        self._means = means
        self._variances = variances
        self._counts = counts

    @property
    def counts(self) -> Counts:
        """How many runs of every task there are."""
        return self._counts() if callable(self._counts) else self._counts

    @property
    def means(self) -> Floats:
        """The mean of every task."""
        return self._means() if callable(self._means) else self._means

    @property
    def variances(self) -> Floats:
        """The sample variance of every task."""
        if callable(self._variances):
            self._variances = self._variances()
        return self._variances

    def select(self, keep: _Chosen | Callable[[], _Chosen]) -> "TaskMoments":
        """The moments of some tasks only, by place or by mask."""

        def chosen() -> _Chosen:
            return keep() if callable(keep) else keep

        return TaskMoments(
            means=lambda: self.means[chosen()],
            variances=lambda: self.variances[chosen()],
            counts=lambda: self.counts[chosen()],
        )

    def scaled(self, factor: float) -> "TaskMoments":
        """The moments of all runs times a factor."""
        return TaskMoments(
            means=lambda: self.means * factor, variances=lambda: self.variances * factor**2, counts=lambda: self.counts
        )


class VarianceComponents(Struct, frozen=True, kw_only=True):
    """Variances of the true task deltas and of single runs; `None` means unknown, and `warnings` says why."""

    true_deltas: float | None
    candidate_runs: float | None
    baseline_runs: float | None
    observed_deltas: float | None
    tasks: int
    warnings: tuple[str, ...]

    def delta_variance(self, candidate_repeats: int, baseline_repeats: int) -> float | None:
        """Return the variance that one task's delta would have with these repeats, if every component is known."""
        if self.true_deltas is None or self.candidate_runs is None or self.baseline_runs is None:
            return None
        return self.true_deltas + self.candidate_runs / candidate_repeats + self.baseline_runs / baseline_repeats


def summarize_runs(values: ArrayLike, task_indices: ArrayLike, tasks: int) -> TaskMoments:
    """Reduce one arm's runs to moments per task; `task_indices` says which task (from 0) each run belongs to."""
    runs, owners = np.asarray(values, dtype=np.float64), np.asarray(task_indices, dtype=np.int64)
    counts = np.bincount(owners, minlength=tasks)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(owners, weights=runs, minlength=tasks) / counts
        squares = np.bincount(owners, weights=(runs - means[owners]) ** 2, minlength=tasks)
        variances = np.where(counts > 1, squares / (counts - 1), np.nan)
    return TaskMoments(means=means, variances=variances, counts=counts)


def estimate_components(candidate: TaskMoments, baseline: TaskMoments) -> VarianceComponents:
    """Separate the variance of the task deltas into components, from the tasks that both arms ran."""
    paired = (candidate.counts > 0) & (baseline.counts > 0)
    deltas = (candidate.means - baseline.means)[paired]
    warnings = [] if paired.all() else [f"{int((~paired).sum())} tasks were run by one arm only and are left out"]
    if len(deltas) < 2 or not np.isfinite(deltas).all():
        reason = "fewer than 2 paired tasks" if len(deltas) < 2 else "a run is not a finite number"
        return _components(None, None, None, None, len(deltas), [*warnings, reason])
    observed = float(deltas.var(ddof=1))
    noises = [_run_variance(arm, paired) for arm in (candidate, baseline)]
    if noises[0] is None or noises[1] is None:
        reason = "no task has 2 repeats in each arm, so repeat noise cannot be told from differences between tasks"
        return _components(None, noises[0], noises[1], observed, len(deltas), [*warnings, reason])
    expected = _mean_noise(candidate, paired, noises[0]) + _mean_noise(baseline, paired, noises[1])
    if observed < expected:
        warnings.append("the deltas vary less than repeat noise explains; the variance of true deltas is taken as 0")
    return _components(max(0.0, observed - expected), noises[0], noises[1], observed, len(deltas), warnings)


def _run_variance(arm: TaskMoments, paired: NDArray[np.bool_]) -> float | None:
    """Average the sample variances with equal weight per task, as the estimand does."""
    variances = arm.variances[paired & (arm.counts > 1)]
    return float(variances.mean()) if len(variances) else None


def _mean_noise(arm: TaskMoments, paired: NDArray[np.bool_], run_variance: float) -> float:
    """Average the variance of a task's mean; a task run once is given the arm's average run variance."""
    variances = np.where(arm.counts > 1, arm.variances, run_variance)[paired]
    return float(np.mean(variances / arm.counts[paired]))


def _components(
    true_deltas: float | None,
    candidate_runs: float | None,
    baseline_runs: float | None,
    observed_deltas: float | None,
    tasks: int,
    warnings: list[str],
) -> VarianceComponents:
    return VarianceComponents(
        true_deltas=true_deltas,
        candidate_runs=candidate_runs,
        baseline_runs=baseline_runs,
        observed_deltas=observed_deltas,
        tasks=tasks,
        warnings=tuple(warnings),
    )
