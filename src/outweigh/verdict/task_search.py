"""The smallest sizes at which simulated experiments are decided often enough.

The tasks at hand stay, and further ones are drawn from among them in two ways: as if the arms were alike, with the
arms of a drawn task swapped by chance; and as if the effects were what they look like now, with weights that leave
open what the tasks at hand do not settle.
"""

from collections.abc import Callable, Mapping, Sequence
from math import ceil, sqrt

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.random import Generator
from numpy.typing import NDArray

from outweigh.stats.distributions import normal_quantile
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import EffectScale, GateRole
from outweigh.verdict.gate_sample import BENEFIT_ROUNDING, GateSample
from outweigh.verdict.gate_tests_on_arrays import (
    Counts,
    GateLimits,
    GateMoments,
    SampleMoments,
    limits_of,
    weights_in_sum,
)
from outweigh.verdict.rule_on_arrays import ExperimentMoments, SimulatedDecisions, SimulatedRule, decide_by_moments

Values = NDArray[np.float64]

POWER = 0.8
WANTED = normal_quantile(POWER)
MOST_TASKS = 2_000
EXPERIMENTS = 90
STEP = 2
HALVINGS = 3
REPEAT_FACTORS = (2, 4, 8)


class TaskValues(Struct, frozen=True, kw_only=True, eq=False):
    """One gate's value for each kind of task: the benefit, and a resource's amounts in both arms."""

    limits: GateLimits
    benefits: Values
    amounts: tuple[Values, Values] | None
    run_share: float | None
    """The part of the variance of the benefits that is noise between runs."""

    def without_effect(self, scale: float = 1.0) -> "TaskValues":
        """Every task twice, with its arms as they are and swapped, after the mean effect on a resource is taken out.

        `scale` brings the arms of a task closer to each other.
        """
        resource = self.limits.role is GateRole.RESOURCE
        benefits = scale * (self.benefits - self.benefits.mean() if resource else self.benefits)
        amounts = None
        if self.amounts is not None:
            before, after = self.amounts[0], self.amounts[1] * (self.amounts[0].mean() / self.amounts[1].mean())
            middle, half = (before + after) / 2, scale * (after - before) / 2
            ours, theirs = middle - half, middle + half
            amounts = np.concatenate([ours, theirs]), np.concatenate([theirs, ours])
        return replace(self, benefits=np.concatenate([benefits, -benefits]), amounts=amounts)

    def beside(self, other: "TaskValues") -> "TaskValues":
        """The kinds of task of both."""
        amounts = None
        if self.amounts is not None and other.amounts is not None:
            pairs = zip(self.amounts, other.amounts, strict=True)
            ours, theirs = (np.concatenate(pair) for pair in pairs)
            amounts = ours, theirs
        return replace(self, benefits=np.concatenate([self.benefits, other.benefits]), amounts=amounts)


def tasks_at_hand(gates: Sequence[GateSample]) -> tuple[TaskValues, ...]:
    """The tasks that every gate knows; nothing where there are not two of them."""
    samples = [gate for gate in gates if not gate.equal]
    parts = [part for gate in samples for part in (gate, gate.total) if part is not None]
    known = set.intersection(*(set(part.tasks) for part in parts)) if parts else set()
    names = [task for task in samples[0].tasks if task in known] if samples else []
    return tuple(_task_values(gate, names) for gate in samples) if len(names) > 1 else ()


def _task_values(gate: GateSample, names: Sequence[str]) -> TaskValues:
    amounts, total = None, gate.total
    if total is not None and total.noise is not None:
        before, after = (_pick(total.tasks, arm.means, names) for arm in total.noise)
        amounts = before, after * float(np.exp(-total.benefits.mean()))
    return TaskValues(
        limits=limits_of(gate),
        benefits=_pick(gate.tasks, gate.benefits, names),
        amounts=amounts,
        run_share=_run_share(gate),
    )


def _pick(tasks: Sequence[str], values: Values, names: Sequence[str]) -> Values:
    places = {task: place for place, task in enumerate(tasks)}
    return values[[places[task] for task in names]]


def _run_share(gate: GateSample) -> float | None:
    variance = float(gate.benefits.var(ddof=1))
    if gate.noise is None or not variance > 0 or min(int(arm.counts.min()) for arm in gate.noise) < 2:
        return None
    noise = sum(float(np.mean(arm.variances / arm.counts)) for arm in gate.noise)
    return min(1.0, noise / variance)


