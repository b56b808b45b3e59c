"""The size of the next experiment: how often the rule that will decide would call it improved, decide at all, or err.

Every probability is a share of simulated experiments. It is for effects that are stated, with the variation of the
pilot's tasks and runs. Estimates from pilots that are drawn from the estimated population show the bias of such a
plan, which is taken out, and how far plans scatter, which gives the range. Where the effects are those that the pilot
shows, each of these pilots has its own, because a pilot does not know them either.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, log1p, sqrt
from statistics import fmean

import numpy as np

from outweigh.model.look_plan import LookPlan, plan_even_looks
from outweigh.stats.distributions import normal_quantile
from outweigh.stats.power import DesignPrices
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import GATED_METRICS, PASS_RATE, EffectScale
from outweigh.verdict.gate_tests_on_arrays import GateLimits
from outweigh.verdict.looks_on_arrays import decide_at_looks
from outweigh.verdict.planned_experiment import (
    Chance,
    Doubling,
    LookEndings,
    LookForecast,
    OfferedSizes,
    PlannedDesign,
    PlannedSize,
    VisibleChange,
)
from outweigh.verdict.possible_populations import PossiblePopulations
from outweigh.verdict.rule_on_arrays import SimulatedRule, decide_many
from outweigh.verdict.simulated_chances import (
    Tally,
    bounded_chance,
    corrected_chance,
    corrected_share,
    predictive_chance,
)
from outweigh.verdict.simulated_experiments import Effects, SimulatedSize, simulate
from outweigh.verdict.task_population import TaskPopulation

EXPERIMENTS = 400
"""Experiments simulated for one size, with the estimated population and with all others together."""
EXPERIMENTS_AT_LOOKS = 200
MOST_RUNS = 800_000
"""Runs per arm that are simulated for one question; larger sizes get fewer experiments."""
FEWEST_EXPERIMENTS = 40
MOST_TASKS = 3_200
VISIBLE_STEP = 0.005
LARGEST_SAVING, LARGEST_RISE = 0.9, 4.0
"""What is looked for of a resource: up to a tenth of it, or five times as much."""
SizeGrid = tuple[Sequence[int], Sequence[int]]
Tallies = Mapping[tuple[int, int], Tally]


class ExperimentPlanner:
    """Simulates experiments with what a pilot leaves possible, one set of limits and one stated effect."""

    def __init__(
        self,
        populations: PossiblePopulations,
        limits: Sequence[GateLimits],
        effects: Mapping[str, float],
        rule: SimulatedRule,
        prices: DesignPrices | None,
        seed: int,
    ) -> None:
        self._populations, self._limits, self._prices = populations, limits, prices
        self._stated, self._rule, self._seed = Effects(stated=effects), rule, seed

    def sizes(self, offered: OfferedSizes) -> tuple[PlannedSize, ...]:
        """Every offered size that the pilot can foresee."""
        repeats = [number for number in offered.repeats if self._foresees(number)]
        grid = offered.tasks, repeats
        estimate, others = self._run_all(self._stated, grid)
        alike = self._run(self._populations.estimate, Effects(stated={}), grid, range(self._blocks))
        pilot = self._run_others(Effects(stated=None), grid) if self._populations.refitted else []
        return tuple(
            self._planned(
                size,
                estimate[size],
                [other[size] for other in others],
                alike[size],
                [seen[size] for seen in pilot],
            )
            for size in ((tasks, number) for tasks in offered.tasks for number in repeats)
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
        shares = self._improved(((tasks, 2 * tasks), [repeats, 2 * repeats] if foresees else [repeats]))
        return Doubling(
            tasks=tasks,
            repeats=repeats,
            improved=shares[tasks, repeats],
            twice_the_tasks=shares[2 * tasks, repeats],
            twice_the_repeats=shares[tasks, 2 * repeats] if foresees else None,
        )

    def visible(self, metric: str, tasks: int, repeats: int, power: float) -> VisibleChange:
        """The smallest gain and the smallest loss that an experiment of this size shows often enough."""
        size = (tasks, repeats)
        most = self._largest_changes(metric)
        gain = self._smallest(metric, size, most[0], Decision.IMPROVED, power)
        loss = self._smallest(metric, size, most[1], Decision.REGRESSED, power)
        return VisibleChange(
            tasks=tasks,
            repeats=repeats,
            gain=gain,
            loss=loss,
            largest_gain=abs(most[0]),
            largest_chance=self._share(metric, size, most[0], Decision.IMPROVED),
        )

    def _largest_changes(self, metric: str) -> tuple[float, float]:
        """The largest gain and loss that are looked for: all that a rate leaves room for, half or twice a resource."""
        if GATED_METRICS[metric].scale is EffectScale.RATIO:
            return -LARGEST_SAVING, LARGEST_RISE
        population = self._populations.estimate
        baseline = population.variations[population.gates.index(metric)].baseline if metric == PASS_RATE else 0.5
        return 1 - baseline, -baseline

    def _smallest(
        self, metric: str, size: tuple[int, int], largest: float, decision: Decision, power: float
    ) -> float | None:
        """By halving, to half a point: the chance grows with the change."""
        if self._share(metric, size, largest, decision) < power:
            return None
        low, high = 0.0, abs(largest)
        while high - low > VISIBLE_STEP:
            middle = (low + high) / 2
            enough = self._share(metric, size, middle if largest > 0 else -middle, decision) >= power
            low, high = (low, middle) if enough else (middle, high)
        return high

    def _share(self, metric: str, size: tuple[int, int], change: float, decision: Decision) -> float:
        """How often a change, as people write it, leads to this decision."""
        effect = log1p(change) if GATED_METRICS[metric].scale is EffectScale.RATIO else change
        grid = (size[0],), (size[1],)
        effects = Effects(stated={metric: effect})
        return self._run(self._populations.estimate, effects, grid, range(self._blocks))[size].share(decision)

    def looks(self, design: PlannedDesign) -> LookForecast:
        """What becomes of a design that is run with planned looks."""
        plan = plan_even_looks([str(task) for task in range(design.tasks)], design.repeats)
        stated = self._end_at_looks(self._populations.estimate, self._stated, plan, range(self._blocks))
        alike = self._end_at_looks(self._populations.estimate, Effects(stated={}), plan, range(self._blocks))
        improved, early, tasks = stated
        if self._populations.refitted:
            others = [
                self._end_at_looks(other, self._stated, plan, [block])
                for block, other in enumerate(self._populations.others)
            ]
            improved, early = (corrected_share(stated[at], [other[at] for other in others]) for at in range(2))
            tasks = min(max(2 * tasks - fmean(other[2] for other in others), plan.sizes[0]), design.tasks)
        return LookForecast(
            design=design,
            looks=len(plan.sizes),
            stated=self._endings((improved, early, tasks), design),
            alike=self._endings(alike, design),
        )

    def _end_at_looks(
        self, population: TaskPopulation, effects: Effects, plan: LookPlan, blocks: Sequence[int]
    ) -> tuple[float, float, float]:
        """The share that is improved, the share that ends early, and the mean of the tasks."""
        grid = (len(plan.order),), (plan.repeats,)
        ended = [
            decide_at_looks(size.gates, plan, self._rule)
            for block in blocks
            for size in self._simulate(population, effects, grid, block, EXPERIMENTS_AT_LOOKS)
        ]
        improved = np.concatenate([each.decided[Decision.IMPROVED] for each in ended])
        tasks = np.concatenate([each.tasks for each in ended])
        return float(improved.mean()), float((tasks < len(plan.order)).mean()), float(tasks.mean())

    def _endings(self, found: tuple[float, float, float], design: PlannedDesign) -> LookEndings:
        improved, early, tasks = found
        cost = None
        if self._prices is not None:
            # All tasks are made before the first run; what an early end saves is runs.
            prices, runs = self._prices, tasks * design.repeats
            cost = design.tasks * prices.task_usd + runs * (prices.candidate_run_usd + prices.baseline_run_usd)
        return LookEndings(improved=improved, ends_early=early, tasks=tasks, cost_usd=cost)

    def _foresees(self, repeats: int) -> bool:
        """Without repeats in the pilot nothing tells what more of them would do."""
        return self._populations.estimate.separated or repeats == 1

    @property
    def _blocks(self) -> int:
        """Each refit is simulated with the same random numbers as one block of the estimate's experiments."""
        return len(self._populations.others) if self._populations.refitted else 1

    def _run_all(self, effects: Effects, grid: SizeGrid) -> tuple[Tallies, list[Tallies]]:
        return self._run(self._populations.estimate, effects, grid, range(self._blocks)), self._run_others(
            effects, grid
        )

    def _run_others(self, effects: Effects, grid: SizeGrid) -> list[Tallies]:
        blocks = range(self._blocks) if self._populations.refitted else [0] * len(self._populations.others)
        return [
            self._run(other, effects, grid, [block])
            for other, block in zip(self._populations.others, blocks, strict=True)
        ]

    def _run(self, population: TaskPopulation, effects: Effects, grid: SizeGrid, blocks: Sequence[int]) -> Tallies:
        found: dict[tuple[int, int], Tally] = defaultdict(Tally)
        for block in blocks:
            for size in self._simulate(population, effects, grid, block, EXPERIMENTS):
                found[size.tasks, size.repeats].add(decide_many(size.gates, self._rule))
        return dict(found)

    def _simulate(
        self, population: TaskPopulation, effects: Effects, grid: SizeGrid, block: int, experiments: int
    ) -> Iterator[SimulatedSize]:
        affordable = max(FEWEST_EXPERIMENTS, min(experiments, MOST_RUNS // (max(grid[0]) * max(grid[1]))))
        random = np.random.default_rng([self._seed, block])
        yield from simulate(population, self._limits, effects, grid, max(2, affordable // self._blocks), random)

    def _improved(self, grid: SizeGrid) -> Mapping[tuple[int, int], float]:
        estimate, others = self._run_all(self._stated, grid)
        return {
            size: self._chance(tally, [other[size] for other in others], Decision.IMPROVED).value
            for size, tally in estimate.items()
        }

    def _chance(self, estimate: Tally, others: Sequence[Tally], *decisions: Decision) -> Chance:
        if not self._populations.refitted:
            return bounded_chance(estimate, others, *decisions)
        return corrected_chance(estimate, others, self._populations.estimate.tasks, *decisions)

    def _planned(
        self, size: tuple[int, int], stated: Tally, others: Sequence[Tally], alike: Tally, pilot: Sequence[Tally]
    ) -> PlannedSize:
        tasks, repeats = size
        improved, decided = self._chance(stated, others, Decision.IMPROVED), self._chance(stated, others, *_FIRM)
        return PlannedSize(
            tasks=tasks,
            repeats=repeats,
            cost_usd=None if self._prices is None else self._prices.cost_usd(tasks, repeats),
            improved=improved,
            # Each is corrected by itself, and an improvement is a decision.
            decided=decided if decided.value >= improved.value else improved,
            as_pilot=predictive_chance(pilot, self._populations.estimate.tasks, Decision.IMPROVED) if pilot else None,
            same=alike.share(Decision.NEUTRAL),
            false=alike.share(Decision.IMPROVED, Decision.REGRESSED, Decision.TRADE_OFF),
            in_the_way=stated.in_the_way(),
        )

    def _design(self, repeats: int, known: list[tuple[int, float]], power: float) -> PlannedDesign | None:
        """Between the two sizes around the wanted chance, where it is as a normal quantile nearly linear in √tasks."""
        while known[-1][1] < power:
            tasks = 2 * known[-1][0]
            if tasks > MOST_TASKS or tasks * repeats * FEWEST_EXPERIMENTS > MOST_RUNS * 2:
                return None
            known = [*known, (tasks, self._improved(((tasks,), (repeats,)))[tasks, repeats])]
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
