"""Ratios of costs, tokens and times: geometric means of task ratios, and ratios of sums such as the cost of a pass."""

import math

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.distributions import t_quantile
from outweigh.stats.estimate import Estimate, Interval, Unit, unknown_estimate
from outweigh.stats.means import mean_interval, t_estimate
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


_NO_SPREAD = "numerator and denominator move together exactly, so the data do not show how far the ratio could be off"
_TOO_FEW = "need >= 2 tasks for an interval"


def ratio_interval(numerators: Values, denominators: Values, *, level: float, unit: Unit) -> Estimate:
    """Sum over sum, with a delta-method t interval on the log scale; one pair of numbers per task."""
    method = "ratio of sums, delta method on logs"
    top, bottom = as_sample(numerators), as_sample(denominators)
    if reason := _ratio_defect(top, bottom):
        return unknown_estimate(reason, n=top.size, unit=unit, method=method, point=None)
    point = _ratio(top, bottom)
    if reason := _log_defect(top, bottom):
        return unknown_estimate(reason, n=top.size, unit=unit, method=method, point=point)
    return _log_delta_estimate(math.log(point), _influence(top, bottom), level=level, unit=unit, method=method)


def ratio_of_ratios_interval(
    *,
    numerators_a: Values,
    denominators_a: Values,
    numerators_b: Values,
    denominators_b: Values,
    level: float,
    unit: Unit,
) -> Estimate:
    """Arm A's ratio of sums over arm B's, with both arms measured on the same tasks in the same order."""
    method = "ratio of ratios of sums, delta method on logs"
    top_a, bottom_a, top_b, bottom_b = map(as_sample, (numerators_a, denominators_a, numerators_b, denominators_b))
    require_pairs(top_a, bottom_a, top_b, bottom_b)
    # B's ratio divides, so both of B's sums are denominators.
    defects = _ratio_defect(top_a, bottom_a), _ratio_defect(top_b, bottom_b), _ratio_defect(bottom_b, top_b)
    if reason := next(filter(None, defects), None):
        return unknown_estimate(reason, n=top_a.size, unit=unit, method=method, point=None)
    point = _ratio(top_a, bottom_a) / _ratio(top_b, bottom_b)
    if reason := _log_defect(top_a, bottom_a) or _log_defect(top_b, bottom_b):
        return unknown_estimate(reason, n=top_a.size, unit=unit, method=method, point=point)
    influence = _influence(top_a, bottom_a) - _influence(top_b, bottom_b)
    return _log_delta_estimate(math.log(point), influence, level=level, unit=unit, method=method)


def fieller_interval(numerators: Values, denominators: Values, *, level: float, unit: Unit) -> Estimate:
    """Sum over sum with Fieller's interval, which is unbounded when the denominator may be zero."""
    method = "ratio of sums, Fieller"
    top, bottom = as_sample(numerators), as_sample(denominators)
    if reason := _ratio_defect(top, bottom):
        return unknown_estimate(reason, n=top.size, unit=unit, method=method, point=None)
    point = _ratio(top, bottom)
    if reason := _spread_defect(top, bottom):
        return unknown_estimate(reason, n=top.size, unit=unit, method=method, point=point)
    ends = _fieller_ends(top, bottom, t_quantile((1 + level) / 2, top.size - 1))
    low, high = ends or (-math.inf, math.inf)
    return Estimate(
        point=point,
        interval=Interval(low=low, high=high, level=level, method="Fieller"),
        standard_error=None,
        n=top.size,
        unit=unit,
        method=method,
        warnings=() if ends else ("unbounded: the denominator is not distinguishable from zero at this level",),
    )


def _ratio(top: Sample, bottom: Sample) -> float:
    return float(top.sum() / bottom.sum())


def _influence(top: Sample, bottom: Sample) -> Sample:
    """How much each task pulls on the log of the ratio."""
    influence: Sample = top / top.mean() - bottom / bottom.mean()
    return influence


def _fieller_ends(top: Sample, bottom: Sample, t: float) -> tuple[float, float] | None:
    """Roots of the quadratic whose non-positive region is the interval; None when that region is unbounded."""
    spread = np.cov(top, bottom) * t * t / top.size
    x, y = float(top.mean()), float(bottom.mean())
    a, b, c = y * y - spread[1, 1], x * y - spread[0, 1], x * x - spread[0, 0]
    if a <= 0:
        return None
    root = math.sqrt(max(b * b - a * c, 0.0))
    return float((b - root) / a), float((b + root) / a)


def _log_delta_estimate(log_point: float, influence: Sample, *, level: float, unit: Unit, method: str) -> Estimate:
    n = int(influence.size)
    # Influences are differences of numbers of size one, so dust is measured against one.
    if has_no_spread(influence, 1.0):
        return unknown_estimate(_NO_SPREAD, n=n, unit=unit, method=method, point=math.exp(log_point))
    error = sample_deviation(influence) / math.sqrt(n)
    on_logs = t_estimate(log_point, error, df=n - 1, level=level, n=n, unit=unit, method=method)
    return exponentiate(on_logs, method=method)


def _ratio_defect(top: Sample, bottom: Sample) -> str | None:
    require_pairs(top, bottom)
    if defect := find_defect(top, bottom):
        return defect
    # Sums that cancel to rounding dust are zero too.
    if abs(bottom.sum()) <= ROUNDING_ERROR * np.abs(bottom).sum():
        return "the denominators sum to zero"
    return None


def _log_defect(top: Sample, bottom: Sample) -> str | None:
    if top.sum() <= 0 or bottom.sum() <= 0:
        return "a sum is not positive, so the ratio has no log"
    return _TOO_FEW if top.size < 2 else None


def _spread_defect(top: Sample, bottom: Sample) -> str | None:
    if top.size < 2:
        return _TOO_FEW
    residual = top - _ratio(top, bottom) * bottom
    return _NO_SPREAD if has_no_spread(residual, float(np.abs(top).max())) else None
