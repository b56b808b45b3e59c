"""What a plan says: a size of experiment with its chances and price, the designs that are enough, and the goal."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from outweigh.compare.pilot import Pilot
from outweigh.stats.power import DesignPrices
from outweigh.stats.variance import VarianceComponents


class OfferedSizes(Struct, frozen=True, kw_only=True):
    """What may be bought, sorted."""

    tasks: tuple[int, ...]
    repeats: tuple[int, ...]


class Chance(Struct, frozen=True, kw_only=True):
    """A probability, and the range of what the pilot leaves possible; no range where the variation was stated."""

    value: float
    low: float | None = None
    high: float | None = None


class PlannedSize(Struct, frozen=True, kw_only=True):
    """One size of experiment, repeats per task and arm.

    `improved` and `decided` are for the stated effects, `as_pilot` is an improvement if the effects are those of the
    pilot. `same` and `false` are for arms that are alike: a decision that they are, and one that they are not.
    `in_the_way` has, among experiments with the stated effects that end inconclusive, the share that each gate, or
    the gain itself, kept from an improvement.
    """

    tasks: int
    repeats: int
    cost_usd: float | None
    improved: Chance
    decided: Chance
    as_pilot: Chance | None
    same: float
    false: float
    in_the_way: Mapping[str, float]


class PlannedDesign(Struct, frozen=True, kw_only=True):
    """The fewest tasks that reach the wanted chance with so many repeats."""

    tasks: int
    repeats: int
    cost_usd: float | None
    improved: float

    @property
    def runs(self) -> int:
        """The runs of both arms."""
        return 2 * self.tasks * self.repeats


def cheapest(designs: Sequence[PlannedDesign]) -> PlannedDesign | None:
    """The design that costs least; the one with the fewest runs where prices are unknown."""
    return min(
        designs,
        key=lambda design: (design.runs if design.cost_usd is None else design.cost_usd, design.runs),
        default=None,
    )


class LookEndings(Struct, frozen=True, kw_only=True):
    """How experiments with planned looks end: the chance of an improvement and of an end before the last look, and
    the mean of the tasks that they take, with what these cost.
    """

    improved: float
    ends_early: float
    tasks: float
    cost_usd: float | None


class LookForecast(Struct, frozen=True, kw_only=True):
    """One design run with planned looks, with the stated effects and with arms that are alike."""

    design: PlannedDesign
    looks: int
    stated: LookEndings
    alike: LookEndings


class Doubling(Struct, frozen=True, kw_only=True):
    """The chance of an improvement at one size, with twice its tasks, and with twice its repeats if that is known."""

    tasks: int
    repeats: int
    improved: float
    twice_the_tasks: float
    twice_the_repeats: float | None


class VisibleChange(Struct, frozen=True, kw_only=True):
    """What one size of experiment can show of a metric, in at least the wanted share of experiments.

    `gain` is the smallest that is called improved, `loss` the smallest that is called regressed, as people write them
    and without a sign; None where none is. `largest_gain` is the largest that is possible, and `largest_chance` how
    often it is called improved.
    """

    tasks: int
    repeats: int
    gain: float | None
    loss: float | None
    largest_gain: float
    largest_chance: float


class PlanGoal(Struct, frozen=True, kw_only=True):
    """What to see: an improvement, if the candidate in truth has these effects, with at least this chance.

    Effects are as people write them: points of a rate (0.05 is five points), or a relative change (−0.1 is 10 % less).
    Gates without an effect do not change. `metric` is the gate whose variation the plan explains.
    """

    metric: str
    relative: bool
    effects: Mapping[str, float]
    power: float


class ExperimentPlan(Struct, frozen=True, kw_only=True):
    """`pilot` is None where there was none, `prices` where they are unknown; `gates` are those that were simulated, by
    this `version` of the rule. `looks` is for the cheapest design, where one is enough. `suite_tasks` is how many tasks
    the suite has, and `visible` what they can show; None without a suite, and where they are too few for any verdict.
    `simulated` says that the prices are those of a pilot whose agents only pretended to spend dollars.
    """

    goal: PlanGoal
    version: int
    gates: tuple[str, ...]
    pilot: Pilot | None
    components: VarianceComponents
    prices: DesignPrices | None
    sizes: tuple[PlannedSize, ...]
    designs: tuple[PlannedDesign, ...]
    looks: LookForecast | None
    doubling: Doubling
    warnings: tuple[str, ...]
    suite_tasks: int | None = None
    visible: VisibleChange | None = None
    simulated: bool = False

    @property
    def target(self) -> PlannedDesign | None:
        """The cheapest design that is enough."""
        return cheapest(self.designs)
