"""Experiments drawn from a population of tasks, at several sizes at once: smaller ones are parts of the largest."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.random import Generator
from numpy.typing import NDArray

from outweigh.verdict.evidence_settings import PASS_RATE, EffectScale
from outweigh.verdict.rule_on_arrays import GateLimits, SimulatedGate
from outweigh.verdict.task_population import RunPool, TaskPopulation, logistic, mean_of_logits

Values = NDArray[np.float64]
MOST_RUNS_AT_A_TIME = 1_000_000
"""So many runs are held in memory."""
OWN_SCATTER = 0.5


class Effects(Struct, frozen=True, kw_only=True):
    """What the candidate does in truth, by gate: points of a rate, or the log of a ratio.

    None stands for what the pilot estimates. A stated effect changes the typical run and the total alike, so both
    arms scatter alike.
    """

    stated: Mapping[str, float] | None


class SimulatedSize(Struct, frozen=True, kw_only=True, eq=False):
    """Experiments of one size; `sets` says which parameters each was drawn with."""

    tasks: int
    repeats: int
    gates: tuple[SimulatedGate, ...]
    sets: NDArray[np.intp]


def simulate(
    population: TaskPopulation,
    limits: Sequence[GateLimits],
    effects: Effects,
    sizes: tuple[Sequence[int], Sequence[int]],
    sets: NDArray[np.intp],
    random: Generator,
) -> Iterator[SimulatedSize]:
    """Draw one experiment for every entry of `sets`, and cut it to each number of tasks and repeats."""
    most_tasks, most_repeats = max(sizes[0]), max(sizes[1])
    step = max(1, MOST_RUNS_AT_A_TIME // (most_tasks * most_repeats * 2))
    for start in range(0, len(sets), step):
        chosen = sets[start : start + step]
        drawn = _Runs(population, effects, most_tasks, most_repeats, chosen, random)
        for repeats in sizes[1]:
            gates = [drawn.gate(limit, repeats) for limit in limits]
            for tasks in sizes[0]:
                yield SimulatedSize(
                    tasks=tasks, repeats=repeats, gates=tuple(_cut(gate, tasks) for gate in gates), sets=chosen
                )


def _cut(gate: SimulatedGate, tasks: int) -> SimulatedGate:
    return SimulatedGate(
        limits=gate.limits,
        benefits=gate.benefits[:, :tasks],
        amounts=None if gate.amounts is None else (gate.amounts[0][:, :tasks], gate.amounts[1][:, :tasks]),
        passes=None if gate.passes is None else (gate.passes[0][:, :tasks], gate.passes[1][:, :tasks]),
        runs=gate.runs,
    )


class _Runs:
    """The runs of many experiments: experiments × repeats × tasks for each arm and gate."""

    def __init__(
        self,
        population: TaskPopulation,
        effects: Effects,
        tasks: int,
        repeats: int,
        sets: NDArray[np.intp],
        random: Generator,
    ) -> None:
        self._population, self._effects, self._sets = population, effects, sets
        self._normals = _correlated_normals(population, effects, (len(sets), tasks), random)
        pools = population.pools if effects.stated is None else [_merge(*population.pools)] * 2
        shape = (len(sets), repeats, tasks)
        rows = _choose_runs(pools, shape, random)
        self._residuals = [
            [pool.residuals[:, place][row] for place in range(len(population.gates))]
            for pool, row in zip(pools, rows, strict=True)
        ]
        self._uniforms = [
            pool.start[row] + pool.width[row] * random.random(shape, dtype=np.float32)
            for pool, row in zip(pools, rows, strict=True)
        ]

    def gate(self, limits: GateLimits, repeats: int) -> SimulatedGate:
        place = self._population.gates.index(limits.name)
        if limits.name == PASS_RATE:
            return self._pass_gate(limits, place, repeats)
        before, after = self._values(place, repeats)
        if limits.scale is EffectScale.POINTS:
            return SimulatedGate(limits=limits, benefits=after.mean(axis=1) - before.mean(axis=1))
        return SimulatedGate(
            limits=limits,
            benefits=(before.mean(axis=1) - after.mean(axis=1)).astype(np.float64),
            amounts=(np.exp(before).mean(axis=1).astype(np.float64), np.exp(after).mean(axis=1).astype(np.float64)),
        )

    def _values(self, place: int, repeats: int) -> tuple[Values, Values]:
        variation = self._population.variations[place]
        means, halves = self._task_parts(place, self._effect(place))
        deviations = [part[self._sets] for part in variation.run_deviations]
        if self._effects.stated is not None:
            both = np.sqrt((deviations[0] ** 2 + deviations[1] ** 2) / 2)
            deviations = [both, both]
        arms = []
        for arm, sign in enumerate((-1.0, 1.0)):
            base = (means + sign * halves).astype(np.float32)[:, None, :]
            scatter = deviations[arm].astype(np.float32)[:, None, None]
            arms.append(base + scatter * self._residuals[arm][place][:, :repeats])
        return arms[0], arms[1]

    def _effect(self, place: int) -> Values:
        """The mean effect of each experiment."""
        variation, name = self._population.variations[place], self._population.gates[place]
        if self._effects.stated is None:
            return (variation.candidate - variation.baseline)[self._sets]
        return np.full(len(self._sets), self._effects.stated.get(name, 0.0))

    def _task_parts(self, place: int, effect: Values) -> tuple[Values, Values]:
        """The level of each task, and half of its effect."""
        variation, gates = self._population.variations[place], len(self._population.gates)
        levels = variation.level_deviation[self._sets][:, None] * self._normals[place]
        halves = (effect[:, None] + variation.effect_deviation[self._sets][:, None] * self._normals[gates + place]) / 2
        # Where a resource starts does not matter for a ratio, nor does a score's level for a difference.
        return levels + effect[:, None] / 2, halves

    def _pass_gate(self, limits: GateLimits, place: int, repeats: int) -> SimulatedGate:
        variation, gates, sets = self._population.variations[place], len(self._population.gates), self._sets
        level, effect = variation.level_deviation[sets], variation.effect_deviation[sets]
        rates = self._pass_rates(place)
        deviations = np.sqrt(level**2 + effect**2 / 4)
        passes = []
        for arm, sign in enumerate((-0.5, 0.5)):
            logits = (
                _means_of_logits(rates[arm], deviations)[:, None]
                + level[:, None] * self._normals[place]
                + sign * effect[:, None] * self._normals[gates + place]
            )
            chances = logistic(logits).astype(np.float32)[:, None, :]
            passes.append((self._uniforms[arm][:, :repeats] < chances).sum(axis=1))
        return SimulatedGate(
            limits=limits,
            benefits=(passes[1] - passes[0]) / repeats,
            passes=(passes[0], passes[1]),
            runs=repeats,
        )

    def _pass_rates(self, place: int) -> tuple[Values, Values]:
        variation = self._population.variations[place]
        before = variation.baseline[self._sets]
        if self._effects.stated is None:
            return before, variation.candidate[self._sets]
        wanted = before + self._effects.stated.get(PASS_RATE, 0.0)
        return before, np.clip(wanted, 1e-6, 1 - 1e-6)


def _means_of_logits(rates: Values, deviations: Values) -> Values:
    """Solved once for each different pair."""
    pairs, places = np.unique(np.stack([rates, deviations], axis=1), axis=0, return_inverse=True)
    return mean_of_logits(pairs[:, 0], pairs[:, 1])[places.ravel()]


def _correlated_normals(
    population: TaskPopulation, effects: Effects, shape: tuple[int, int], random: Generator
) -> NDArray[np.float64]:
    """Levels and effects of the tasks, as standard normals: (2 × gates) × experiments × tasks."""
    correlations, gates = population.correlations.copy(), len(population.gates)
    if effects.stated is not None:
        # An effect that is stated is the same on large tasks as on small ones.
        correlations[:gates, gates:] = correlations[gates:, :gates] = 0.0
    values, vectors = np.linalg.eigh(correlations)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.tensordot(root, random.standard_normal((2 * gates, *shape)), axes=1)


def _choose_runs(pools: Sequence[RunPool], shape: tuple[int, int, int], random: Generator) -> list[NDArray[np.int32]]:
    """A row of the pool for every run. Tasks differ in how much their runs scatter, so half of them take all their
    runs from one task of the pilot, the same for both arms, and the others from all tasks.
    """
    experiments, _, tasks = shape
    together = random.random((experiments, tasks)) < OWN_SCATTER
    owner = random.random((experiments, tasks))
    rows = []
    for pool in pools:
        place = (owner * len(pool.first)).astype(np.intp)
        first = np.where(together, pool.first[place], 0)[:, None, :]
        size = np.where(together, pool.size[place], len(pool.start))[:, None, :]
        rows.append((first + random.random(shape, dtype=np.float32) * size).astype(np.int32))
    return rows


def _merge(first: RunPool, second: RunPool) -> RunPool:
    return RunPool(
        residuals=np.concatenate([first.residuals, second.residuals]),
        start=np.concatenate([first.start, second.start]),
        width=np.concatenate([first.width, second.width]),
        first=np.concatenate([first.first, second.first + len(first.start)]),
        size=np.concatenate([first.size, second.size]),
    )
