"""Ratios of sums over tasks, such as cost per solved task, with the task as the sampling unit."""

import math

import numpy as np

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.log_ratio import exponentiate
from outweigh.stats.mean import t_estimate
from outweigh.stats.sample import (
    ROUNDING_DUST,
    Sample,
    Values,
    as_sample,
    find_defect,
    has_no_spread,
    require_pairs,
    sample_deviation,
)
from outweigh.stats.special import t_quantile
from outweigh.stats.unknown import unknown_estimate

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


def plain_ratio_interval(numerators: Values, denominators: Values, *, level: float, unit: Unit) -> Estimate:
    """Sum over sum with a delta-method t interval on the plain scale, for ratios whose sign is not fixed."""
    method = "ratio of sums, delta method"
    top, bottom = as_sample(numerators), as_sample(denominators)
    if reason := _ratio_defect(top, bottom):
        return unknown_estimate(reason, n=top.size, unit=unit, method=method, point=None)
    point = _ratio(top, bottom)
    if reason := _spread_defect(top, bottom):
        return unknown_estimate(reason, n=top.size, unit=unit, method=method, point=point)
    error = sample_deviation(top - point * bottom) / abs(float(bottom.mean())) / math.sqrt(top.size)
    return t_estimate(point, error, df=top.size - 1, level=level, n=top.size, unit=unit, method=method)


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
    if abs(bottom.sum()) <= ROUNDING_DUST * np.abs(bottom).sum():
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
