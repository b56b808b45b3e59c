"""Tests of the gates of many simulated experiments at once, as `gate_test` tests one of them.

They compare t statistics with critical values. Where few tasks differ they count, as `gate_sample` does.
"""

from collections.abc import Callable, Iterable
from functools import cache
from math import sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from outweigh.stats.distributions import binomial_cdf, t_quantile
from outweigh.verdict.evidence_settings import EffectScale, GateRole
from outweigh.verdict.gate_sample import BENEFIT_ROUNDING, GateSample
from outweigh.verdict.p_values import SPARSE_BELOW_TASKS

Values = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
CriticalValue = Callable[[float, int], float]
"""What a t statistic must reach at a one-sided level over so many tasks."""


class GateLimits(Struct, frozen=True, kw_only=True):
    """What the rule holds a gate to, on the scale of its benefits."""

    name: str
    role: GateRole
    scale: EffectScale
    margin: float
    tolerance: float
    total: float


def limits_of(sample: GateSample) -> GateLimits:
    """What the rule holds this gate to."""
    return GateLimits(
        name=sample.gated.name,
        role=sample.gated.role,
        scale=sample.gated.scale,
        margin=sample.limit,
        tolerance=sample.tolerance_limit,
        total=sample.total_limit,
    )


class SimulatedGate(Struct, frozen=True, kw_only=True, eq=False):
    """One gate of many experiments: experiments × tasks. `amounts` are a resource's task means in both arms.

    `passes` are both arms' passes out of `runs` for each task, where single tasks can collapse.
    """

    limits: GateLimits
    benefits: Values
    amounts: tuple[Values, Values] | None = None
    passes: tuple[Counts, Counts] | None = None
    runs: int = 0


def cut_to_tasks(gate: SimulatedGate, tasks: int) -> SimulatedGate:
    """The first so many tasks of every experiment."""
    return SimulatedGate(
        limits=gate.limits,
        benefits=gate.benefits[:, :tasks],
        amounts=None if gate.amounts is None else (gate.amounts[0][:, :tasks], gate.amounts[1][:, :tasks]),
        passes=None if gate.passes is None else (gate.passes[0][:, :tasks], gate.passes[1][:, :tasks]),
        runs=gate.runs,
    )


@cache
def t_critical_value(alpha: float, tasks: int) -> float:
    """The critical value of an ordinary t test, looked at once."""
    return t_quantile(1 - alpha, tasks - 1)


class SampleMoments(Struct, frozen=True, kw_only=True, eq=False):
    """What the tests of a mean rest on, one entry per experiment.

    `gains` and `losses` count the tasks that differ, where the rule counts tasks; None where it does not.
    """

    tasks: int
    mean: Values
    deviation: Values
    gains: Counts | None = None
    losses: Counts | None = None


class GateMoments(Struct, frozen=True, kw_only=True, eq=False):
    """One gate of many experiments: the typical run, and the total of a resource."""

    limits: GateLimits
    typical: SampleMoments
    total: SampleMoments | None


def weights_in_sum(moments: SampleMoments) -> Values:
    """What standardises a gate's deltas in O'Brien's sum; a gate on which nothing differs adds nothing."""
    constant = moments.deviation <= BENEFIT_ROUNDING
    return np.where(constant, 0.0, 1 / np.where(constant, 1.0, moments.deviation))


def row_moments(values: Values, *, counted: bool = False) -> SampleMoments:
    """Of every row."""
    mean, tasks = values.mean(axis=1), values.shape[1]
    return SampleMoments(
        tasks=tasks,
        mean=mean,
        deviation=np.sqrt(np.square(values - mean[:, None]).sum(axis=1) / (tasks - 1)),
        gains=(values > BENEFIT_ROUNDING).sum(axis=1) if counted else None,
        losses=(values < -BENEFIT_ROUNDING).sum(axis=1) if counted else None,
    )


def any_of(flags: Iterable[Flags], size: int) -> Flags:
    """Whether one of the flags is set, for each of so many experiments."""
    found = np.zeros(size, dtype=bool)
    for flag in flags:
        found |= flag
    return found


def all_of(flags: Iterable[Flags], size: int) -> Flags:
    """Whether every flag is set, for each of so many experiments."""
    return ~any_of((~flag for flag in flags), size)


