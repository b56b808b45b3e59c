"""The evidence rule on many simulated experiments at once: the same decisions as `evidence_rule`, without p-values.

A plan asks how often the rule would decide, so it is applied to thousands of experiments. All of one size have the
same critical values, which their t statistics are compared with. Tests check this against `evidence_rule` experiment
by experiment.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from math import sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from outweigh.stats.distributions import binomial_cdf, t_quantile
from outweigh.verdict.collapse import COLLAPSE, COUNT_SHARE, DROP_LEVEL, chance_of_lost_passes
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import ERROR_RATES, EffectScale, ErrorRates, GateRole
from outweigh.verdict.gate_sample import BENEFIT_ROUNDING, GateSample
from outweigh.verdict.p_values import SPARSE_BELOW_TASKS
from outweigh.verdict.task_drops import fisher_drop_p

Values = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
CriticalValue = Callable[[float, int], float]
"""What a t statistic must reach at a one-sided level over so many tasks."""

GAIN = "gain"
"""What is in the way of an improvement where no gain is shown."""


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


class SimulatedDecisions(Struct, frozen=True, kw_only=True, eq=False):
    """One flag per experiment for each decision.

    Among those without a decision, `lacking` flags what kept them from an improvement, a gate or the gain itself, and
    `unequal` the gates that were not shown to be the same.
    """

    decided: Mapping[Decision, Flags]
    lacking: Mapping[str, Flags]
    unequal: Mapping[str, Flags]


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
    """One gate of many experiments: the typical run, the total of a resource, and whether tasks collapsed."""

    limits: GateLimits
    typical: SampleMoments
    total: SampleMoments | None
    collapsed: Flags | None = None


def decide_many(
    gates: Sequence[SimulatedGate], rates: ErrorRates = ERROR_RATES, critical: CriticalValue = t_critical_value
) -> SimulatedDecisions:
    """Decide about every experiment by itself, from the values of its tasks."""
    moments = [
        GateMoments(
            limits=gate.limits,
            typical=_moments(gate.benefits, counted=gate.limits.scale is EffectScale.POINTS),
            total=None if gate.amounts is None else _moments(_totals(*gate.amounts)),
            collapsed=_collapsed(gate, rates.task_alarm),
        )
        for gate in gates
    ]
    together = np.zeros_like(gates[0].benefits)
    for gate, found in zip(gates, moments, strict=True):
        together += gate.benefits * weights_in_sum(found.typical)[:, None]
    return decide_by_moments(moments, _moments(together), rates, critical)


def weights_in_sum(moments: SampleMoments) -> Values:
    """What standardises a gate's deltas in O'Brien's sum; a gate on which nothing differs adds nothing."""
    constant = moments.deviation <= BENEFIT_ROUNDING
    return np.where(constant, 0.0, 1 / np.where(constant, 1.0, moments.deviation))


def decide_by_moments(
    gates: Sequence[GateMoments],
    together: SampleMoments,
    rates: ErrorRates = ERROR_RATES,
    critical: CriticalValue = t_critical_value,
) -> SimulatedDecisions:
    """Decide about every experiment by itself; `together` are the moments of O'Brien's sum over all gates."""
    tested = [_TestedGate(gate, critical) for gate in gates]
    quality = [gate for gate in tested if gate.limits.role is GateRole.QUALITY]
    resources = [gate for gate in tested if gate.limits.role is GateRole.RESOURCE]
    size, alpha = len(together.mean), rates.non_inferiority

    superior = _any((gate.typical.above(0.0, rates.superiority / len(quality)) for gate in quality), size)
    summed = _Tests(together, critical).above(0.0, rates.superiority)
    not_worse = {gate.limits.name: gate.all_above(-gate.limits.margin, alpha) for gate in quality}
    tolerable = not_worse | {gate.limits.name: gate.all_above(-gate.limits.tolerance, alpha) for gate in resources}
    saving = not_worse | {gate.limits.name: gate.tolerable_saving(alpha) for gate in resources}
    same = {gate.limits.name: gate.same(alpha) for gate in tested}

    collapsed = _any((gate.collapsed for gate in gates if gate.collapsed is not None), size)
    worse = collapsed | _any((gate.alarm(0.0, rates.pass_rate_alarm / len(quality)) for gate in quality), size)
    ratios = sum(len(gate.parts) for gate in resources)
    dearer = _any((gate.alarm(-gate.limits.margin, rates.resource_alarm / ratios) for gate in resources), size)

    quiet = ~worse & ~dearer
    improved = quiet & ((superior & _all(tolerable.values(), size)) | (summed & _all(saving.values(), size)))
    neutral = quiet & ~improved & _all(same.values(), size)
    undecided = quiet & ~improved & ~neutral
    return SimulatedDecisions(
        decided={
            Decision.IMPROVED: improved,
            Decision.NEUTRAL: neutral,
            Decision.TRADE_OFF: ~worse & dearer & superior,
            Decision.REGRESSED: worse | (dearer & ~superior),
            Decision.INCONCLUSIVE: undecided,
        },
        lacking={
            GAIN: undecided & ~superior & ~summed,
            **{
                name: undecided & ((superior & ~tolerable[name]) | (~superior & summed & ~saving[name]))
                for name in tolerable
            },
        },
        unequal={name: undecided & ~shown for name, shown in same.items()},
    )


