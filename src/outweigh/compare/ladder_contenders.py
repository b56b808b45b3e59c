"""Who cannot be told from the best: everyone who may be the best value, and everyone who may be on the cost-quality
frontier.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_table import Column
from outweigh.compare.ladder_contrasts import ALPHA, Units
from outweigh.stats.max_t import Contrast

_EQUAL = 1e-12
_LARGEST = 1e9


class CostQuality(NamedTuple):
    """What an arm costs and what it achieves."""

    arm: str
    cost: float
    quality: float


def pareto_frontier(offers: Iterable[CostQuality]) -> tuple[str, ...]:
    """Arms that no other arm dominates, cheapest first."""
    ranked = sorted(offers, key=lambda offer: (offer.cost, -offer.quality))
    undominated = [offer for offer in ranked if not any(_dominates(other, offer) for other in ranked)]
    return tuple(offer.arm for offer in undominated)


def _dominates(one: CostQuality, other: CostQuality) -> bool:
    at_least = one.cost <= other.cost and one.quality >= other.quality
    return at_least and (one.cost < other.cost or one.quality > other.quality)


class Contenders(Struct, frozen=True, kw_only=True):
    """The best value and the frontier as the data show them, and everyone who cannot be told from them.

    `best_values` begins with the best value. `possible_frontier` are all that no one is shown to dominate.
    """

    best_value: str | None
    best_values: tuple[str, ...]
    frontier: tuple[str, ...]
    possible_frontier: tuple[str, ...]


def find_contenders(
    offers: Mapping[str, Mapping[str, Column]], families: Sequence[str] | None, *, draws: int, seed: int
) -> Contenders:
    """Compare everyone with the best. `offers` has the means by task of each, by name."""
    costs = {name: values["cost_usd"] for name, values in offers.items() if not np.isnan(values["cost_usd"]).all()}
    passes = {name: offers[name]["passed"] for name in costs if not np.isnan(offers[name]["passed"]).all()}
    points = [CostQuality(name, _mean(costs[name]), _mean(passes[name])) for name in passes]
    frontier = pareto_frontier(points)
    best = _best_value(points)
    tasks = len(next(iter(offers.values()))["passed"])
    contest = _Contest(Units(families, tasks), draws, seed)
    return Contenders(
        best_value=best,
        best_values=() if best is None else (best, *contest.rivals(best, points, costs, passes)),
        frontier=frontier,
        possible_frontier=tuple(contest.not_dominated(frontier, points, costs, passes)),
    )


def _mean(column: Column) -> float:
    return float(column[~np.isnan(column)].mean())


def _best_value(points: Iterable[CostQuality]) -> str | None:
    """The one whose passes are cheapest; one that never passes is no value at any price."""
    prices = [(point.cost / point.quality, point.arm) for point in points if point.quality > 0]
    return min(prices)[1] if prices else None


class _Contest:
    """Differences to the best, all of one question tested together."""

    def __init__(self, units: Units, draws: int, seed: int) -> None:
        self._units = units
        self._draws = draws
        self._seed = seed

    def rivals(
        self, best: str, points: Sequence[CostQuality], costs: Mapping[str, Column], passes: Mapping[str, Column]
    ) -> Iterable[str]:
        """Those whose cost of a pass is not shown to be above the best one's."""
        passing = [point.arm for point in points if point.quality > 0 and point.arm != best]
        logs = {name: self._log_price(costs[name], passes[name]) for name in (best, *passing)}
        differences = [(logs[name][0] - logs[best][0], logs[name][1] - logs[best][1]) for name in passing]
        known = [
            min(self._units.known(values[arm]) for values in (costs, passes) for arm in (best, name))
            for name in passing
        ]
        signs = self._signs(differences, known)
        return (name for name, sign in zip(passing, signs, strict=True) if sign is None or sign <= 0)

    def not_dominated(
        self,
        frontier: Sequence[str],
        points: Sequence[CostQuality],
        costs: Mapping[str, Column],
        passes: Mapping[str, Column],
    ) -> Iterable[str]:
        """The frontier, and everyone whom none on it is shown to beat on one count without losing on the other."""
        others = [point.arm for point in points if point.arm not in frontier]
        pairs = [(leader, name) for name in others for leader in frontier]
        dearer = [costs[name] - costs[leader] for leader, name in pairs]
        worse = [passes[leader] - passes[name] for leader, name in pairs]
        both = [*dearer, *worse]
        signs = self._signs([self._units.influences(each) for each in both], [self._units.known(each) for each in both])
        beaten = set()
        for (_, name), cost, quality in zip(pairs, signs[: len(pairs)], signs[len(pairs) :], strict=True):
            if cost is not None and quality is not None and max(cost, quality) > 0 and min(cost, quality) >= 0:
                beaten.add(name)
        return (*frontier, *(name for name in others if name not in beaten))

    def _log_price(self, cost: Column, passed: Column) -> tuple[float, Column]:
        (dollars, of_cost), (rate, of_rate) = self._units.influences(cost), self._units.influences(passed)
        if dollars <= 0:
            return -math.inf, of_rate
        return math.log(dollars / rate), of_cost / dollars - of_rate / rate

    def _signs(self, differences: Sequence[tuple[float, Column]], known: Sequence[int]) -> list[int | None]:
        """The sign of every difference, given with its influences and the number of units that know it."""
        # Where the best costs nothing, others are dearer without bound.
        finite = [(min(estimate, _LARGEST), influences) for estimate, influences in differences]
        tested = self._units.test(finite, draws=self._draws, seed=self._seed).contrasts
        return [self._sign(contrast, units) for contrast, units in zip(tested, known, strict=True)]

    def _sign(self, contrast: Contrast, known: int) -> int | None:
        """The sign of a difference; 0 where both are the same on every task, None where it cannot be told."""
        if contrast.estimate is None:
            return None
        if contrast.simultaneous is not None:
            if contrast.simultaneous.low > 0:
                return 1
            return -1 if contrast.simultaneous.high < 0 else None
        # The same difference on every unit that knows it is shown once a sign test could show it.
        enough = 2 * 0.5**known <= ALPHA
        if abs(contrast.estimate) <= _EQUAL:
            return 0 if enough or known == self._units.count else None
        return int(math.copysign(1, contrast.estimate)) if enough else None
