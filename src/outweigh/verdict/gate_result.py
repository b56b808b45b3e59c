"""Gates as a verdict shows them: state, the arms' figures, effects with intervals, chances, and all in words.

Also which of them is in the way of a decision.
"""

from collections.abc import Sequence
from math import expm1, inf, sqrt

import numpy as np
from msgspec.structs import replace

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.verdict.decision import ArmMeans, Chances, Gate, GateEvidence, GateState, Obstacle, TotalEffect
from outweigh.verdict.evidence_settings import COST_OF_PASS, ERROR_RATES, WORTH, EffectScale, GateRole
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.gate_test import GateClaims, GateTest
from outweigh.verdict.p_values import EqualPValues, PValues, StudentPValues, confidence_bound

NO_CHANCES = Chances(better=None, worse_beyond_margin=None, gain_if_repeated=None)

_WIDEST = {EffectScale.POINTS: 1.0, EffectScale.RATIO: 20.0, EffectScale.DOLLARS: 1e6}


def gate_result(
    test: GateTest,
    comparison: Comparison,
    *,
    alarmed: bool,
    level: float = ERROR_RATES.non_inferiority,
    looked_once: bool = True,
) -> Gate:
    """The gate as a verdict shows it; `level` is that of its one-sided tests, which is smaller at a planned look.

    Chances are stated only where the data were looked at once: an early end comes at a moment that flatters them.
    """
    sample = test.sample
    means, evidence = _means(comparison, sample), _evidence(test, comparison, level)
    if not looked_once:
        evidence = _without_chances(evidence)
    return Gate(
        name=sample.gated.name,
        state=_state(test, level, alarmed=alarmed),
        baseline=means.baseline,
        candidate=means.candidate,
        detail=_describe(evidence) if sample.unknown is None else sample.unknown,
        evidence=evidence,
    )


def _state(test: GateTest, level: float, *, alarmed: bool) -> GateState:
    if test.unknown or test.sample.unknown is not None:
        return GateState.UNKNOWN
    worth = test.sample.gated.role is GateRole.WORTH
    if alarmed or (worth and (test.typical.alarm or 1.0) <= ERROR_RATES.pass_rate_alarm):
        return GateState.WORSE
    shown = test.non_inferior is not None and test.non_inferior <= level
    return GateState.HOLDS if shown else GateState.NOT_SHOWN


def _means(comparison: Comparison, sample: GateSample) -> ArmMeans:
    arms = comparison.baseline_table, comparison.candidate_table
    before: float | None
    after: float | None
    if sample.gated.scale is EffectScale.DOLLARS and sample.noise is not None and sample.tasks:
        before, after = (float(arm.means.mean()) for arm in sample.noise)
    elif sample.gated.name == COST_OF_PASS:
        before, after = (_cost_of_pass(arm, sample.tasks) for arm in arms)
    else:
        before, after = (_task_mean(arm, sample.gated.metric, sample.tasks) for arm in arms)
    return ArmMeans(baseline=before, candidate=after)


def _task_mean(arm: ArmTable, metric: str, tasks: Sequence[str]) -> float | None:
    """Mean of task means over the tasks compared, so that a task run more often weighs no more."""
    if metric not in arm.columns:
        return None
    if not tasks:
        return None
    if tasks is arm.tasks or tasks == arm.tasks:
        return float(np.mean(arm.mean_per_task(metric)))
    means = dict(zip(arm.tasks, arm.mean_per_task(metric).tolist(), strict=True))
    return float(np.mean([means[task] for task in tasks]))


def _cost_of_pass(arm: ArmTable, tasks: Sequence[str]) -> float | None:
    dollars, passes = _task_mean(arm, "cost_usd", tasks), _task_mean(arm, "passed", tasks)
    return dollars / passes if dollars is not None and passes else None


def _geometric_means(sample: GateSample) -> ArmMeans | None:
    """What a typical run takes in each arm; None where the gate is no ratio of amounts."""
    if sample.total is None or sample.noise is None or not len(sample.benefits):
        return None
    # A task without any use of the resource has no logarithm, and with it no geometric mean.
    before, after = (float(np.exp(arm.means.mean())) if np.isfinite(arm.means).all() else None for arm in sample.noise)
    return ArmMeans(baseline=before, candidate=after)


