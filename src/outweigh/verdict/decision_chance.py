"""How likely an experiment is to end in a decision, before its first run: the share of simulated experiments that do.

They are simulated with their planned looks, as a run until decided takes them. A decision is any but inconclusive:
improved, regressed, neutral or a trade-off.
"""

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from outweigh.model.look_plan import plan_even_looks
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import MINIMUM_TASKS, PASS_RATE
from outweigh.verdict.gate_tests_on_arrays import GateLimits
from outweigh.verdict.looks_on_arrays import decide_at_looks
from outweigh.verdict.planned_experiment import Chance
from outweigh.verdict.possible_populations import PossiblePopulations
from outweigh.verdict.rule_on_arrays import SimulatedRule
from outweigh.verdict.simulated_experiments import Effects, simulate
from outweigh.verdict.task_population import TaskPopulation

UNLIKELY = 0.2
"""Below this chance of a decision, people are told what would make it even."""
EVEN = 0.5
EXPERIMENTS = 1_000
EXPERIMENTS_IN_SEARCH = 200
MOST_TASKS = 2_000
SMALLEST_STEP = 0.01


class DecisionOutlook(Struct, frozen=True, kw_only=True):
    """What can be expected of an experiment with so many tasks.

    `chance` is that of a decision if the pass rate rises by `gain`, and `if_same` that if nothing changes. `even_tasks`
    are the tasks that would make the chance even; None where `MOST_TASKS` are not enough. `even_gain` is the gain
    that these tasks would decide about with an even chance; None where there is none. Both are looked for only where
    a decision is unlikely.
    """

    tasks: int
    gain: float
    chance: Chance
    if_same: float
    even_tasks: int | None
    even_gain: float | None

    @property
    def is_unlikely(self) -> bool:
        """Whether a decision is so unlikely that people are told what would change that."""
        return self.chance.value < UNLIKELY


class DecisionSimulation(Struct, frozen=True, kw_only=True, eq=False):
    """What is simulated: how tasks and runs vary, what the rule holds the gates to, and the repeats of every task."""

    populations: PossiblePopulations
    limits: tuple[GateLimits, ...]
    rule: SimulatedRule
    repeats: int = 1
    seed: int = 0

    def outlook(self, tasks: int, gain: float) -> DecisionOutlook:
        """What to expect of so many tasks, if the candidate passes so many more of them (0.1 is ten points)."""
        chance = self.chance(tasks, gain)
        unlikely = chance.value < UNLIKELY
        return DecisionOutlook(
            tasks=tasks,
            gain=gain,
            chance=chance,
            if_same=self._share(self.populations.estimate, tasks, 0.0, EXPERIMENTS),
            even_tasks=self._tasks_for_even(tasks, gain) if unlikely else None,
            even_gain=self._gain_for_even(tasks, gain) if unlikely else None,
        )

    def chance(self, tasks: int, gain: float) -> Chance:
        """The chance of a decision, and its range over the populations that are possible."""
        value, *others = (
            self._share(population, tasks, gain, EXPERIMENTS)
            for population in (self.populations.estimate, *self.populations.others)
        )
        return Chance(value=value, low=min([value, *others]), high=max([value, *others]))

    def _tasks_for_even(self, tasks: int, gain: float) -> int | None:
        """Doubled until they are enough, then between the last two."""
        few, many = tasks, max(2 * tasks, MINIMUM_TASKS)
        while not self._is_even(many, gain):
            few, many = many, 2 * many
            if many > MOST_TASKS:
                return None
        return round(_smallest(few, many, max(1.0, many / 20), lambda number: self._is_even(round(number), gain)))

    def _gain_for_even(self, tasks: int, gain: float) -> float | None:
        population = self.populations.estimate
        most = 1.0 - population.variations[population.gates.index(PASS_RATE)].baseline
        if most <= gain or not self._is_even(tasks, most):
            return None
        return _smallest(gain, most, SMALLEST_STEP, lambda points: self._is_even(tasks, points))

    def _is_even(self, tasks: int, gain: float) -> bool:
        return self._share(self.populations.estimate, tasks, gain, EXPERIMENTS_IN_SEARCH) >= EVEN

    def _share(self, population: TaskPopulation, tasks: int, gain: float, experiments: int) -> float:
        """How many experiments end in a decision; with fewer tasks than a verdict takes, none does."""
        if tasks < MINIMUM_TASKS:
            return 0.0
        plan = plan_even_looks([str(task) for task in range(tasks)], self.repeats)
        sizes, effects = ((tasks,), (self.repeats,)), Effects(stated={PASS_RATE: gain})
        drawn = simulate(population, self.limits, effects, sizes, experiments, np.random.default_rng(self.seed))
        ended = [decide_at_looks(size.gates, plan, self.rule).decided[Decision.INCONCLUSIVE] for size in drawn]
        return 1.0 - float(np.concatenate(ended).mean())


def _smallest(low: float, high: float, step: float, is_enough: Callable[[float], bool]) -> float:
    """By halving: the smallest that is enough, to a step; `high` is enough, and more is never worse."""
    while high - low > step:
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
