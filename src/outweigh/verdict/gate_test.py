"""One gate's tests: what the data show about the typical run and about the total, in p-values, figures and words."""

from dataclasses import dataclass
from math import expm1, inf

import numpy as np

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.verdict.decision import Gate, GateEvidence, GateState, TotalEffect
from outweigh.verdict.evidence_settings import ERROR_RATES, EffectScale, GateRole
from outweigh.verdict.gate_sample import GateSample, PValues, confidence_bound, p_values_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GateClaims:
    """One-sided p-values of what can be claimed about one effect; None means that the data cannot answer.

    `tolerable` is "below the tolerance", `within_total_tolerance` "below what a saving may add to the total".
    """

    p_values: PValues
    non_inferior: float | None
    superior: float | None
    equivalent: float | None
    alarm: float | None
    tolerable: float | None
    within_total_tolerance: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GateTest:
    """The claims about a gate: about the typical run, and, for a resource, about the total as well."""

    sample: GateSample
    typical: GateClaims
    total: GateClaims | None

    @property
    def unknown(self) -> bool:
        """Whether the gate cannot be judged at all."""
        return any(claims.non_inferior is None for claims in self.claims)

    @property
    def claims(self) -> tuple[GateClaims, ...]:
        """What must hold together: the typical run, and the total where there is one."""
        return (self.typical,) if self.total is None else (self.typical, self.total)

    @property
    def non_inferior(self) -> float | None:
        """P-value of "not worse by the margin" on both scales."""
        return weakest([claims.non_inferior for claims in self.claims])

    @property
    def superior(self) -> float | None:
        """P-value of "better" on both scales."""
        return weakest([claims.superior for claims in self.claims])

    @property
    def equivalent(self) -> float | None:
        """P-value of "the same within the margin" on both scales."""
        return weakest([claims.equivalent for claims in self.claims])

    @property
    def tolerable(self) -> float | None:
        """P-value of "below the tolerance" on both scales; a gate without a tolerance must keep its margin."""
        return weakest([claims.tolerable for claims in self.claims])

    @property
    def tolerable_saving(self) -> float | None:
        """P-value of what a saving must show: the typical run below the tolerance, the total below 10 % more."""
        total = [] if self.total is None else [self.total.within_total_tolerance]
        return weakest([self.typical.tolerable, *total])

    @property
    def alarms(self) -> tuple[float | None, ...]:
        """P-values of "worse", one for each scale."""
        return tuple(claims.alarm for claims in self.claims)


def weakest(p_values: list[float | None]) -> float | None:
    """The largest p-value, because all must be shown; None where one is unknown."""
    known = [p_value for p_value in p_values if p_value is not None]
    return max(known) if known and len(known) == len(p_values) else None


def examine_gate(sample: GateSample, *, fixed_suite: bool = False, planned_tasks: int | None = None) -> GateTest:
    """Test one gate: not worse, better, the same, worse, and within its tolerance."""

    def claims(part: GateSample) -> GateClaims:
        return claims_of(sample, p_values_of(part, fixed_suite=fixed_suite, planned_tasks=planned_tasks))

    return GateTest(sample=sample, typical=claims(sample), total=None if sample.total is None else claims(sample.total))


def claims_of(sample: GateSample, p_values: PValues) -> GateClaims:
    """The claims about a gate by one kind of test."""
    gated, limit = sample.gated, sample.limit
    not_worse, not_better = p_values.above(-limit), p_values.below(limit)
    # Any loss of passes or of worth raises the alarm, more use of a resource only beyond its margin.
    harm = -limit if gated.role is GateRole.RESOURCE else 0.0
    return GateClaims(
        p_values=p_values,
        non_inferior=not_worse,
        superior=p_values.above(0.0),
        equivalent=weakest([not_worse, not_better]),
        alarm=p_values.below(harm),
        tolerable=p_values.above(-sample.tolerance_limit),
        within_total_tolerance=p_values.above(-sample.total_limit),
    )


_WIDEST = {EffectScale.POINTS: 1.0, EffectScale.RATIO: 20.0, EffectScale.DOLLARS: 1e6}


def gate_result(
    test: GateTest, comparison: Comparison, *, alarmed: bool, level: float = ERROR_RATES.non_inferiority
) -> Gate:
    """The gate as a verdict shows it; `level` is that of its one-sided tests, which is smaller at a planned look."""
    sample = test.sample
    return Gate(
        name=sample.gated.name,
        state=_state(test, level, alarmed=alarmed),
        baseline=_task_mean(comparison.baseline_table, sample),
        candidate=_task_mean(comparison.candidate_table, sample),
        detail=describe_gate(test, level) if sample.unknown is None else sample.unknown,
        evidence=gate_evidence(test, level),
    )