def _moments(values: Values, *, counted: bool = False) -> SampleMoments:
    """Of every row."""
    mean, tasks = values.mean(axis=1), values.shape[1]
    return SampleMoments(
        tasks=tasks,
        mean=mean,
        deviation=np.sqrt(np.square(values - mean[:, None]).sum(axis=1) / (tasks - 1)),
        gains=(values > BENEFIT_ROUNDING).sum(axis=1) if counted else None,
        losses=(values < -BENEFIT_ROUNDING).sum(axis=1) if counted else None,
    )


def _any(flags: Iterable[Flags], size: int) -> Flags:
    found = np.zeros(size, dtype=bool)
    for flag in flags:
        found |= flag
    return found


def _all(flags: Iterable[Flags], size: int) -> Flags:
    return ~_any((~flag for flag in flags), size)


class _Tests:
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
        remaining = np.maximum(1 + null, 0.0) / np.maximum(1 + mean, BENEFIT_ROUNDING)
        return np.where(self.constant, (null < mean) & (remaining**self.tasks <= alpha), shown)


@cache
def _count_shows(gains: int, losses: int, tasks: int, null: float, alpha: float) -> bool:
    below_zero = null < 0
    chance = binomial_cdf(losses, tasks, min(1.0, -null)) if below_zero else binomial_cdf(losses, gains + losses, 0.5)
    return chance <= alpha


class _TestedGate:
    def __init__(self, gate: GateMoments, critical: CriticalValue) -> None:
        self.limits, self._size = gate.limits, len(gate.typical.mean)
        self.typical = _Tests(gate.typical, critical)
        self.total = None if gate.total is None else _Tests(gate.total, critical)

    @property
    def parts(self) -> list[_Tests]:
        return [self.typical] if self.total is None else [self.typical, self.total]

    def all_above(self, null: float, alpha: float) -> Flags:
        return _all((part.above(null, alpha) for part in self.parts), self._size)

    def tolerable_saving(self, alpha: float) -> Flags:
        shown = self.typical.above(-self.limits.tolerance, alpha)
        return shown if self.total is None else shown & self.total.above(-self.limits.total, alpha)

    def same(self, alpha: float) -> Flags:
        not_better = _all((part.below(self.limits.margin, alpha) for part in self.parts), self._size)
        return not_better & self.all_above(-self.limits.margin, alpha)

    def alarm(self, harm: float, alpha: float) -> Flags:
        return _any((part.below(harm, alpha) for part in self.parts), self._size)


def _totals(before: Values, after: Values) -> Values:
    """`gate_sample.total_benefits` for every row."""
    ours, theirs = before.mean(axis=1, keepdims=True), after.mean(axis=1, keepdims=True)
    totals: Values = -(np.log(theirs / ours) + after / theirs - before / ours)
    return totals


def _collapsed(gate: SimulatedGate, alpha: float) -> Flags:
    """Whether more tasks collapsed, or one fell deeper, than chance explains, as `collapse` tests it."""
    rings = np.zeros(len(gate.benefits), dtype=bool)
    if gate.passes is None:
        return rings
    before, after = gate.passes
    p_values = _drop_p_values(gate.runs)[before, after]
    suspects = np.flatnonzero((p_values <= DROP_LEVEL).any(axis=1))
    if not len(suspects):
        return rings
    p_values, both = p_values[suspects], (before + after)[suspects]
    fallen = ((before - after)[suspects] / gate.runs >= COLLAPSE - BENEFIT_ROUNDING) & (p_values <= DROP_LEVEL)
    counted = _count_p_values(fallen.sum(axis=1), _drop_chances(gate.runs, DROP_LEVEL, COLLAPSE)[both])
    deepest, single = p_values.min(axis=1), np.ones(len(suspects))
    for level in set(deepest.tolist()):
        rows = deepest == level
        single[rows] = -np.expm1(np.log1p(-_drop_chances(gate.runs, level, 0.0)[both[rows]]).sum(axis=1))
    rings[suspects] = np.minimum(counted / COUNT_SHARE, single / (1 - COUNT_SHARE)) <= alpha
    return rings


@cache
def _drop_p_values(runs: int) -> Values:
    """Of a drop from so many passes to so many; 1 where there is none."""
    places = range(runs + 1)
    return np.array([[fisher_drop_p(runs, b, runs, a) if a < b else 1.0 for a in places] for b in places])


@cache
def _drop_chances(runs: int, level: float, fall: float) -> Values:
    """How likely a drop at this level and of this size is by chance, by the passes of both arms."""
    return np.array([chance_of_lost_passes(runs, runs, passes, level, fall) for passes in range(2 * runs + 1)])


def _count_p_values(counts: Counts, chances: Values) -> Values:
    """Chance of at least so many drops in every experiment (Poisson-binomial)."""
    law = np.zeros((len(counts), int(counts.max()) + 1))
    law[:, 0] = 1.0
    for chance in chances.T:
        law[:, 1:] += chance[:, None] * (law[:, :-1] - law[:, 1:])
        law[:, 0] *= 1 - chance
    fewer = np.cumsum(law, axis=1)[np.arange(len(counts)), np.maximum(counts - 1, 0)]
    return np.where(counts > 0, np.maximum(0.0, 1 - fewer), 1.0)