class MeanTests:
    """One-sided tests of the mean of every experiment: by t, and by counting where few tasks differ."""

    def __init__(self, moments: SampleMoments, critical: CriticalValue) -> None:
        self.tasks, self.mean = moments.tasks, moments.mean
        self.constant = moments.deviation <= BENEFIT_ROUNDING
        self._error = moments.deviation / sqrt(moments.tasks)
        self._critical = critical
        self._counts: tuple[Counts, Counts] | None = None
        if moments.gains is not None and moments.losses is not None:
            self._counts = moments.gains, moments.losses

    def above(self, null: float, alpha: float) -> Flags:
        """Whether the mean is shown to lie above."""
        shown = (self.mean - null) >= self._critical(alpha, self.tasks) * self._error
        return self._confirm(shown, self.mean, self._counts, null, alpha)

    def below(self, null: float, alpha: float) -> Flags:
        """Whether the mean is shown to lie below."""
        shown = (null - self.mean) >= self._critical(alpha, self.tasks) * self._error
        turned = None if self._counts is None else (self._counts[1], self._counts[0])
        return self._confirm(shown, -self.mean, turned, -null, alpha)

    def is_wide(self, margin: float, alpha: float) -> Flags:
        """Whether a mean of zero would be shown to lie within the margin, by t."""
        return margin >= self._critical(alpha, self.tasks) * self._error

    def _confirm(
        self, shown: Flags, mean: Values, counts: tuple[Counts, Counts] | None, null: float, alpha: float
    ) -> Flags:
        """By the exact tests of `gate_sample`, where few tasks differ or none does."""
        if counts is None:
            return shown & ~self.constant
        gains, losses = counts
        sparse = (gains + losses < SPARSE_BELOW_TASKS) & ~self.constant
        for gained, lost in set(zip(gains[sparse].tolist(), losses[sparse].tolist(), strict=True)):
            if not _count_shows(gained, lost, self.tasks, null, alpha):
                shown &= ~(sparse & (gains == gained) & (losses == lost))
        if not self.constant.any():
            return shown
        # Above 1 nothing is shown, however far.
        remaining = np.minimum(1.0, np.maximum(1 + null, 0.0) / np.maximum(1 + mean, BENEFIT_ROUNDING))
        return np.where(self.constant, (null < mean) & (remaining**self.tasks <= alpha), shown)


@cache
def _count_shows(gains: int, losses: int, tasks: int, null: float, alpha: float) -> bool:
    below_zero = null < 0
    chance = binomial_cdf(losses, tasks, min(1.0, -null)) if below_zero else binomial_cdf(losses, gains + losses, 0.5)
    return chance <= alpha


class ExaminedGate:
    """A gate of many experiments: the typical run, and the total of a resource where totals are tested."""

    def __init__(self, gate: GateMoments, critical: CriticalValue, *, totals: bool = True) -> None:
        self.limits, self._size = gate.limits, len(gate.typical.mean)
        self.typical = MeanTests(gate.typical, critical)
        self.total = MeanTests(gate.total, critical) if totals and gate.total is not None else None

    @property
    def parts(self) -> list[MeanTests]:
        """The typical run, and the total."""
        return [self.typical] if self.total is None else [self.typical, self.total]

    def all_above(self, null: float, alpha: float) -> Flags:
        """Whether both are shown to lie above."""
        return all_of((part.above(null, alpha) for part in self.parts), self._size)

    def tolerable_saving(self, alpha: float) -> Flags:
        """Whether neither is shown to be much dearer, each by its own limit."""
        shown = self.typical.above(-self.limits.tolerance, alpha)
        return shown if self.total is None else shown & self.total.above(-self.limits.total, alpha)

    def same(self, alpha: float) -> Flags:
        """Whether both are shown to lie within the margin."""
        not_better = all_of((part.below(self.limits.margin, alpha) for part in self.parts), self._size)
        return not_better & self.all_above(-self.limits.margin, alpha)

    def alarm(self, harm: float, alpha: float) -> Flags:
        """Whether either is shown to lie below."""
        return any_of((part.below(harm, alpha) for part in self.parts), self._size)

    def margin_is_wide(self, alpha: float) -> Flags:
        """Whether an effect just between the margins would be shown to be the same."""
        return all_of((part.is_wide(self.limits.margin, alpha) for part in self.parts), self._size)
