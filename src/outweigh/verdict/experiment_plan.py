"""The size of the next experiment: how often the rule that will decide would call it improved, decide at all, or err.

Every probability is a share of simulated experiments. It is for effects that are stated, with the variation of the
pilot's tasks and runs; how far that variation is known gives the range. Where the effects are those that the pilot
shows, they are drawn anew for every range's set of parameters, because a pilot does not know them either.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.distributions import normal_quantile
from outweigh.stats.power import DesignPrices
from outweigh.verdict.decision import Decision
from outweigh.verdict.planned_experiment import Chance, Doubling, OfferedSizes, PlannedDesign, PlannedSize
from outweigh.verdict.rule_on_arrays import GateLimits, SimulatedDecisions, decide_many
from outweigh.verdict.simulated_experiments import Effects, simulate
from outweigh.verdict.task_population import TaskPopulation

EXPERIMENTS = 240
"""Experiments simulated with the estimated variation."""
SETS, EXPERIMENTS_PER_SET = 16, 15
"""Sets of parameters that a range rests on, and experiments simulated with each of them."""
MOST_RUNS = 600_000
"""Runs per arm that are simulated for one question; larger sizes get fewer experiments."""
FEWEST_EXPERIMENTS = 40
MOST_TASKS = 3_200
REACH = 2.0
"""Standard errors to each side of a chance in its range. A small pilot misjudges these errors too, so that the range
holds what happens less often than in 19 plans of 20; docs/calibration.md has the measured shares.
"""


class ExperimentPlanner:
    """Simulates experiments with one population of tasks, one set of limits and one stated effect."""

    def __init__(
        self,
        population: TaskPopulation,
        limits: Sequence[GateLimits],
        effects: Mapping[str, float],
        prices: DesignPrices | None,
        seed: int,
    ) -> None:
        self._population, self._limits, self._prices = population, limits, prices
        self._stated, self._seed = Effects(stated=effects), seed

    def sizes(self, offered: OfferedSizes) -> tuple[PlannedSize, ...]:
        """Every offered size that the pilot can foresee."""
        repeats = [number for number in offered.repeats if self._foresees(number)]
        sizes = offered.tasks, repeats
        estimate, others = self._sets(sizes, estimate=True), self._sets(sizes, estimate=False)
        stated = self._run(self._stated, sizes, np.concatenate([estimate, others]))
        alike = self._run(Effects(stated={}), sizes, estimate)
        pilot = self._run(Effects(stated=None), sizes, others) if self._population.tasks else {}
        return tuple(
            self._planned(tasks, number, stated[tasks, number], alike[tasks, number], pilot.get((tasks, number)))
            for tasks in offered.tasks
            for number in repeats
        )

    def designs(self, planned: Sequence[PlannedSize], power: float) -> tuple[PlannedDesign, ...]:
        """For each number of repeats, the fewest tasks with which an improvement is seen often enough."""
        found = []
        for repeats in dict.fromkeys(size.repeats for size in planned):
            known = [(size.tasks, size.improved.value) for size in planned if size.repeats == repeats]
            design = self._design(repeats, known, power)
            if design is not None:
                found.append(design)
        return tuple(found)

    def doubling(self, tasks: int, repeats: int) -> Doubling:
        """What buying as much again would do."""
        foresees = self._foresees(2 * repeats)
        numbers = [repeats, 2 * repeats] if foresees else [repeats]
        sizes = (tasks, 2 * tasks), numbers
        found = self._run(self._stated, sizes, self._sets(sizes, estimate=True))
        shares = {size: counts.share(Decision.IMPROVED) for size, counts in found.items()}
        return Doubling(
            tasks=tasks,
            repeats=repeats,
            improved=shares[tasks, repeats],
            twice_the_tasks=shares[2 * tasks, repeats],
            twice_the_repeats=shares[tasks, 2 * repeats] if foresees else None,
        )

    def _foresees(self, repeats: int) -> bool:
        """Without repeats in the pilot nothing tells what more of them would do."""
        return self._population.separated or repeats == 1

    def _sets(self, sizes: tuple[Sequence[int], Sequence[int]], *, estimate: bool) -> NDArray[np.intp]:
        """Which parameters each experiment is drawn with."""
        affordable = MOST_RUNS // (max(sizes[0]) * max(sizes[1]))
        if estimate:
            return np.zeros(max(FEWEST_EXPERIMENTS, min(EXPERIMENTS, affordable)), dtype=np.intp)
        others = np.arange(1, self._population.sets)
        each = max(4, min(EXPERIMENTS_PER_SET * SETS, affordable) // max(1, len(others)))
        return np.repeat(others, each)

    def _run(
        self, effects: Effects, sizes: tuple[Sequence[int], Sequence[int]], sets: NDArray[np.intp]
    ) -> dict[tuple[int, int], "_Counts"]:
        found: dict[tuple[int, int], _Counts] = defaultdict(_Counts)
        random = np.random.default_rng(self._seed)
        for size in simulate(self._population, self._limits, effects, sizes, sets, random):
            found[size.tasks, size.repeats].add(decide_many(size.gates), size.sets)
        return dict(found)

    def _planned(
        self, tasks: int, repeats: int, stated: "_Counts", alike: "_Counts", pilot: "_Counts | None"
    ) -> PlannedSize:
        false = alike.share(Decision.IMPROVED, Decision.REGRESSED, Decision.TRADE_OFF)
        return PlannedSize(
            tasks=tasks,
            repeats=repeats,
            cost_usd=None if self._prices is None else self._prices.cost_usd(tasks, repeats),
            improved=stated.chance(Decision.IMPROVED),
            decided=stated.chance(*_FIRM),
            as_pilot=None if pilot is None else pilot.chance(Decision.IMPROVED, predictive=True),
            same=alike.share(Decision.NEUTRAL),
            false=false,
            in_the_way=stated.in_the_way(),
        )

    def _design(self, repeats: int, known: list[tuple[int, float]], power: float) -> PlannedDesign | None:
        """Between the two sizes around the wanted chance, where it is as a normal quantile nearly linear in √tasks."""
        while known[-1][1] < power:
            tasks = 2 * known[-1][0]
            if tasks > MOST_TASKS or tasks * repeats * FEWEST_EXPERIMENTS > MOST_RUNS * 2:
                return None
            sizes = (tasks,), (repeats,)
            counts = self._run(self._stated, sizes, self._sets(sizes, estimate=True))
            known = [*known, (tasks, counts[tasks, repeats].share(Decision.IMPROVED))]
        reached = next(place for place, (_, chance) in enumerate(known) if chance >= power)
        tasks = known[0][0] if reached == 0 else _between(known[reached - 1], known[reached], power)
        cost = None if self._prices is None else self._prices.cost_usd(tasks, repeats)
        chance = known[0][1] if reached == 0 else power
        return PlannedDesign(tasks=tasks, repeats=repeats, cost_usd=cost, improved=chance)


_FIRM = tuple(decision for decision in Decision if decision is not Decision.INCONCLUSIVE)


def _between(low: tuple[int, float], high: tuple[int, float], power: float) -> int:
    (few, below), (many, above) = ((sqrt(tasks), _quantile(chance)) for tasks, chance in (low, high))
    share = (_quantile(power) - below) / max(above - below, 1e-9)
    return min(high[0], ceil((few + max(0.0, share) * (many - few)) ** 2))


def _quantile(chance: float) -> float:
    return normal_quantile(min(max(chance, 0.002), 0.998))


class _Counts:
    """Decisions of simulated experiments of one size, by the set of parameters that they were drawn with."""

    def __init__(self) -> None:
        self._sets: list[NDArray[np.intp]] = []
        self._flags: dict[Decision, list[NDArray[np.bool_]]] = defaultdict(list)
        self._lacking: dict[str, int] = defaultdict(int)

    def add(self, decisions: SimulatedDecisions, sets: NDArray[np.intp]) -> None:
        self._sets.append(sets)
        for decision, flags in decisions.decided.items():
            self._flags[decision].append(flags)
        for name, flags in decisions.lacking.items():
            self._lacking[name] += int(flags.sum())

    def share(self, *decisions: Decision) -> float:
        """Over all experiments."""
        return float(self._either(decisions).mean())

    def chance(self, *decisions: Decision, predictive: bool = False) -> Chance:
        """By the estimated parameters, or over all possible ones where `predictive`, with the range of these."""
        flags, sets = self._either(decisions), np.concatenate(self._sets)
        chosen = flags[sets > 0] if predictive else flags[sets == 0]
        value = float(chosen.mean())
        others = [flags[sets == number] for number in np.unique(sets[sets > 0]).tolist()]
        low, high = _range(others, value, len(chosen))
        return Chance(value=value, low=low, high=high)

    def in_the_way(self) -> Mapping[str, float]:
        undecided = int(self._either((Decision.INCONCLUSIVE,)).sum())
        return {name: number / undecided for name, number in self._lacking.items() if number} if undecided else {}

    def _either(self, decisions: Sequence[Decision]) -> NDArray[np.bool_]:
        flags: NDArray[np.bool_] = np.logical_or.reduce([np.concatenate(self._flags[one]) for one in decisions])
        return flags


FEWEST_FOR_QUANTILES = 8


def _range(
    sets: Sequence[NDArray[np.bool_]], value: float, experiments: int
) -> tuple[float, float] | tuple[None, None]:
    """How far the chance could be off: by what the sets differ beyond luck, and by the luck of the simulation itself.

    Few sets are no sample, and the range is then all of them.
    """
    if not sets:
        return None, None
    chances = [float(flags.mean()) for flags in sets]
    if len(sets) < FEWEST_FOR_QUANTILES:
        return min(value, *chances), max(value, *chances)
    luck = np.mean(
        [chance * (1 - chance) / max(1, len(flags) - 1) for chance, flags in zip(chances, sets, strict=True)]
    )
    between = max(float(np.var(chances, ddof=1) - luck), 0.0)
    reach = REACH * sqrt(between + value * (1 - value) / experiments)
    return max(0.0, value - reach), min(1.0, value + reach)
