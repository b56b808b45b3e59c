"""How tasks and their runs vary, estimated from a pilot: what simulated experiments are drawn from.

A task has a level and an effect on every gate, both correlated between gates, and a run scatters around them as the
pilot's runs do. Pass rates live on the logit scale and resources on logs. The noise of runs is taken out of the
variances between tasks, so that the number of repeats can change.
"""

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.random import Generator
from numpy.typing import NDArray

from outweigh.stats.variance import TaskMoments, summarize_runs
from outweigh.verdict.evidence_settings import PASS_RATE

Values = NDArray[np.float64]

EDGE = 0.002
"""Mean pass rates are kept so far from 0 and 1, where logits end."""
WIDEST_LOGIT = 10.0
USUAL_EFFECT_DEVIATION = 0.4
"""How much the effect of a changed set-up on a task's logit differs between tasks, where nothing better is known."""


class PilotRuns(Struct, frozen=True, kw_only=True, eq=False):
    """Runs that know every gate, of tasks that both arms ran; baseline first.

    `values` are runs × gates: passes as 0 and 1, scores as they are, resources as logs. `owners` are the places of
    the runs' tasks.
    """

    gates: tuple[str, ...]
    values: tuple[Values, Values]
    owners: tuple[NDArray[np.intp], NDArray[np.intp]]
    tasks: int


class RunPool(Struct, frozen=True, kw_only=True, eq=False):
    """How single runs scatter: standardised residuals of the pilot's runs (runs × gates).

    A simulated run takes a whole row, which keeps the correlation between gates, and passes where a uniform number
    from `start` to `start + width` lies below the task's pass rate: low numbers for runs that passed in the pilot.
    The runs of a task stand together, from `first` on, `size` of them.
    """

    residuals: NDArray[np.float32]
    start: NDArray[np.float32]
    width: NDArray[np.float32]
    first: NDArray[np.intp]
    size: NDArray[np.intp]


class GateVariation(Struct, frozen=True, kw_only=True, eq=False):
    """One gate in sets of parameters: the first is the estimate, the others what the pilot leaves possible.

    Deviations between tasks are of logits for the pass rate, whose runs need no deviation of their own.
    """

    baseline: Values
    candidate: Values
    level_deviation: Values
    effect_deviation: Values
    run_deviations: tuple[Values, Values]


class TaskPopulation(Struct, frozen=True, kw_only=True, eq=False):
    """`variations` has one entry per gate. Correlations are those of the tasks' levels and effects between gates;
    the joint ones have all levels before all effects. Without repeats, `separated` is false: what varies between
    runs and what varies between tasks is then one, and only experiments without repeats can be simulated.
    """

    gates: tuple[str, ...]
    variations: tuple[GateVariation, ...]
    correlations: Values
    pools: tuple[RunPool, RunPool]
    tasks: int
    repeats: int
    separated: bool

    @property
    def sets(self) -> int:
        """How many sets of parameters there are."""
        return len(self.variations[0].baseline)


def fit_population(pilot: PilotRuns, sets: int, random: Generator) -> TaskPopulation:
    """Estimate the variation, and draw further sets of parameters by weighting the pilot's tasks at random."""
    weights = _task_weights(pilot.tasks, sets, random)
    moments = [_moments(pilot, place) for place in range(len(pilot.gates))]
    counts = np.concatenate([arm.counts for arm in moments[0]])
    separated = all(int(arm.counts.max()) > 1 for arm in moments[0])
    variations = []
    for gate, (before, after) in zip(pilot.gates, moments, strict=True):
        variance = _Variance(before, after, weights, separated=separated)
        variations.append(variance.of_passes() if gate == PASS_RATE else variance.of_numbers())
    levels = [(before.means + after.means) / 2 for before, after in moments]
    effects = [after.means - before.means for before, after in moments]
    return TaskPopulation(
        gates=pilot.gates,
        variations=tuple(variations),
        correlations=_correlations(np.stack([*levels, *effects])),
        pools=_pools(pilot, moments),
        tasks=pilot.tasks,
        repeats=int(np.median(counts)),
        separated=separated,
    )


def _moments(pilot: PilotRuns, place: int) -> tuple[TaskMoments, TaskMoments]:
    before, after = (
        summarize_runs(values[:, place], owners, pilot.tasks)
        for values, owners in zip(pilot.values, pilot.owners, strict=True)
    )
    return before, after


def _task_weights(tasks: int, sets: int, random: Generator) -> Values:
    """Equal weights first; then weights from a Dirichlet law, under which a mean varies as its t interval says."""
    equal = np.full((1, tasks), 1 / tasks)
    if sets < 2:
        return equal
    drawn = random.dirichlet(np.full(tasks, max(1.0, tasks - 2) / tasks), sets - 1)
    return np.concatenate([equal, drawn])


