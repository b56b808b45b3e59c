"""How many tasks an effect needs, and which effect a number of tasks can show; for planning, never after the fact.

`variance` is the variance of one task's delta. `alpha` is two-sided: a one-sided test at α plans with 2α.
"""

import math
from collections.abc import Callable

import numpy as np

from outweigh.stats.special import normal_cdf, normal_quantile, t_quantile

_NODES, _WEIGHTS = (array.tolist() for array in np.polynomial.legendre.leggauss(80))
_MOST_TASKS = 1e9


def tasks_by_normal(effect: float, variance: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return (z_{1−α/2} + z_power)² variance / effect², the large-sample number of tasks, not rounded."""
    _check_plan(variance, alpha, power)
    return math.inf if effect == 0 else _detectable_z(alpha, power) ** 2 * variance / effect**2


def effect_by_normal(tasks: float, variance: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest effect that so many tasks show with this power, in large samples."""
    _check_plan(variance, alpha, power)
    return _detectable_z(alpha, power) * math.sqrt(variance / tasks)


def tasks_by_t(effect: float, variance: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the number of tasks, not rounded, at which the paired t test reaches this power; at least 2."""
    _check_plan(variance, alpha, power)
    standardized = abs(effect) / math.sqrt(variance)

    def reaches(tasks: float) -> bool:
        return power_of_t(standardized, tasks, alpha) >= power

    if standardized == 0 or not reaches(_MOST_TASKS):
        return math.inf
    return 2.0 if reaches(2.0) else _find_threshold(reaches, 2.0, _reach_by_doubling(reaches, 4.0))


def effect_by_t(tasks: float, variance: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest effect that the paired t test on so many tasks shows with this power."""
    _check_plan(variance, alpha, power)

    def reaches(standardized: float) -> bool:
        return power_of_t(standardized, tasks, alpha) >= power

    return math.sqrt(variance) * _find_threshold(reaches, 0.0, _reach_by_doubling(reaches, 1.0))


def power_of_t(standardized_effect: float, tasks: float, alpha: float = 0.05) -> float:
    """Return the power of the two-sided t test for an effect in standard deviations of a task's delta.

    The noncentral t law is a normal law averaged over the estimated standard deviation, whose law is chi.
    """
    if tasks < 2:
        raise ValueError(f"a t test needs at least 2 tasks, not {tasks}")
    df, shift = tasks - 1, standardized_effect * math.sqrt(tasks)
    critical = t_quantile(1 - alpha / 2, df)
    reach = 10 / math.sqrt(2 * df)
    low, high = max(0.0, 1 - reach), 1 + reach
    ratios = [(low + high) / 2 + (high - low) / 2 * node for node in _NODES]
    masses = [weight * math.exp(_log_chi_density(ratio, df)) for weight, ratio in zip(_WEIGHTS, ratios, strict=True)]
    rejections = [normal_cdf(shift - critical * ratio) + normal_cdf(-shift - critical * ratio) for ratio in ratios]
    # Dividing by the integrated mass takes out what the quadrature misses.
    return math.fsum(m * r for m, r in zip(masses, rejections, strict=True)) / math.fsum(masses)


def _log_chi_density(ratio: float, df: float) -> float:
    """Return the log density of estimated over true standard deviation, up to a constant that keeps it near 1."""
    return (df - 1) * math.log(ratio) - df * (ratio**2 - 1) / 2


def _detectable_z(alpha: float, power: float) -> float:
    return normal_quantile(1 - alpha / 2) + normal_quantile(power)


def _reach_by_doubling(reaches: Callable[[float], bool], start: float) -> float:
    while not reaches(start):
        start *= 2
    return start


def _find_threshold(reaches: Callable[[float], bool], low: float, high: float) -> float:
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def _check_plan(variance: float, alpha: float, power: float) -> None:
    if not (variance > 0 and math.isfinite(variance)):
        raise ValueError(f"planning needs the variance of a task's delta, which is above 0, not {variance}")
    if not 0 < alpha < power < 1:
        raise ValueError(f"planning needs 0 < alpha < power < 1, not alpha {alpha} and power {power}")
