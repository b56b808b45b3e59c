"""Sample sizes for planning: the effect a number of tasks can show, the tasks an effect needs, and the cheapest
design.

`variance` is the variance of one task's delta. `alpha` is two-sided: a one-sided test at α plans with 2α. Both arms
get the same repeats. More tasks reduce every part of the variance, more repeats only the noise between runs. For
planning only: power computed after the fact says nothing that the p-value does not.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from outweigh.stats.distributions import normal_cdf, normal_quantile, t_quantile
from outweigh.stats.variance import VarianceComponents

_NODES, _WEIGHTS = (array.tolist() for array in np.polynomial.legendre.leggauss(80))


def tasks_by_normal(effect: float, variance: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return (z_{1−α/2} + z_power)² variance / effect², the large-sample number of tasks, not rounded."""
    _check_plan(variance, alpha, power)
    return math.inf if effect == 0 else _detectable_z(alpha, power) ** 2 * variance / effect**2


def effect_by_normal(tasks: float, variance: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest effect that so many tasks show with this power, in large samples."""
    _check_plan(variance, alpha, power)
    return _detectable_z(alpha, power) * math.sqrt(variance / tasks)


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


MOST_REPEATS = 10_000
"""Beyond this the tasks are alike for every practical purpose, and no number of repeats is best."""


class DesignPrices(Struct, frozen=True, kw_only=True):
    """What a design pays for: once per task (writing, checking), and per run of each arm."""

    task_usd: float
    candidate_run_usd: float
    baseline_run_usd: float

    def cost_usd(self, tasks: int, repeats: int) -> float:
        """Return the price of this many tasks with this many repeats in both arms."""
        return tasks * (self.task_usd + repeats * (self.candidate_run_usd + self.baseline_run_usd))


class Design(Struct, frozen=True, kw_only=True):
    """One affordable experiment: its size, its price and its power for the effect that was asked for."""

    tasks: int
    repeats: int
    cost_usd: float
    power: float


def tabulate_detectable_effects(
    components: VarianceComponents,
    tasks: Sequence[int],
    repeats: Sequence[int],
    alpha: float = 0.05,
    power: float = 0.8,
    detect: Callable[[float, float, float, float], float] = effect_by_t,
) -> NDArray[np.float64]:
    """Return the minimum detectable effect for every number of tasks (rows) and repeats (columns); NaN if unknown."""
    table = np.full((len(tasks), len(repeats)), np.nan)
    for column, repeat in enumerate(repeats):
        variance = components.delta_variance(repeat, repeat)
        if variance:
            table[:, column] = [detect(task, variance, alpha, power) for task in tasks]
    return table


def optimal_repeats(components: VarianceComponents, prices: DesignPrices) -> int | None:
    """Return the repeats that give the most precision per dollar, or None when no number is best.

    The variance times the price is least at the square root of (noise × task price) / (true variance × run price).
    """
    if components.true_deltas is None or components.candidate_runs is None or components.baseline_runs is None:
        return None
    noise = components.candidate_runs + components.baseline_runs
    run_price = prices.candidate_run_usd + prices.baseline_run_usd
    if noise == 0 or prices.task_usd == 0:
        return 1
    if components.true_deltas == 0 or run_price == 0:
        return None
    best = math.sqrt(noise * prices.task_usd / (components.true_deltas * run_price))
    if best > MOST_REPEATS:
        return None

    def price_of_precision(repeats: int) -> float:
        variance = components.delta_variance(repeats, repeats)
        return math.inf if variance is None else variance * prices.cost_usd(1, repeats)

    return min(max(1, math.floor(best)), max(1, math.ceil(best)), key=price_of_precision)


def cheapest_design(
    components: VarianceComponents,
    effect: float,
    prices: DesignPrices,
    tasks: Sequence[int],
    repeats: Sequence[int],
    alpha: float = 0.05,
    power: float = 0.8,
) -> Design | None:
    """Return the cheapest of the offered designs that shows the effect with this power, or None if none does."""
    sizes = sorted(task for task in tasks if task > 1)
    enough: list[Design] = []
    for repeat in repeats:
        offer = _smallest_sufficient(components, effect, sizes, repeat, alpha, power)
        if offer is not None:
            task, reached = offer
            cost_usd = prices.cost_usd(task, repeat)
            enough.append(Design(tasks=task, repeats=repeat, cost_usd=cost_usd, power=reached))
    return min(enough, key=lambda design: (design.cost_usd, -design.power), default=None)


def _smallest_sufficient(
    components: VarianceComponents, effect: float, sizes: Sequence[int], repeats: int, alpha: float, power: float
) -> tuple[int, float] | None:
    """Find by bisection, since power grows with tasks, the smallest size with enough power, and that power."""
    variance = components.delta_variance(repeats, repeats)
    if not variance:
        return None
    standardized = effect / math.sqrt(variance)
    found = bisect_left(sizes, power, key=lambda task: power_of_t(standardized, task, alpha))
    return None if found == len(sizes) else (sizes[found], power_of_t(standardized, sizes[found], alpha))