def chances_of(p_values: PValues, limit: float) -> Chances:
    """What the t distribution says about the truth. Exact counts and repeated looks give bounds, which are no chances.

    Arms that are known to be equal are neither better nor worse.
    """
    if not isinstance(p_values, StudentPValues | EqualPValues):
        return NO_CHANCES
    # The mean of a second experiment varies around the truth by as much as this one's does.
    twice = replace(p_values, error=sqrt(2) * p_values.error) if isinstance(p_values, StudentPValues) else p_values
    return Chances(
        better=_complement(p_values.above(0.0)),
        worse_beyond_margin=p_values.above(-limit),
        gain_if_repeated=_complement(twice.above(0.0)),
    )


def _complement(chance: float | None) -> float | None:
    return None if chance is None else 1 - chance


def _without_chances(evidence: GateEvidence) -> GateEvidence:
    total = None if evidence.total is None else replace(evidence.total, chances=NO_CHANCES)
    return replace(evidence, total=total, chances=NO_CHANCES)


def _evidence(test: GateTest, comparison: Comparison, level: float) -> GateEvidence:
    """Effects, intervals, chances and p-values of a gate; `total` is None where the gate has no total."""
    sample = test.sample
    low, high = _bounds(sample, test.typical, level)
    effect = _effect(sample)
    total = None
    if sample.total is not None and test.total is not None:
        total_low, total_high = _bounds(sample, test.total, level)
        total = TotalEffect(
            effect=_effect(sample.total),
            low=total_low,
            high=total_high,
            means=_means(comparison, sample.total),
            chances=chances_of(test.total.p_values, sample.limit),
        )
    return GateEvidence(
        scale=sample.gated.scale.value,
        margin=sample.margin,
        tolerance=sample.tolerance,
        effect=effect,
        low=low,
        high=high,
        geometric_means=_geometric_means(sample),
        total=total,
        chances=chances_of(test.typical.p_values, sample.limit),
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


def _describe(evidence: GateEvidence) -> str:
    """The change, its interval and its margin in one line; for a resource the total as well."""
    if evidence.effect is None:
        return "no task to compare"
    scale = EffectScale(evidence.scale)
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


def find_obstacle(gates: Sequence[Gate], *, by_margin: bool = False) -> Obstacle | None:
    """The gate that is least shown to be good enough, from the gates of an inconclusive verdict that can be judged.

    An improvement needs quality within its margin and every resource below its tolerance. Where all of that is shown,
    no gain is, and the gate is named that is least shown to be the same. None without any tested gate. With `by_margin`
    resources must stay within their margins too, as in version 1 of the rule.
    """
    tested = {gate.name: gate.evidence for gate in gates if gate.evidence is not None and gate.name != WORTH}
    if unknown := next((gate for gate in gates if gate.state is GateState.UNKNOWN), None):
        return Obstacle(gate=unknown.name, detail=f"{unknown.name} is unknown: {unknown.detail}")
    if not tested:
        return None
    if any(gate.state is GateState.WORSE for gate in gates):
        return Obstacle(gate=WORTH, detail="worth is not shown to be a gain or a loss, so the trade-off is not settled")
    claim = "non_inferior" if by_margin else "tolerable"
    name, evidence = max(tested.items(), key=lambda item: _doubt(item[1], claim))
    if _doubt(evidence, claim) > ERROR_RATES.non_inferiority:
        return Obstacle(gate=name, detail=f"{name} {_what_it_may_be(evidence, by_margin=by_margin)}")
    name = max(tested, key=lambda each: _doubt(tested[each], "equivalent"))
    detail = f"no gain beyond chance is shown, and {name} is not shown to be the same within its margin"
    return Obstacle(gate=name, detail=detail)


def _doubt(evidence: GateEvidence, claim: str) -> float:
    p_value = evidence.p_values.get(claim)
    return 1.0 if p_value is None else p_value


def _what_it_may_be(evidence: GateEvidence, *, by_margin: bool) -> str:
    """How bad the gate may still be, and how bad it may be at most."""
    if evidence.scale == EffectScale.POINTS:
        worst, limit, unit = evidence.low, evidence.margin, "points worse"
    else:
        ends = [evidence.high, None if evidence.total is None else evidence.total.high]
        worst = max((end for end in ends if end is not None), default=None)
        limit = evidence.margin if by_margin or evidence.tolerance is None else evidence.tolerance
        unit = "% more"
    if worst is None:
        return f"has no interval; it must be shown to be less than {100 * limit:g} {unit}"
    return f"may be {100 * abs(worst):.0f} {unit}; it must be shown to be less than {100 * limit:g} {unit}"
