"""Means of deltas: over a sample of tasks, or over the runs of a suite that is itself the population."""

import math

import numpy as np

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.sample import (
    ROUNDING_DUST,
    Sample,
    Values,
    as_sample,
    find_defect,
    has_no_spread,
    require_pairs,
    sample_deviation,
    sample_mean,
)
from outweigh.stats.special import t_quantile
from outweigh.stats.unknown import unknown_estimate

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
    if math.sqrt(variances.max()) <= ROUNDING_DUST * np.abs(means).max():
        return "no task shows any difference between its runs, so run noise cannot be estimated"
    return None