def _state(test: GateTest, level: float, *, alarmed: bool) -> GateState:
    if test.unknown or test.sample.unknown is not None:
        return GateState.UNKNOWN
    if alarmed:
        return GateState.WORSE
    shown = test.non_inferior is not None and test.non_inferior <= level
    return GateState.HOLDS if shown else GateState.NOT_SHOWN


def _task_mean(arm: ArmTable, sample: GateSample) -> float | None:
    """Mean of task means over the tasks compared, so that a task run more often weighs no more."""
    if sample.gated.metric not in arm.columns:
        return None
    means = dict(zip(arm.tasks, arm.mean_per_task(sample.gated.metric).tolist(), strict=True))
    values = [means[task] for task in sample.tasks]
    return float(np.mean(values)) if values else None


def gate_evidence(test: GateTest, level: float = ERROR_RATES.non_inferiority) -> GateEvidence:
    """Effects, intervals and p-values of a gate; `total` is None where the gate has no total."""
    sample = test.sample
    low, high = _bounds(sample, test.typical, level)
    effect = _effect(sample)
    total = None
    if sample.total is not None and test.total is not None:
        total_low, total_high = _bounds(sample, test.total, level)
        total = TotalEffect(effect=_effect(sample.total), low=total_low, high=total_high)
    return GateEvidence(
        scale=sample.gated.scale.value,
        margin=sample.margin,
        tolerance=sample.tolerance,
        effect=effect,
        low=low,
        high=high,
        total=total,
        tasks=len(sample.benefits),
        p_values={
            "non_inferior": test.non_inferior,
            "superior": test.superior,
            "equivalent": test.equivalent,
            "worse": min((p_value for p_value in test.alarms if p_value is not None), default=None),
            "tolerable": test.tolerable,
        },
    )


def _effect(sample: GateSample) -> float | None:
    return _as_shown(float(sample.benefits.mean()), sample) if len(sample.benefits) else None


def _bounds(sample: GateSample, claims: GateClaims, level: float) -> tuple[float | None, float | None]:
    """The ends of the interval that belongs to the one-sided tests: of 90 % at 5 %; as points, dollars or a ratio.

    At a planned look it is wider, so that the intervals of all looks together hold with 90 %.
    """
    widest = _WIDEST[sample.gated.scale]
    ends = [confidence_bound(claims.p_values, level, -widest, widest, lower=lower) for lower in (True, False)]
    shown = sorted(_as_shown(end, sample) for end in ends if end is not None and abs(end) != inf)
    return (shown[0], shown[1]) if len(shown) == 2 else (None, None)


def _as_shown(benefit: float, sample: GateSample) -> float:
    """A gain in points or dollars as it is; minus the log of a ratio as the change of it (−0.1 is 10 % less)."""
    return expm1(-benefit) if sample.gated.scale is EffectScale.RATIO else benefit


def describe_gate(test: GateTest, level: float = ERROR_RATES.non_inferiority) -> str:
    """The change, its interval and its margin in one line; for a resource the total as well."""
    evidence = gate_evidence(test, level)
    if evidence.effect is None:
        return "no task to compare"
    scale = test.sample.gated.scale
    if scale is EffectScale.DOLLARS:
        return f"{_span(evidence.effect, evidence.low, evidence.high, scale)} over {evidence.tasks} tasks"
    unit = " points" if scale is EffectScale.POINTS else " %"
    typical = _span(evidence.effect, evidence.low, evidence.high, scale)
    if evidence.total is None or evidence.total.effect is None:
        return f"{typical} over {evidence.tasks} tasks (margin {100 * evidence.margin:g}{unit})"
    total = _span(evidence.total.effect, evidence.total.low, evidence.total.high, scale)
    return f"typical run {typical}, total {total} over {evidence.tasks} tasks (margin {100 * evidence.margin:g}{unit})"


def _span(effect: float, low: float | None, high: float | None, scale: EffectScale) -> str:
    """An effect with its 90 % interval, such as `+4.0 points, 90 % interval +1.2 to +6.8`."""
    dollars = scale is EffectScale.DOLLARS
    unit = {EffectScale.POINTS: " points", EffectScale.RATIO: " %", EffectScale.DOLLARS: " dollars per task"}[scale]

    def number(value: float) -> str:
        shown = f"{value:+.2f}" if dollars else f"{100 * value:+.1f}"
        return shown.replace("-", "+") if float(shown) == 0 else shown

    span = "no interval" if low is None or high is None else f"90 % interval {number(low)} to {number(high)}"
    return f"{number(effect)}{unit} ({span})"
