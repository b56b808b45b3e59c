"""Intervals that hold at every look at once, for deltas of tasks that arrive in random order.

The asymptotic sequence inverts a normal mixture martingale with the running standard deviation: after n tasks it
covers as if the tasks had been looked at one by one for ever.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outweigh.stats.estimate import Estimate, Interval, Unit

Floats = NDArray[np.float64]

_METHOD = "asymptotic confidence sequence"
_FEW_TASKS = 10


def tune_normal_mixture(best_at: float, alpha: float) -> float:
    """Return the mixture's precision rho that makes the two-sided boundary tightest at variance time `best_at`."""
    return best_at / (-2 * math.log(alpha) + math.log1p(-2 * math.log(alpha)))


def log_normal_mixture(total: float, variance_time: float, rho: float) -> float:
    """Return the log of the normal mixture martingale for a centred sum with that accumulated variance."""
    spread = variance_time + rho
    return 0.5 * math.log(rho / spread) + total**2 / (2 * spread)


def normal_mixture_bound(variance_time: ArrayLike, rho: float, alpha: float) -> Floats:
    """Return how far a centred sum may stray on either side, ever, except with probability alpha."""
    spread = np.asarray(variance_time, dtype=np.float64) + rho
    bound: Floats = np.sqrt(spread * (np.log(spread / rho) - 2 * math.log(alpha)))
    return bound


def confidence_path(deltas: ArrayLike, planned_tasks: int, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the ends of the sequence after each task; NaN until the deltas seen so far vary."""
    values = np.asarray(deltas, dtype=np.float64)
    seen = np.arange(1, len(values) + 1)
    rho = tune_normal_mixture(planned_tasks, 1 - level)
    radius = _running_deviations(values) * normal_mixture_bound(seen, rho, 1 - level) / seen
    means = np.cumsum(values) / seen
    return means - radius, means + radius


def asymptotic_confidence_sequence(deltas: ArrayLike, planned_tasks: int, level: float = 0.95) -> Estimate:
    """Estimate the mean delta with an interval that stays valid however often it was looked at.

    `planned_tasks` is the number of tasks at which the interval is tightest; it must not depend on the data.
    """
    values = np.asarray(deltas, dtype=np.float64)
    reason = _objection(values)
    if reason is not None:
        point = float(values.mean()) if len(values) and np.isfinite(values).all() else None
        return _estimate(point, None, None, len(values), (reason,))
    lows, highs = confidence_path(values, planned_tasks, level)
    interval = Interval(low=float(lows[-1]), high=float(highs[-1]), level=level, method=_METHOD)
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    warnings = (
        (f"the sequence holds for large samples; {len(values)} tasks are few",) if len(values) < _FEW_TASKS else ()
    )
    return _estimate(float(values.mean()), interval, error, len(values), warnings)


def _running_deviations(values: Floats) -> Floats:
    """Return the sample standard deviation of the first n values for every n."""
    seen = np.arange(1, len(values) + 1)
    centred = values - values.mean() if len(values) else values
    squares = np.cumsum(centred**2)
    excess = squares - np.cumsum(centred) ** 2 / seen
    varies = excess > 1e-12 * squares
    deviations = np.full(len(values), np.nan)
    deviations[varies] = np.sqrt(excess[varies] / (seen[varies] - 1))
    return deviations


def _objection(values: Floats) -> str | None:
    if len(values) < 2:
        return f"a confidence sequence needs at least 2 tasks, not {len(values)}"
    if not np.isfinite(values).all():
        return "a delta is not a finite number"
    if not values.std() > 1e-12 * np.abs(values).max():
        return "all deltas are equal, so the data do not show how uncertain their mean is"
    return None


def _estimate(
    point: float | None, interval: Interval | None, error: float | None, tasks: int, warnings: tuple[str, ...]
) -> Estimate:
    return Estimate(
        point=point,
        interval=interval,
        standard_error=error,
        n=tasks,
        unit=Unit.TASK,
        method=_METHOD,
        warnings=warnings,
    )
