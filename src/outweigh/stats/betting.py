"""A confidence sequence for bounded deltas without any large-sample assumption, from bets against each mean.

Against a candidate mean m two gamblers bet, one that the deltas are higher and one that they are lower (the hedged
capital process of Waudby-Smith and Ramdas). Stakes depend on earlier tasks only, so when m is right neither capital
reaches 2/alpha, ever, except with probability alpha together.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outweigh.stats.estimate import Estimate, Interval, Unit

Floats = NDArray[np.float64]

_METHOD = "betting confidence sequence"
_LARGEST_STAKE = 0.5  # of the capital, so that no single task can ruin a gambler


def betting_confidence_sequence(
    deltas: ArrayLike, lowest: float = -1.0, highest: float = 1.0, level: float = 0.95
) -> Estimate:
    """Estimate the mean of deltas within known bounds; deltas that are all equal get an honest wide interval."""
    values = np.asarray(deltas, dtype=np.float64)
    if len(values) == 0:
        return _estimate(None, None, values, ("a confidence sequence needs at least 1 task",))
    if not np.isfinite(values).all():
        return _estimate(None, None, values, ("a delta is not a finite number",))
    if values.min() < lowest or values.max() > highest:
        return _estimate(None, None, values, (f"a delta lies outside [{lowest:g}, {highest:g}]",))
    width = highest - lowest
    shares = (values - lowest) / width
    stakes = plan_stakes(shares, 1 - level)
    low, high = (lowest + width * end for end in _hedged_ends(shares, stakes, 1 - level))
    interval = Interval(low=low, high=high, level=level, method=_METHOD)
    return _estimate(float(values.mean()), interval, values, ())


def plan_stakes(shares: Floats, alpha: float) -> Floats:
    """Return the stake for each task from the tasks before it: larger bets when the past varied little."""
    seen = np.arange(1, len(shares) + 1)
    running_means = (0.5 + np.cumsum(shares)) / (seen + 1)
    running_variances = (0.25 + np.cumsum((shares - running_means) ** 2)) / (seen + 1)
    known_before = np.concatenate([[0.25], running_variances[:-1]])
    stakes: Floats = np.sqrt(2 * math.log(2 / alpha) / (known_before * seen * np.log1p(seen)))
    return stakes


def log_capital(shares: Floats, stakes: Floats, mean: float) -> float:
    """Return the log capital of the gambler who bets that shares of [0, 1] are higher than `mean`, which is above 0.

    It falls as the mean rises, so the means that the bets do not refute are an interval.
    """
    capped = np.minimum(stakes, _LARGEST_STAKE / mean)
    return float(np.log1p(capped * (shares - mean)).sum())


def _hedged_ends(shares: Floats, stakes: Floats, alpha: float) -> tuple[float, float]:
    needed = math.log(2 / alpha)
    low = _first_unrefuted(lambda mean: log_capital(shares, stakes, mean) >= needed)
    high = 1 - _first_unrefuted(lambda mean: log_capital(1 - shares, stakes, mean) >= needed)
    return low, high


def _first_unrefuted(is_refuted: Callable[[float], bool]) -> float:
    """Return the lower end of the means that are not refuted, rounded outwards."""
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return low


def _estimate(point: float | None, interval: Interval | None, values: Floats, warnings: tuple[str, ...]) -> Estimate:
    usable = point is not None and len(values) > 1
    return Estimate(
        point=point,
        interval=interval,
        standard_error=float(values.std(ddof=1)) / math.sqrt(len(values)) if usable else None,
        n=len(values),
        unit=Unit.TASK,
        method=_METHOD,
        warnings=warnings,
    )
