"""The size of the next experiment: what each number of tasks and repeats could detect, what it costs, and which to
buy more of.

A plan rests on variances alone. The effect that a pilot happened to show plays no part, so this is never power
after the fact.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import expm1, log1p, sqrt

from outweigh.compare.pilot import Pilot
from outweigh.errors import EvidenceError
from outweigh.stats.estimate import Quantity, known, unknown
from outweigh.stats.power import Design, DesignPrices, cheapest_design, effect_by_t, optimal_repeats
from outweigh.stats.variance import VarianceComponents

MOST_TASKS = 100_000
# Where the cost of a run is unknown, the cheapest design is the one with the fewest runs.
ONE_PER_RUN = DesignPrices(task_usd=0.0, candidate_run_usd=1.0, baseline_run_usd=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGoal:
    """The effect to see: points of a rate, or, where `relative`, a change (0.05 is 5 %) that is tested on logs."""

    metric: str
    relative: bool
    effect: float
    alpha: float
    power: float

    @property
    def on_scale(self) -> float:
        """The effect where the test happens."""
        return log1p(self.effect) if self.relative else self.effect

    @property
    def largest(self) -> float:
        """The largest effect worth showing: ten times as much, or from nothing to everything."""
        return 9.0 if self.relative else 1.0

    def shown(self, on_scale: float) -> Quantity:
        """An effect as it is entered, or the reason why no real one is that large."""
        if on_scale > (log1p(self.largest) if self.relative else self.largest):
            return unknown(f"a design whose effect is null would miss even an effect of {self.largest:g}")
        return known(expm1(on_scale) if self.relative else on_scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedSizes:
    """What may be bought. No design has fewer than `fewest_tasks`, because no verdict would rest on them."""

    tasks: tuple[int, ...]
    repeats: tuple[int, ...]
    fewest_tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSize:
    """One size of experiment: repeats are per task and arm, the effect is the smallest that it would likely see."""

    tasks: int
    repeats: int
    effect: Quantity
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """What to buy next, from `start`: twice the tasks, or twice the repeats."""

    start: PlannedSize
    twice_the_tasks: PlannedSize
    twice_the_repeats: PlannedSize
    buy_repeats: bool
    share_between_tasks: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePlan:
    """`pilot` is None where the variances were stated, `prices` where they are unknown.

    `designs` holds, for each number of repeats, the fewest tasks that see the effect; with unknown prices their cost
    counts runs.
    """

    goal: PlanGoal
    pilot: Pilot | None
    components: VarianceComponents
    prices: DesignPrices | None
    detectable: tuple[PlannedSize, ...]
    designs: tuple[Design, ...]
    step: NextStep
    warnings: tuple[str, ...]

    @property
    def target(self) -> Design | None:
        """The cheapest design that sees the effect."""
        return min(self.designs, key=lambda design: (design.cost_usd, design.tasks * design.repeats), default=None)


def state_components(true_deltas: float, candidate_runs: float, baseline_runs: float) -> VarianceComponents:
    """Variances that are known without a pilot."""
    return VarianceComponents(
        true_deltas=true_deltas,
        candidate_runs=candidate_runs,
        baseline_runs=baseline_runs,
        observed_deltas=None,
        tasks=0,
        warnings=(),
    )


def plan_sample(
    goal: PlanGoal,
    sizes: OfferedSizes,
    components: VarianceComponents,
    prices: DesignPrices | None,
    pilot: Pilot | None,
    doubts: tuple[str, ...],
) -> SamplePlan:
    """Lay out every offered size, and find the cheapest that sees the effect; `doubts` about prices are passed on."""
    if components.true_deltas is None and 1 not in sizes.repeats:
        raise EvidenceError(
            "the pilot ran every task once, so it shows what 1 repeat would do and nothing else. Add 1 to --repeats, "
            "or run every task at least twice."
        )
    planner = _Planner(goal, components, prices)
    detectable = tuple(planner.cell(tasks, repeats) for tasks in sizes.tasks for repeats in sizes.repeats)
    designs = tuple(planner.designs(sizes))
    start = (sizes.tasks[0], sizes.repeats[0]) if pilot is None else (pilot.tasks, pilot.repeats)
    return SamplePlan(
        goal=goal,
        pilot=pilot,
        components=components,
        prices=prices,
        detectable=detectable,
        designs=designs,
        step=planner.next_step(*start),
        warnings=(*(() if pilot is None else pilot.warnings), *doubts, *_silences(detectable, designs)),
    )


class _Planner:
    def __init__(self, goal: PlanGoal, components: VarianceComponents, prices: DesignPrices | None) -> None:
        self._goal, self._prices = goal, prices
        self._separated = components.true_deltas is not None
        # With one run per task nothing is separated, but their sum is all that one repeat needs.
        self._components = (
            components
            if self._separated
            else replace(components, true_deltas=components.observed_deltas, candidate_runs=0.0, baseline_runs=0.0)
        )

    def cell(self, tasks: int, repeats: int) -> PlannedSize:
        cost = None if self._prices is None else self._prices.cost_usd(tasks, repeats)
        return PlannedSize(tasks=tasks, repeats=repeats, effect=self._detectable(tasks, repeats), cost_usd=cost)

    def designs(self, sizes: OfferedSizes) -> Iterator[Design]:
        offered, prices = range(sizes.fewest_tasks, MOST_TASKS + 1), self._prices or ONE_PER_RUN
        effect, alpha, power = self._goal.on_scale, self._goal.alpha, self._goal.power
        for repeats in filter(self._foresees, sizes.repeats):
            design = cheapest_design(self._components, effect, prices, offered, [repeats], alpha, power)
            if design is not None:
                yield design

    def next_step(self, tasks: int, repeats: int) -> NextStep:
        return NextStep(
            start=self.cell(tasks, repeats),
            twice_the_tasks=self.cell(2 * tasks, repeats),
            twice_the_repeats=self.cell(tasks, 2 * repeats),
            buy_repeats=self._repeats_pay(repeats),
            share_between_tasks=self._share(repeats),
        )

    def _detectable(self, tasks: int, repeats: int) -> Quantity:
        if not self._foresees(repeats):
            return unknown("effects at more than 1 repeat are null: a pilot with 1 does not show what more would do")
        deviation = sqrt(self._components.delta_variance(repeats, repeats) or 0.0)
        return self._goal.shown(deviation * _standardized(tasks, self._goal.alpha, self._goal.power))

    def _foresees(self, repeats: int) -> bool:
        return self._separated or repeats == 1

    def _repeats_pay(self, repeats: int) -> bool:
        """For as many runs more tasks always see more, so repeats pay only where a task has a price of its own."""
        if not self._separated or self._prices is None or self._prices.task_usd == 0:
            return False
        best = optimal_repeats(self._components, self._prices)
        return best is None or best > repeats

    def _share(self, repeats: int) -> float | None:
        """The part of a delta's variance that repeats cannot reduce."""
        true, whole = self._components.true_deltas, self._components.delta_variance(repeats, repeats)
        return true / whole if self._separated and true is not None and whole else None


@cache
def _standardized(tasks: int, alpha: float, power: float) -> float:
    """The smallest effect in standard deviations of a task's delta, which all numbers of repeats share."""
    return effect_by_t(tasks, 1.0, alpha, power)


def _silences(cells: Iterable[PlannedSize], designs: Sequence[Design]) -> Iterator[str]:
    """Why a number is missing."""
    yield from dict.fromkeys(f"{cell.effect.reason}." for cell in cells if cell.effect.reason is not None)
    if not designs:
        yield f"target is null: no offered number of repeats sees the effect with {MOST_TASKS:,} tasks or fewer."