class _Variance:
    """The variances of one gate for every row of weights, by the method of moments."""

    def __init__(self, before: TaskMoments, after: TaskMoments, weights: Values, *, separated: bool) -> None:
        self._arms, self._weights, self._separated = (before, after), weights, separated
        # The variance of a weighted sample is too small by this factor; for equal weights it is n / (n − 1).
        self._correction = 1 / np.maximum(1 - (weights**2).sum(axis=1), 1e-9)

    def _mean(self, values: Values) -> Values:
        means: Values = self._weights @ values
        return means

    def _spread(self, values: Values) -> Values:
        centred = values - values.mean()
        spread: Values = self._correction * np.maximum(self._mean(centred**2) - self._mean(centred) ** 2, 0.0)
        return spread

    def _run_variance(self, arm: TaskMoments) -> Values:
        """Of single runs, over the tasks that were run more than once."""
        if not self._separated:
            return np.zeros(len(self._weights))
        repeated = arm.counts > 1
        known = np.where(repeated, arm.variances, 0.0)
        weights = np.maximum(self._mean(repeated.astype(np.float64)), 1e-9)
        variances: Values = self._mean(known) / weights
        return variances

    def _noise(self) -> tuple[Values, Values]:
        """What the runs add to the variance of each arm's task means."""
        before, after = (self._run_variance(arm) * self._mean(1 / arm.counts) for arm in self._arms)
        return before, after

    def of_numbers(self) -> GateVariation:
        """A gate whose tasks and runs add up: a score, or the log of a resource."""
        before, after = self._arms
        noise = sum(self._noise())
        effects = np.maximum(self._spread(after.means - before.means) - noise, 0.0)
        levels = np.maximum(self._spread((after.means + before.means) / 2) - noise / 4, 0.0)
        return GateVariation(
            baseline=self._mean(before.means),
            candidate=self._mean(after.means),
            level_deviation=np.sqrt(levels),
            effect_deviation=np.sqrt(effects),
            run_deviations=(np.sqrt(self._run_variance(before)), np.sqrt(self._run_variance(after))),
        )

    def of_passes(self) -> GateVariation:
        """The pass rate: logits whose pass rates vary between tasks and between arms as the pilot's do."""
        before, after = self._arms
        rates = [np.clip(self._mean(arm.means), EDGE, 1 - EDGE) for arm in self._arms]
        noise = self._noise()
        between = self._spread(after.means - before.means)
        if self._separated:
            effects = np.maximum(between - noise[0] - noise[1], 0.0)
            within = [self._spread(arm.means) - part for arm, part in zip(self._arms, noise, strict=True)]
            levels = np.maximum((within[0] + within[1]) / 2, effects / 4)
        else:
            # One run per task shows only how the arms agree; how that is split does not matter for one run.
            effects = np.zeros_like(between)
            levels = np.maximum((self._spread(before.means) + self._spread(after.means) - between) / 2, 0.0)
        middle = (rates[0] + rates[1]) / 2
        deviations = spread_of_logits(middle, levels)
        effect_deviation = spread_of_effects(middle, deviations, effects)
        if self._separated:
            effect_deviation = self._temper(effect_deviation, effects, between)
        return GateVariation(
            baseline=rates[0],
            candidate=rates[1],
            level_deviation=np.sqrt(np.maximum(deviations**2 - effect_deviation**2 / 4, 0.0)),
            effect_deviation=effect_deviation,
            run_deviations=(np.zeros_like(between), np.zeros_like(between)),
        )

    def _temper(self, deviations: Values, estimated: Values, observed: Values) -> Values:
        """Draw the variance of effects towards a usual one as far as chance alone could have made it.

        With few tasks the noise of passes hides how much effects differ, and what is left after it is taken out is
        more often too much than too little.
        """
        chance = observed * np.sqrt(2 / max(len(self._arms[0].means) - 1, 1))
        trust = estimated**2 / np.maximum(estimated**2 + chance**2, 1e-12)
        tempered: Values = np.sqrt(trust * deviations**2 + (1 - trust) * USUAL_EFFECT_DEVIATION**2)
        return tempered


def logistic(logits: Values) -> Values:
    """Chances from logits."""
    chances: Values = 1 / (1 + np.exp(-np.clip(logits, -60, 60)))
    return chances


_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_NODE_WEIGHTS = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()


def mean_of_logits(rates: Values, deviations: Values) -> Values:
    """The mean of normal logits with these deviations whose pass rate has these means, by bisection."""
    low, high = np.full_like(rates, -60.0), np.full_like(rates, 60.0)
    for _ in range(40):
        middle = (low + high) / 2
        too_low = logistic(middle[:, None] + deviations[:, None] * _NODES) @ _NODE_WEIGHTS < rates
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return (low + high) / 2


