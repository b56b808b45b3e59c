"""Ratios of costs, tokens and times: geometric means of task ratios, computed as means of log differences."""

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.mean import mean_interval
from outweigh.stats.sample import Sample, Values, as_sample, has_no_spread, sample_mean
from outweigh.stats.unknown import unknown_estimate

_METHOD = "geometric mean ratio, Student t on logs"


def mean_logs(values: Values, tasks: NDArray[np.intp], task_count: int) -> Sample:
    """Mean log of the runs of each task; NaN where a run is not positive or a task has no run.

    `tasks` holds, for every value, the index of its task.
    """
    sample = as_sample(values)
    usable = np.isfinite(sample) & (sample > 0)
    logs = np.log(np.where(usable, sample, 1.0))
    runs = np.bincount(tasks, minlength=task_count)
    spoiled = np.bincount(tasks, weights=~usable, minlength=task_count) > 0
    sums = np.bincount(tasks, weights=logs, minlength=task_count)
    return np.where(spoiled | (runs == 0), np.nan, sums / np.maximum(runs, 1))


def geometric_ratio(log_deltas: Values, *, level: float, unit: Unit) -> Estimate:
    """Geometric mean ratio from one mean log difference per task.

    The standard error is that of the ratio; tests on the log scale start from `mean_interval` of the log deltas.
    """
    sample = as_sample(log_deltas)
    spoiled = int(np.count_nonzero(~np.isfinite(sample)))
    if spoiled:
        reason = f"{spoiled} of {sample.size} {unit}s have no log ratio: a value is missing, zero or negative"
        return unknown_estimate(reason, n=int(sample.size), unit=unit, method=_METHOD, point=None)
    # A log carries rounding dust of size one times epsilon, however small the log itself is.
    if sample.size > 1 and has_no_spread(sample, max(1.0, float(np.abs(sample).max()))):
        reason = f"all {sample.size} ratios are equal, so the data do not show how far their mean could be off"
        return unknown_estimate(reason, n=int(sample.size), unit=unit, method=_METHOD, point=_exp(sample_mean(sample)))
    return exponentiate(mean_interval(sample, level=level, unit=unit), method=_METHOD)


def exponentiate(log_estimate: Estimate, *, method: str) -> Estimate:
    """Carry an estimate of a log ratio over to the ratio; an end too large for a float is infinite."""
    inside, error = log_estimate.interval, log_estimate.standard_error
    point = None if log_estimate.point is None else _exp(log_estimate.point)
    return Estimate(
        point=point,
        interval=None if inside is None else _exponentiate_interval(inside),
        standard_error=None if point is None or error is None else point * error,
        n=log_estimate.n,
        unit=log_estimate.unit,
        method=method,
        warnings=log_estimate.warnings,
    )


def _exponentiate_interval(inside: Interval) -> Interval:
    return Interval(low=_exp(inside.low), high=_exp(inside.high), level=inside.level, method=f"{inside.method} on logs")


def _exp(value: float) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.exp(value))
