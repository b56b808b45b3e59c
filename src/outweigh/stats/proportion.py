"""Intervals for one success rate. Wald's is absent on purpose: it is (0, 0) after no success."""

import math

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.special import beta_quantile, normal_quantile
from outweigh.stats.unknown import unknown_estimate


def wilson_interval(successes: int, n: int, *, level: float, unit: Unit) -> Estimate:
    """Wilson's score interval around the observed rate."""
    method = "Wilson score"
    if n == 0:
        return _no_trials(unit, method)
    _require_count(successes, n)
    z = normal_quantile((1 + level) / 2)
    rate = successes / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low = centre - half if successes > 0 else 0.0
    high = centre + half if successes < n else 1.0
    return _rate_estimate(successes, n, Interval(low=low, high=high, level=level, method=method), unit)


def clopper_pearson_interval(successes: int, n: int, *, level: float, unit: Unit) -> Estimate:
    """The exact binomial interval: never covers less often than its level, usually more."""
    method = "Clopper-Pearson exact"
    if n == 0:
        return _no_trials(unit, method)
    _require_count(successes, n)
    tail = (1 - level) / 2
    low = beta_quantile(tail, successes, n - successes + 1) if successes > 0 else 0.0
    high = beta_quantile(1 - tail, successes + 1, n - successes) if successes < n else 1.0
    return _rate_estimate(successes, n, Interval(low=low, high=high, level=level, method=method), unit)


def beta_posterior_interval(successes: int, n: int, *, level: float, unit: Unit) -> Estimate:
    """Equal-tailed posterior interval under a uniform prior; the point is the posterior mean, which lies in it."""
    method = "Beta(1,1) posterior"
    if n == 0:
        return _no_trials(unit, method)
    _require_count(successes, n)
    a, b, tail = successes + 1, n - successes + 1, (1 - level) / 2
    low, high = beta_quantile(tail, a, b), beta_quantile(1 - tail, a, b)
    return Estimate(
        point=a / (a + b),
        interval=Interval(low=low, high=high, level=level, method=method),
        standard_error=math.sqrt(a * b / (a + b + 1)) / (a + b),
        n=n,
        unit=unit,
        method=f"{method} mean",
        warnings=(),
    )


def _rate_estimate(successes: int, n: int, interval: Interval, unit: Unit) -> Estimate:
    rate = successes / n
    return Estimate(
        point=rate,
        interval=interval,
        # After only passes or only failures the plug-in error would be a false zero.
        standard_error=math.sqrt(rate * (1 - rate) / n) if 0 < successes < n else None,
        n=n,
        unit=unit,
        method=interval.method,
        warnings=(),
    )


def _no_trials(unit: Unit, method: str) -> Estimate:
    return unknown_estimate("no trials", n=0, unit=unit, method=method, point=None)


def _require_count(successes: int, n: int) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} trials is impossible")