def spread_of_logits(rates: Values, variances: Values) -> Values:
    """The deviation of normal logits whose pass rate has this mean and this variance."""

    def variance(deviations: Values) -> Values:
        chances = logistic(mean_of_logits(rates, deviations)[:, None] + deviations[:, None] * _NODES)
        return (chances - rates[:, None]) ** 2 @ _NODE_WEIGHTS

    return _bisect(variance, variances, WIDEST_LOGIT)


def spread_of_effects(rates: Values, deviations: Values, variances: Values) -> Values:
    """How much effects on the logit differ between tasks, where those on the pass rate have this variance."""
    means = mean_of_logits(rates, deviations)

    def variance(effects: Values) -> Values:
        kept = np.sqrt(np.maximum(deviations**2 - effects**2 / 4, 0.0))
        levels = (means[:, None] + kept[:, None] * _NODES)[:, :, None]
        halves = (effects[:, None] / 2 * _NODES)[:, None, :]
        return ((logistic(levels + halves) - logistic(levels - halves)) ** 2 @ _NODE_WEIGHTS) @ _NODE_WEIGHTS

    return _bisect(variance, variances, 2 * np.maximum(deviations, 0.05))


def _bisect(function: Callable[[Values], Values], targets: Values, largest: float | Values) -> Values:
    """Where an increasing function reaches its targets, between 0 and the largest."""
    low, high = np.zeros_like(targets), np.zeros_like(targets) + largest
    for _ in range(14):
        middle = (low + high) / 2
        too_low = function(middle) < targets
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return np.where(targets > 0, (low + high) / 2, 0.0)


def _correlations(rows: Values) -> Values:
    """Between rows; a row that never varies is correlated with nothing."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    norms = np.sqrt((centred**2).sum(axis=1))
    scaled = centred / np.where(norms > 0, norms, 1.0)[:, None]
    found: Values = scaled @ scaled.T
    np.fill_diagonal(found, 1.0)
    return found


def _pools(pilot: PilotRuns, moments: Sequence[tuple[TaskMoments, TaskMoments]]) -> tuple[RunPool, RunPool]:
    centres = _centres(pilot, moments)
    before, after = (_pool(pilot, arm, moments, centres) for arm in range(2))
    return before, after


def _pool(pilot: PilotRuns, arm: int, moments: Sequence[tuple[TaskMoments, TaskMoments]], centres: Values) -> RunPool:
    order = np.argsort(pilot.owners[arm], kind="stable")
    owners = pilot.owners[arm][order]
    order, owners = (part[moments[0][arm].counts[owners] > 1] for part in (order, owners))
    if not len(owners):
        # Nothing is known about single runs, and nothing is needed: they are what varies between tasks.
        residuals, start, width = np.zeros((1, len(pilot.gates))), np.zeros(1), np.ones(1)
        owners = np.zeros(1, dtype=np.intp)
    else:
        values = pilot.values[arm][order]
        residuals = values - centres[owners]
        residuals = residuals - residuals.mean(axis=0)
        residuals = residuals / np.maximum(np.sqrt((residuals**2).mean(axis=0)), 1e-12)
        passed, rate = _passes(pilot, values, moments, arm, owners)
        start, width = np.where(passed, 0.0, rate), np.where(passed, rate, 1 - rate)
    first, size = _stretches(owners)
    return RunPool(
        residuals=residuals.astype(np.float32),
        start=start.astype(np.float32),
        width=width.astype(np.float32),
        first=first,
        size=size,
    )


def _centres(pilot: PilotRuns, moments: Sequence[tuple[TaskMoments, TaskMoments]]) -> Values:
    """Where each task's runs lie (tasks × gates): the median over both arms, which a single long run does not move."""
    owners = np.concatenate(pilot.owners)
    first, size = _stretches(np.sort(owners))
    centres = np.empty((pilot.tasks, len(pilot.gates)))
    for place, (before, after) in enumerate(moments):
        # The arms' mean effect is taken out, so that they scatter around the same point.
        shifts = before.means.mean(), after.means.mean()
        values = np.concatenate([arm[:, place] - shift for arm, shift in zip(pilot.values, shifts, strict=True)])
        ranked = values[np.lexsort((values, owners))]
        centres[:, place] = (ranked[first + (size - 1) // 2] + ranked[first + size // 2]) / 2
    return centres


def _stretches(owners: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each task's runs begin, and how many they are, in a sorted list of tasks."""
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    return first, np.diff(first, append=len(owners))


def _passes(
    pilot: PilotRuns,
    values: Values,
    moments: Sequence[tuple[TaskMoments, TaskMoments]],
    arm: int,
    owners: NDArray[np.intp],
) -> tuple[NDArray[np.bool_], Values]:
    """Whether each run passed, and the pass rate of its task; without a pass rate, all the same."""
    if PASS_RATE not in pilot.gates:
        return np.ones(len(owners), dtype=bool), np.ones(len(owners))
    place = pilot.gates.index(PASS_RATE)
    return values[:, place] > 0.5, moments[place][arm].means[owners]
