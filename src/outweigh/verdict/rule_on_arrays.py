"""The evidence rule on many simulated experiments at once, for planning and for calibration.

The same rule as `evidence_rule`, and as `evidence_rule_v1` for experiments under version 1, for one candidate whose
gates are all known and whose tasks are in no families. Tests check this experiment by experiment.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from outweigh.verdict.collapse_on_arrays import tasks_collapsed, tasks_dropped
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule_v1 import ERROR_RATES_V1
from outweigh.verdict.evidence_settings import CURRENT_VERSION, ERROR_RATES, EffectScale, ErrorRates, GateRole
from outweigh.verdict.gate_tests_on_arrays import (
    CriticalValue,
    ExaminedGate,
    Flags,
    GateMoments,
    MeanTests,
    SampleMoments,
    SimulatedGate,
    Values,
    all_of,
    any_of,
    row_moments,
    t_critical_value,
    weights_in_sum,
)

GAIN = "gain"
"""What is in the way of an improvement where no gain is shown."""


class SimulatedRule(Struct, frozen=True, kw_only=True):
    """A version of the rule with its error rates, and what its t statistics are compared with."""

    version: int = CURRENT_VERSION
    rates: ErrorRates = ERROR_RATES
    critical: CriticalValue = t_critical_value


def rule_of_version(version: int) -> SimulatedRule:
    """A version with its usual error rates, looked at once."""
    return SimulatedRule(version=version, rates=ERROR_RATES_V1 if version == 1 else ERROR_RATES)


CURRENT_RULE = rule_of_version(CURRENT_VERSION)


class SimulatedDecisions(Struct, frozen=True, kw_only=True, eq=False):
    """One flag per experiment for each decision.

    Among those without a decision, `lacking` flags what kept them from an improvement, a gate or the gain itself, and
    `unequal` the gates that were not shown to be the same.
    """

    decided: Mapping[Decision, Flags]
    lacking: Mapping[str, Flags]
    unequal: Mapping[str, Flags]


class ExperimentMoments(Struct, frozen=True, kw_only=True, eq=False):
    """What the rule needs of many experiments: their gates, O'Brien's sum over all gates, and collapsed tasks."""

    gates: Sequence[GateMoments]
    together: SampleMoments
    collapsed: Flags | None = None


def decide_many(gates: Sequence[SimulatedGate], rule: SimulatedRule = CURRENT_RULE) -> SimulatedDecisions:
    """Decide about every experiment by itself, from the values of its tasks."""
    return decide_by_moments(moments_of(gates, rule), rule)


def moments_of(gates: Sequence[SimulatedGate], rule: SimulatedRule = CURRENT_RULE) -> ExperimentMoments:
    """What the rule needs of experiments."""
    moments = [
        GateMoments(
            limits=gate.limits,
            typical=row_moments(gate.benefits, counted=gate.limits.scale is EffectScale.POINTS),
            total=None if gate.amounts is None else row_moments(_totals(*gate.amounts)),
        )
        for gate in gates
    ]
    together = np.zeros_like(gates[0].benefits)
    for gate, found in zip(gates, moments, strict=True):
        together += gate.benefits * weights_in_sum(found.typical)[:, None]
    dropped = tasks_dropped if rule.version == 1 else tasks_collapsed
    passes = [gate for gate in gates if gate.passes is not None]
    collapsed = [dropped(gate.passes, gate.runs, rule.rates.task_alarm) for gate in passes if gate.passes is not None]
    return ExperimentMoments(
        gates=moments,
        together=row_moments(together),
        collapsed=any_of(collapsed, len(together)) if collapsed else None,
    )


def decide_by_moments(experiments: ExperimentMoments, rule: SimulatedRule = CURRENT_RULE) -> SimulatedDecisions:
    """Decide about every experiment by itself."""
    claims = claims_of(experiments, rule)
    quiet = ~claims.worse & ~claims.dearer
    improved = quiet & claims.improvement
    neutral = quiet & ~improved & claims.same_on_all
    undecided = quiet & ~improved & ~neutral
    superior, summed = claims.superior, claims.summed
    trade_off = ~claims.worse & claims.dearer & superior if rule.version > 1 else np.zeros_like(quiet)
    return SimulatedDecisions(
        decided={
            Decision.IMPROVED: improved,
            Decision.NEUTRAL: neutral,
            Decision.TRADE_OFF: trade_off,
            Decision.REGRESSED: ~quiet & ~trade_off,
            Decision.INCONCLUSIVE: undecided,
        },
        lacking={
            GAIN: undecided & ~superior & ~summed,
            **{
                name: undecided & ((superior & ~claims.tolerable[name]) | (~superior & summed & ~claims.saving[name]))
                for name in claims.tolerable
            },
        },
        unequal={name: undecided & ~shown for name, shown in claims.same.items()},
    )


class Claims(Struct, frozen=True, kw_only=True, eq=False):
    """What is shown about every experiment: two kinds of gain, what must hold beside each, sameness, and alarms."""

    superior: Flags
    summed: Flags
    tolerable: Mapping[str, Flags]
    saving: Mapping[str, Flags]
    same: Mapping[str, Flags]
    worse: Flags
    dearer: Flags

    @property
    def improvement(self) -> Flags:
        """Whether a gain is shown, and what must hold beside it, whatever the alarms say."""
        size = len(self.superior)
        return (self.superior & all_of(self.tolerable.values(), size)) | (
            self.summed & all_of(self.saving.values(), size)
        )

    @property
    def same_on_all(self) -> Flags:
        """Whether every gate is shown to be the same."""
        return all_of(self.same.values(), len(self.superior))


def claims_of(experiments: ExperimentMoments, rule: SimulatedRule) -> Claims:
    """Test everything that the rule tests."""
    size = len(experiments.together.mean)
    collapsed = np.zeros(size, dtype=bool) if experiments.collapsed is None else experiments.collapsed
    tested = [ExaminedGate(gate, rule.critical, totals=rule.version > 1) for gate in experiments.gates]
    if rule.version == 1:
        return _claims_of_version_1(tested, collapsed, rule.rates)
    quality = [gate for gate in tested if gate.limits.role is GateRole.QUALITY]
    resources = [gate for gate in tested if gate.limits.role is GateRole.RESOURCE]
    rates, alpha = rule.rates, rule.rates.non_inferiority
    not_worse = {gate.limits.name: gate.all_above(-gate.limits.margin, alpha) for gate in quality}
    ratios = sum(len(gate.parts) for gate in resources)
    return Claims(
        superior=any_of((gate.typical.above(0.0, rates.superiority / len(quality)) for gate in quality), size),
        summed=MeanTests(experiments.together, rule.critical).above(0.0, rates.superiority),
        tolerable=not_worse | {gate.limits.name: gate.all_above(-gate.limits.tolerance, alpha) for gate in resources},
        saving=not_worse | {gate.limits.name: gate.tolerable_saving(alpha) for gate in resources},
        same={gate.limits.name: gate.same(alpha) for gate in tested},
        worse=collapsed | any_of((gate.alarm(0.0, rates.pass_rate_alarm / len(quality)) for gate in quality), size),
        dearer=any_of((gate.alarm(-gate.limits.margin, rates.resource_alarm / ratios) for gate in resources), size),
    )


def _claims_of_version_1(tested: Sequence[ExaminedGate], collapsed: Flags, rates: ErrorRates) -> Claims:
    """The typical run alone: superior on any gate after correction, and within the margin on every one."""
    size, alpha = len(collapsed), rates.non_inferiority
    points = [gate for gate in tested if gate.limits.scale is EffectScale.POINTS]
    ratios = [gate for gate in tested if gate.limits.scale is EffectScale.RATIO]
    not_worse = {gate.limits.name: gate.all_above(-gate.limits.margin, alpha) for gate in tested}
    return Claims(
        superior=any_of((gate.typical.above(0.0, rates.superiority / len(tested)) for gate in tested), size),
        summed=np.zeros(size, dtype=bool),
        tolerable=not_worse,
        saving=not_worse,
        same={gate.limits.name: gate.same(alpha) for gate in tested},
        worse=collapsed | any_of((gate.alarm(0.0, rates.pass_rate_alarm / len(points)) for gate in points), size),
        dearer=any_of((gate.alarm(-gate.limits.margin, rates.resource_alarm / len(ratios)) for gate in ratios), size),
    )


def _totals(before: Values, after: Values) -> Values:
    """`gate_sample.total_benefits` for every row."""
    ours, theirs = before.mean(axis=1, keepdims=True), after.mean(axis=1, keepdims=True)
    totals: Values = -(np.log(theirs / ours) + after / theirs - before / ours)
    return totals