class TaskSearch:
    """Simulates experiments of growing size. One is how often it has each kind of task, so its size costs no time."""

    def __init__(self, tasks: tuple[TaskValues, ...], rule: SimulatedRule, random: Generator) -> None:
        self._tasks, self._rule, self._random = tasks, rule, random
        self._size = len(tasks[0].benefits)
        self._unequal: Mapping[str, float] = {}

    def tasks_if_alike(self) -> int | None:
        """Tasks to add if the arms are alike: drawn from those at hand, the arms of each swapped by chance."""
        kinds = [gate.beside(gate.without_effect()) for gate in self._tasks]
        chances = np.full(2 * self._size, 1 / (2 * self._size))

        def draw(more: int) -> Counts:
            drawn = self._random.multinomial(more, chances, EXPERIMENTS)
            return np.concatenate([np.ones((EXPERIMENTS, self._size), dtype=np.int64), drawn], axis=1)

        return self._tasks_needed(kinds, draw)

    def tasks_as_seen(self) -> int | None:
        """Tasks to add if the effects are as they look, with weights under which a mean varies as its t interval."""
        weights = self._random.dirichlet(np.full(self._size, max(1.0, self._size - 2) / self._size), EXPERIMENTS)

        def draw(more: int) -> Counts:
            return 1 + self._random.multinomial(more, weights)

        return self._tasks_needed(self._tasks, draw)

    def _tasks_needed(self, kinds: Sequence[TaskValues], draw: Callable[[int], Counts]) -> int | None:
        more, last = max(2, self._size // 4), (0, -6.0)
        while self._size + more <= MOST_TASKS:
            decisions = self._decide(kinds, draw(more))
            reached = _decided_quantile(decisions)
            if reached >= WANTED:
                return self._narrow(kinds, draw, last, (more, reached))
            self._unequal = {name: float(flags.mean()) for name, flags in decisions.unequal.items()}
            last, more = (more, reached), STEP * more
        return None

    def _narrow(
        self,
        kinds: Sequence[TaskValues],
        draw: Callable[[int], Counts],
        low: tuple[int, float],
        high: tuple[int, float],
    ) -> int:
        """Halve the span between a size that is too small and one that is enough, and read off the rest."""
        for _ in range(HALVINGS):
            middle = (low[0] + high[0]) // 2
            if middle in (low[0], high[0]):
                break
            found = middle, _decided_quantile(self._decide(kinds, draw(middle)))
            low, high = (low, found) if found[1] >= WANTED else (found, high)
        return _between(low, high)

    def repeats_if_alike(self, repeats: int) -> int | None:
        """Repeats to add at the tasks at hand; None where the tasks differ too much for that to help."""
        if any(gate.run_share is None for gate in self._tasks) or self._decided_by_repeats(REPEAT_FACTORS[-1]) < WANTED:
            return None
        last = (0, -6.0)
        for factor in REPEAT_FACTORS:
            found = repeats * (factor - 1), self._decided_by_repeats(factor)
            if found[1] >= WANTED:
                return _between(last, found)
            last = found
        return last[0]

    def _decided_by_repeats(self, factor: int) -> float:
        kinds = [gate.without_effect(sqrt(1 - (gate.run_share or 0.0) * (1 - 1 / factor))) for gate in self._tasks]
        chances = np.full(2 * self._size, 1 / (2 * self._size))
        return _decided_quantile(self._decide(kinds, self._random.multinomial(self._size, chances, EXPERIMENTS)))

    def in_the_way(self) -> str | None:
        """The gate that undecided experiments most often failed to show the same."""
        return max(self._unequal, key=lambda name: self._unequal[name], default=None)

    def _decide(self, kinds: Sequence[TaskValues], counts: Counts) -> SimulatedDecisions:
        tasks, table = int(counts[0].sum()), counts.astype(np.float64)
        gates = [_gate_moments(kind, table, tasks) for kind in kinds]
        weights = np.stack([weights_in_sum(gate.typical) for gate in gates], axis=1)
        values = np.stack([kind.benefits for kind in kinds])
        together = _sum_moments(values, weights, table, tasks)
        return decide_by_moments(ExperimentMoments(gates=gates, together=together), self._rule)


def _gate_moments(kind: TaskValues, counts: Values, tasks: int) -> GateMoments:
    counted = kind.limits.scale is EffectScale.POINTS
    typical = _weighted(kind.benefits, counts, tasks)
    if counted:
        gains, losses = (counts @ (sign * kind.benefits > BENEFIT_ROUNDING) for sign in (1, -1))
        typical = replace(typical, gains=gains.astype(np.int64), losses=losses.astype(np.int64))
    if kind.amounts is None:
        return GateMoments(limits=kind.limits, typical=typical, total=None)
    before, after = kind.amounts
    ours, theirs = counts @ before / tasks, counts @ after / tasks
    squares = (
        counts @ after**2 / theirs**2 - 2 * (counts @ (before * after)) / (ours * theirs) + counts @ before**2 / ours**2
    )
    total = SampleMoments(
        tasks=tasks, mean=-np.log(theirs / ours), deviation=np.sqrt(np.maximum(squares, 0.0) / (tasks - 1))
    )
    return GateMoments(limits=kind.limits, typical=typical, total=total)


def _weighted(values: Values, counts: Values, tasks: int) -> SampleMoments:
    mean = counts @ values / tasks
    spread = np.maximum(counts @ values**2 - tasks * mean**2, 0.0) / (tasks - 1)
    return SampleMoments(tasks=tasks, mean=mean, deviation=np.sqrt(spread))


def _sum_moments(values: Values, weights: Values, counts: Values, tasks: int) -> SampleMoments:
    """Of the gates' values (gates × kinds), added up with each experiment's own weights."""
    means = counts @ values.T / tasks
    products = np.einsum("ek,gk,hk->egh", counts, values, values, optimize=True)
    spreads = (products - tasks * means[:, :, None] * means[:, None, :]) / (tasks - 1)
    variance = np.einsum("eg,egh,eh->e", weights, spreads, weights)
    return SampleMoments(tasks=tasks, mean=(weights * means).sum(axis=1), deviation=np.sqrt(np.maximum(variance, 0.0)))


def _decided_quantile(decisions: SimulatedDecisions) -> float:
    """How often anything was decided, as a normal quantile."""
    undecided = decisions.decided[Decision.INCONCLUSIVE]
    return normal_quantile((len(undecided) - float(undecided.sum()) + 0.5) / (len(undecided) + 1))


def _between(low: tuple[int, float], high: tuple[int, float]) -> int:
    """The size between two at which experiments are decided as often as wanted."""
    share = (WANTED - low[1]) / max(high[1] - low[1], 1e-9)
    return ceil(low[0] + min(1.0, share) * (high[0] - low[0]))
