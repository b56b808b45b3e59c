"""From bootstrap draws to an interval: expanded percentile (the default), percentile, basic and BCa."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.special import normal_cdf, normal_quantile, t_quantile

Floats = NDArray[np.float64]


def expanded_percentile_interval(draws: ArrayLike, point: float, tasks: int, level: float = 0.95) -> Estimate:
    """Widen the percentile interval so that it covers at the nominal rate with few tasks, as the t interval does."""

    def ends(values: Floats) -> tuple[float, float, float]:
        tail = normal_cdf(-math.sqrt(tasks / (tasks - 1)) * t_quantile(0.5 + level / 2, tasks - 1))
        return *_central_quantiles(values, tail), tail

    return _estimate(draws, point, tasks, level, "expanded percentile task bootstrap", ends)


def percentile_interval(draws: ArrayLike, point: float, tasks: int, level: float = 0.95) -> Estimate:
    """Take the plain quantiles of the draws; too narrow with fewer than some fifty tasks."""

    def ends(values: Floats) -> tuple[float, float, float]:
        tail = (1 - level) / 2
        return *_central_quantiles(values, tail), tail

    return _estimate(draws, point, tasks, level, "percentile task bootstrap", ends)


def basic_interval(draws: ArrayLike, point: float, tasks: int, level: float = 0.95) -> Estimate:
    """Reflect the quantiles of the draws around the point."""

    def ends(values: Floats) -> tuple[float, float, float]:
        tail = (1 - level) / 2
        low, high = _central_quantiles(values, tail)
        return float(2 * point - high), float(2 * point - low), tail

    return _estimate(draws, point, tasks, level, "basic task bootstrap", ends)


def bca_interval(draws: ArrayLike, point: float, leave_one_out: ArrayLike, level: float = 0.95) -> Estimate:
    """Correct the percentile interval for bias and skewness; `leave_one_out` is the statistic without each task."""
    jackknife = np.asarray(leave_one_out, dtype=np.float64)

    def ends(values: Floats) -> tuple[float, float, float] | None:
        shift, skew = bias_correction(values, point), acceleration(jackknife.mean() - jackknife)
        if shift is None or skew is None:
            return None
        low, high = (_adjusted_probability(shift, skew, side * normal_quantile(0.5 + level / 2)) for side in (-1, 1))
        return _quantile(values, low), _quantile(values, high), min(low, 1 - high)

    return _estimate(draws, point, len(jackknife), level, "BCa task bootstrap", ends)


def acceleration(influence: ArrayLike) -> float | None:
    """Return the skewness of the influence values that BCa needs, or None if they do not vary."""
    values = np.asarray(influence, dtype=np.float64)
    spread = float(np.sum(values**2))
    if not math.isfinite(spread) or spread == 0:
        return None
    return float(np.sum(values**3)) / (6 * spread * math.sqrt(spread))


def bias_correction(draws: ArrayLike, point: float) -> float | None:
    """Return the normal quantile of the share of draws below the point (ties count half), or None at 0 or 1."""
    values = np.asarray(draws, dtype=np.float64)
    scale = float(np.abs(values[np.isfinite(values)]).max(initial=abs(point)))
    ties = np.isclose(values, point, rtol=0, atol=1e-11 * scale)  # equal but for the rounding of sums
    below = float(np.mean((values < point) & ~ties) + np.mean(ties) / 2)
    return float(normal_quantile(below)) if 0 < below < 1 else None


def _adjusted_probability(shift: float, skew: float, quantile: float) -> float:
    moved = shift + quantile
    stretch = 1 - skew * moved
    if stretch <= 0:  # the correction has passed its pole: no quantile is extreme enough
        return 1.0 if moved > 0 else 0.0
    return normal_cdf(shift + moved / stretch)


def _central_quantiles(values: Floats, tail: float) -> tuple[float, float]:
    low, high = (_rank(len(values), probability) for probability in (tail, 1 - tail))
    parted = np.partition(values, (low, high))
    return float(parted[low]), float(parted[high])


def _quantile(values: Floats, probability: float) -> float:
    """Return the order statistic just outside the probability: no interpolation, so infinite draws keep their place."""
    rank = _rank(len(values), probability)
    return float(np.partition(values, rank)[rank])


def _rank(size: int, probability: float) -> int:
    exact = probability * (size - 1)
    return math.floor(exact) if probability < 0.5 else math.ceil(exact)


def _estimate(
    draws: ArrayLike,
    point: float,
    tasks: int,
    level: float,
    method: str,
    ends: Callable[[Floats], tuple[float, float, float] | None],
) -> Estimate:
    # One column of a table of draws is strided; everything below reads it several times.
    values = np.ascontiguousarray(draws, dtype=np.float64)
    error, interval = None, None
    warnings = _objections(values, point, tasks)
    if not warnings:
        error = _standard_error(values, tasks)
        found = ends(values)
        if found is None:
            warnings = ("the statistic is too uneven over the tasks for a BCa interval",)
        elif _is_rounding(found[0], found[1]):
            warnings = ("the draws near both ends of the interval are the same, so its width is unknown",)
        else:
            interval = Interval(low=found[0], high=found[1], level=level, method=method)
            warnings = _reservations(values, found[2])
    return Estimate(
        point=float(point) if math.isfinite(point) else None,
        interval=interval,
        standard_error=error,
        n=tasks,
        unit=Unit.TASK,
        method=method,
        warnings=warnings,
    )


def _objections(values: Floats, point: float, tasks: int) -> tuple[str, ...]:
    if not math.isfinite(point):
        return ("the statistic is not a finite number on the data itself",)
    if tasks < 2:
        return (f"a bootstrap interval needs at least 2 tasks, not {tasks}",)
    missing = int(np.isnan(values).sum())
    if missing or not len(values):
        return (f"the statistic cannot be computed in {missing} of {len(values)} draws",)
    if _is_rounding(float(values.min()), float(values.max())):
        return ("every draw gives the same value, so the data do not show how uncertain it is",)
    return ()


def _is_rounding(low: float, high: float) -> bool:
    """Say whether two ends differ by no more than the rounding of a sum, so that 0.1 repeated has no width."""
    if math.isinf(low) or math.isinf(high):
        return low == high
    return not high - low > 1e-12 * max(abs(low), abs(high))


def _reservations(values: Floats, tail: float) -> tuple[str, ...]:
    if tail * len(values) < 1:
        return ("the interval asks for rarer draws than were made; it ends at the most extreme draw",)
    return ()


def _standard_error(values: Floats, tasks: int) -> float | None:
    """Return the spread of the draws with Bessel's correction for the number of tasks, which resampling leaves out."""
    if not np.isfinite(values).all():
        return None
    return float(values.std()) * math.sqrt(tasks / (tasks - 1))
