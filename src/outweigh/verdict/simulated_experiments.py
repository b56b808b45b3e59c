"""Experiments drawn from a population of tasks, at several sizes at once: smaller ones are parts of the largest."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.random import Generator
from numpy.typing import NDArray

from outweigh.stats.logit_normal import logistic, mean_of_logits
from outweigh.verdict.evidence_settings import PASS_RATE, EffectScale
from outweigh.verdict.gate_tests_on_arrays import GateLimits, SimulatedGate, cut_to_tasks
from outweigh.verdict.run_scatter import PilotRuns
from outweigh.verdict.task_population import TaskPopulation

Values = NDArray[np.float64]
MOST_RUNS_AT_A_TIME = 1_000_000
"""So many runs are held in memory."""


class Effects(Struct, frozen=True, kw_only=True):
    """What the candidate does in truth, by gate: points of a rate, or the log of a ratio.

    None stands for what the pilot estimates. A stated effect changes the typical run and the total alike, so both
    arms scatter alike.
    """

    stated: Mapping[str, float] | None


class SimulatedSize(Struct, frozen=True, kw_only=True, eq=False):
    """Experiments of one size."""

    tasks: int
    repeats: int
    gates: tuple[SimulatedGate, ...]


def simulate(
    population: TaskPopulation,
    limits: Sequence[GateLimits],
    effects: Effects,
    sizes: tuple[Sequence[int], Sequence[int]],
    experiments: int,
    random: Generator,
) -> Iterator[SimulatedSize]:
    """Draw so many experiments, and cut them to each number of tasks and repeats."""
    most_tasks, most_repeats = max(sizes[0]), max(sizes[1])
    step = max(1, MOST_RUNS_AT_A_TIME // (most_tasks * most_repeats * 2))
    for start in range(0, experiments, step):
        drawn = _Runs(population, effects, (min(step, experiments - start), most_repeats, most_tasks), random)
        for repeats in sizes[1]:
            gates = [drawn.gate(limit, repeats) for limit in limits]
            for tasks in sizes[0]:
                yield SimulatedSize(
                    tasks=tasks, repeats=repeats, gates=tuple(cut_to_tasks(gate, tasks) for gate in gates)
                )


def simulate_pilots(population: TaskPopulation, pilots: int, random: Generator) -> list[PilotRuns]:
    """Other pilots of the same size that the population could have given."""
    repeats, tasks = population.repeats, population.tasks
    drawn = _Runs(population, Effects(stated=None), (pilots, repeats, tasks), random)
    arms = [drawn.values(place) for place in range(len(population.gates))]
    owners = np.tile(np.arange(tasks), repeats)

    def values(pilot: int, arm: int) -> Values:
        return np.stack([gate[arm][pilot].ravel().astype(np.float64) for gate in arms], axis=1)

    return [
        PilotRuns(
            gates=population.gates, values=(values(pilot, 0), values(pilot, 1)), owners=(owners, owners), tasks=tasks
        )
        for pilot in range(pilots)
    ]


class _Runs:
    """The runs of many experiments: experiments × repeats × tasks for each arm and gate."""

    def __init__(
        self, population: TaskPopulation, effects: Effects, shape: tuple[int, int, int], random: Generator
    ) -> None:
        self._population, self._effects = population, effects
        experiments, _, tasks = shape
        self._normals = _correlated_normals(population, effects, (experiments, tasks), random)
        self._scatter = population.scatter if effects.stated is None else population.scatter.alike()
        self._unevenness = random.standard_normal((experiments, 1, tasks))
        self._rows = [
            (random.random(shape, dtype=np.float32) * len(pool)).astype(np.int32) for pool in self._scatter.residuals
        ]
        self._values: dict[int, list[NDArray[np.float32]]] = {}
        self._passes: list[tuple[NDArray[np.bool_], NDArray[np.float32]]] = []
        if PASS_RATE in population.gates:
            self._passes = [
                (random.random(shape, dtype=np.float32) < chances, chances)
                for chances in self._chances(population.gates.index(PASS_RATE))
            ]

    def gate(self, limits: GateLimits, repeats: int) -> SimulatedGate:
        """What the rule sees of one gate with so many repeats."""
        if limits.name == PASS_RATE:
            before, after = (passed[:, :repeats].sum(axis=1) for passed, _ in self._passes)
            return SimulatedGate(
                limits=limits, benefits=(after - before) / repeats, passes=(before, after), runs=repeats
            )
        ours, theirs = (arm[:, :repeats] for arm in self.values(self._population.gates.index(limits.name)))
        if limits.scale is EffectScale.POINTS:
            return SimulatedGate(limits=limits, benefits=theirs.mean(axis=1) - ours.mean(axis=1))
        return SimulatedGate(
            limits=limits,
            benefits=(ours.mean(axis=1) - theirs.mean(axis=1)).astype(np.float64),
            amounts=(np.exp(ours).mean(axis=1).astype(np.float64), np.exp(theirs).mean(axis=1).astype(np.float64)),
        )

    def values(self, place: int) -> list[NDArray[np.float32]]:
        """All runs of both arms on one gate."""
        if place not in self._values:
            self._values[place] = self._draw(place)
        return self._values[place]

    def _draw(self, place: int) -> list[NDArray[np.float32]]:
        if self._population.gates[place] == PASS_RATE:
            return [passed.astype(np.float32) for passed, _ in self._passes]
        found, scatter = [], self._scatter
        uneven = scatter.uneven[place]
        # The mean square of the factors is 1, so that they change no variance.
        factors = np.exp(uneven * self._unevenness - uneven**2)
        for arm, means in enumerate(self._task_means(place)):
            widths = (scatter.deviations[arm, place] * factors).astype(np.float32)
            runs = means.astype(np.float32)[:, None, :] + widths * scatter.residuals[arm][:, place][self._rows[arm]]
            if self._passes and scatter.passing[place]:
                passed, chances = self._passes[arm]
                runs += np.float32(scatter.passing[place]) * (passed - chances)
            found.append(runs)
        return found

    def _task_means(self, place: int) -> tuple[Values, Values]:
        """Where a resource starts does not matter for a ratio, nor does a score's level for a difference."""
        variation, gates = self._population.variations[place], len(self._population.gates)
        stated, name = self._effects.stated, self._population.gates[place]
        effect = variation.candidate - variation.baseline if stated is None else stated.get(name, 0.0)
        levels = variation.level_deviation * self._normals[place]
        effects = effect + variation.effect_deviation * self._normals[gates + place]
        middle = levels + effect / 2
        return middle - effects / 2, middle + effects / 2

    def _chances(self, place: int) -> Iterator[NDArray[np.float32]]:
        """Of the tasks to pass in each arm.

        Effects differ between tasks around none. The mean effect repairs the same share of all failures on top, or
        breaks the same share of all passes, so that it is no larger than a task has room for.
        """
        variation, gates = self._population.variations[place], len(self._population.gates)
        level, effect, stated = variation.level_deviation, variation.effect_deviation, self._effects.stated
        rate = variation.baseline
        gain = variation.candidate - rate if stated is None else stated.get(PASS_RATE, 0.0)
        repaired, broken = min(max(gain, 0.0) / (1 - rate), 1.0), min(max(-gain, 0.0) / rate, 1.0)
        mean = float(mean_of_logits(np.array([rate]), np.array([np.sqrt(level**2 + effect**2 / 4)]))[0])
        for arm, sign in enumerate((-0.5, 0.5)):
            logits = mean + level * self._normals[place] + sign * effect * self._normals[gates + place]
            chances = logistic(logits)
            if arm:
                chances = (1 - broken) * (chances + repaired * (1 - chances))
            yield chances.astype(np.float32)[:, None, :]


def _correlated_normals(
    population: TaskPopulation, effects: Effects, shape: tuple[int, int], random: Generator
) -> Values:
    """Levels and effects of the tasks, as standard normals: (2 × gates) × experiments × tasks."""
    correlations, gates = population.correlations.copy(), len(population.gates)
    if effects.stated is not None:
        # An effect that is stated is the same on large tasks as on small ones.
        correlations[:gates, gates:] = correlations[gates:, :gates] = 0.0
    values, vectors = np.linalg.eigh(correlations)
    # The symmetric root changes little where correlations do, so that populations can be compared draw by draw.
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return np.tensordot(root, random.standard_normal((2 * gates, *shape)), axes=1)
