"""Means and medians of deltas: intervals over tasks or over the runs of a fixed suite, and one-sided t tests."""

import math
from bisect import bisect_right

import numpy as np

from outweigh.stats.distributions import binomial_cdf, t_cdf, t_quantile, t_sf
from outweigh.stats.estimate import Alternative, Estimate, Interval, Unit, unknown_estimate
from outweigh.stats.sample import (
    ROUNDING_ERROR,
    Sample,
    Values,
    as_sample,
    find_defect,
    has_no_spread,
    require_pairs,
    sample_deviation,
    sample_mean,
)

_TASK_METHOD = "mean, Student t"
_SUITE_METHOD = "mean over a fixed suite, stratified t with Welch-Satterthwaite df"


def mean_interval(deltas: Values, *, level: float, unit: Unit) -> Estimate:
    """Mean of one delta per unit with its Student t interval on n - 1 degrees of freedom."""
    sample = as_sample(deltas)
    n = int(sample.size)
    if defect := find_defect(sample):
        return unknown_estimate(defect, n=n, unit=unit, method=_TASK_METHOD, point=None)
    point = sample_mean(sample)
    if n < 2:
        reason = f"need >= 2 {unit}s for an interval, have {n}"
        return unknown_estimate(reason, n=n, unit=unit, method=_TASK_METHOD, point=point)
    if has_no_spread(sample):
        reason = f"all {n} values are equal, so the data do not show how far the mean could be off"
        return unknown_estimate(reason, n=n, unit=unit, method=_TASK_METHOD, point=point)
    error = sample_deviation(sample) / math.sqrt(n)
    return t_estimate(point, error, df=n - 1, level=level, n=n, unit=unit, method=_TASK_METHOD)


def fixed_suite_interval(
    *, mean_a: Values, var_a: Values, n_a: Values, mean_b: Values, var_b: Values, n_b: Values, level: float
) -> Estimate:
    """Mean of A minus B when the tasks are the population, so that only the noise between runs counts.

    Each argument holds one number per task: mean, sample variance and number of runs of that arm.
    """
    strata = [as_sample(values) for values in (mean_a, mean_b, var_a, var_b, n_a, n_b)]
    require_pairs(*strata)
    means, variances, runs = (np.stack(strata[i : i + 2]) for i in (0, 2, 4))
    total_runs = int(np.where(np.isfinite(runs), runs, 0).sum())
    if reason := find_defect(means, runs):
        return unknown_estimate(reason, n=total_runs, unit=Unit.RUN, method=_SUITE_METHOD, point=None)
    point = sample_mean(means[0] - means[1])
    if reason := _suite_defect(means, variances, runs):
        return unknown_estimate(reason, n=total_runs, unit=Unit.RUN, method=_SUITE_METHOD, point=point)
    error, df = suite_error(variances, runs)
    return t_estimate(
        point, error, df=df, level=level, n=total_runs, unit=Unit.RUN, method=f"{_SUITE_METHOD} = {df:.4g}"
    )


def suite_error(variances: Sample, runs: Sample) -> tuple[float, float]:
    """Standard error and Welch-Satterthwaite degrees of freedom of a mean over fixed tasks (arms × tasks)."""
    # Scaled by the largest part, because squares of tiny variances underflow.
    parts = variances / runs
    shares = parts / parts.max()
    df = float(shares.sum() ** 2 / (shares**2 / (runs - 1)).sum())
    return math.sqrt(shares.sum()) * math.sqrt(parts.max()) / variances.shape[1], df


def all_zero_bound(tasks: int, alpha: float) -> float:
    """How large a loss of pass rate may hide, one-sided, behind `tasks` deltas that are all zero."""
    return -math.expm1(math.log(alpha) / tasks) if tasks > 0 else 1.0


def t_estimate(
    point: float, standard_error: float, *, df: float, level: float, n: int, unit: Unit, method: str
) -> Estimate:
    """An estimate with the interval point ± t × standard error."""
    half = t_quantile((1 + level) / 2, df) * standard_error
    return Estimate(
        point=point,
        interval=Interval(low=point - half, high=point + half, level=level, method="Student t"),
        standard_error=standard_error,
        n=n,
        unit=unit,
        method=method,
        warnings=(),
    )


def _suite_defect(means: Sample, variances: Sample, runs: Sample) -> str | None:
    if runs.min() < 2:
        return f"need >= 2 runs per task and arm, {int(np.count_nonzero(runs < 2))} have fewer"
    if defect := find_defect(variances):
        return defect
    if math.sqrt(variances.max()) <= ROUNDING_ERROR * np.abs(means).max():
        return "no task shows any difference between its runs, so run noise cannot be estimated"
    return None


_MEDIAN_METHOD = "median, exact order statistics"
# Levels such as 0.99 are not exact in binary; a rank may not be lost to that.
_SLACK = 1 + 1e-9


def median_interval(values: Values, *, level: float, unit: Unit) -> Estimate:
    """Median with the narrowest symmetric order-statistic interval; its level is the confidence achieved."""
    sample = as_sample(values)
    n = int(sample.size)
    if defect := find_defect(sample):
        return unknown_estimate(defect, n=n, unit=unit, method=_MEDIAN_METHOD, point=None)
    rank = lower_rank(n, level)
    point, low, high = _order_statistics(sample, rank)
    if rank > 0 and has_no_spread(np.array([low, high]), float(np.abs(sample).max())):
        reason = f"the values of ranks {rank} and {n + 1 - rank} are tied, so the interval would have no width"
        return unknown_estimate(reason, n=n, unit=unit, method=_MEDIAN_METHOD, point=point)
    needed = f"need >= {sample_size_needed(level)} {unit}s for a {level:.4g} interval of the median, have {n}"
    return Estimate(
        point=point,
        interval=Interval(low=low, high=high, level=achieved_level(n, rank), method=_describe_ranks(n, rank)),
        standard_error=None,
        n=n,
        unit=unit,
        method=_MEDIAN_METHOD,
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


def one_sided_p(mean: float, se: float, df: float, null: float, direction: Alternative) -> float | None:
    """P-value of `mean` lying beyond `null` in the direction; None when the error is zero or a number is missing."""
    if direction is Alternative.TWO_SIDED:
        raise ValueError("a one-sided test needs a direction")
    statistic = _t_statistic(mean, se, null)
    if statistic is None or not df > 0:
        return None
    return t_sf(statistic, df) if direction is Alternative.GREATER else t_cdf(statistic, df)


def _t_statistic(mean: float, se: float, null: float) -> float | None:
    if not (math.isfinite(mean) and math.isfinite(null) and math.isfinite(se) and se > 0):
        return None
    return (mean - null) / se
