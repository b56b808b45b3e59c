"""Choosing tasks and repeats before the money is spent: what can be seen, and what it costs.

Both arms get the same repeats. More tasks reduce every part of the variance, more repeats only the noise of runs.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.power import effect_by_t, power_of_t
from outweigh.stats.variance import VarianceComponents

MOST_REPEATS = 10_000
"""Beyond this the tasks are alike for every practical purpose, and no number of repeats is best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a design pays for: once per task (writing, checking), and per run of each arm."""

    task_usd: float
    candidate_run_usd: float
    baseline_run_usd: float

    def cost_usd(self, tasks: int, repeats: int) -> float:
        """Return the price of this many tasks with this many repeats in both arms."""
        return tasks * (self.task_usd + repeats * (self.candidate_run_usd + self.baseline_run_usd))


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
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


def optimal_repeats(components: VarianceComponents, prices: Prices) -> int | None:
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
    prices: Prices,
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
