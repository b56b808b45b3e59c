"""The rule of the evidence policy on task-level deltas alone: non-inferior on every gate and superior on one; and
each gate's test in figures and words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import expm1, inf

import numpy as np

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.stats.hypothesis_tests import adjust_holm
from outweigh.verdict.decision import Decision, Gate, GateEvidence, GateState
from outweigh.verdict.evidence_settings import ERROR_RATES, EffectScale, ErrorRates
from outweigh.verdict.gate_sample import GateSample, PValues, confidence_bound, p_values_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GateTest:
    """One-sided p-values of the four claims about a gate; None means that the data cannot answer."""

    sample: GateSample
    p_values: PValues
    non_inferior: float | None
    superior: float | None
    equivalent: float | None
    alarm: float | None

    @property
    def unknown(self) -> bool:
        """Whether the gate cannot be judged at all."""
        return self.non_inferior is None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuleFinding:
    """What the rule says about one candidate, before anything outside the deltas is looked at."""

    decision: Decision
    tests: tuple[GateTest, ...]
    superior: tuple[str, ...]
    alarms: tuple[str, ...]


def examine_gate(sample: GateSample, *, fixed_suite: bool = False, planned_tasks: int | None = None) -> GateTest:
    """Test one gate: not worse, better, the same, and worse."""
    p_values = p_values_of(sample, fixed_suite=fixed_suite, planned_tasks=planned_tasks)
    not_worse, not_better = p_values.above(-sample.limit), p_values.below(sample.limit)
    # Any loss of passes raises the alarm, more use of a resource only beyond its margin.
    harm = 0.0 if sample.gated.scale is EffectScale.POINTS else -sample.limit
    return GateTest(
        sample=sample,
        p_values=p_values,
        non_inferior=not_worse,
        superior=p_values.above(0.0),
        equivalent=None if not_worse is None or not_better is None else max(not_worse, not_better),
        alarm=p_values.below(harm),
    )


def apply_rule(candidates: Sequence[Sequence[GateTest]], rates: ErrorRates = ERROR_RATES) -> tuple[RuleFinding, ...]:
    """Decide about all candidates of one baseline together.

    Gains are corrected over all candidates, so that one of many does not win by luck. Alarms are corrected within
    each candidate only: testing others beside it must not hide a loss.
    """
    superior = _superior(candidates, rates.superiority)
    not_worse = adjust_holm([_weakest([test.non_inferior for test in tests]) for tests in candidates])
    return tuple(
        _finding(tests, superior[index], not_worse[index] <= rates.non_inferiority, rates)
        for index, tests in enumerate(candidates)
    )


def alarmed_gates(tests: Sequence[GateTest], rates: ErrorRates = ERROR_RATES) -> tuple[str, ...]:
    """The gates on which one candidate is shown to be worse."""
    passes = _rejected(tests, EffectScale.POINTS, rates.pass_rate_alarm)
    return (*passes, *_rejected(tests, EffectScale.RATIO, rates.resource_alarm))


def _finding(tests: Sequence[GateTest], superior: tuple[str, ...], not_worse: bool, rates: ErrorRates) -> RuleFinding:
    alarms = alarmed_gates(tests, rates)
    return RuleFinding(
        decision=_decide(tests, bool(superior) and not_worse, alarms, rates),
        tests=tuple(tests),
        superior=superior,
        alarms=alarms,
    )


def _decide(tests: Sequence[GateTest], improved: bool, alarms: tuple[str, ...], rates: ErrorRates) -> Decision:
    if any(test.unknown for test in tests):
        return Decision.INCONCLUSIVE
    if alarms:
        return Decision.REGRESSED
    if improved:
        return Decision.IMPROVED
    same = _weakest([test.equivalent for test in tests])
    return Decision.NEUTRAL if same is not None and same <= rates.non_inferiority else Decision.INCONCLUSIVE


def _superior(candidates: Sequence[Sequence[GateTest]], alpha: float) -> list[tuple[str, ...]]:
    """The gates of each candidate whose gain survives Holm's correction over all gates of all candidates."""
    asked = [(index, test) for index, tests in enumerate(candidates) for test in tests]
    found: list[list[str]] = [[] for _ in candidates]
    adjusted = adjust_holm([test.superior for _, test in asked]) if asked else ()
    for (index, test), p_value in zip(asked, adjusted, strict=True):
        if p_value <= alpha:
            found[index].append(test.sample.gated.name)
    return [tuple(names) for names in found]


def _rejected(tests: Sequence[GateTest], scale: EffectScale, alpha: float) -> tuple[str, ...]:
    asked = [test for test in tests if test.sample.gated.scale is scale]
    adjusted = adjust_holm([test.alarm for test in asked]) if asked else ()
    return tuple(test.sample.gated.name for test, p in zip(asked, adjusted, strict=True) if p <= alpha)


def _weakest(p_values: Sequence[float | None]) -> float | None:
    """The largest p-value, because all must be shown; None where one is unknown."""
    known = [p_value for p_value in p_values if p_value is not None]
    return max(known) if known and len(known) == len(p_values) else None


_WIDEST = {EffectScale.POINTS: 1.0, EffectScale.RATIO: 20.0}


def gate_result(test: GateTest, comparison: Comparison) -> Gate:
    """The gate as a verdict shows it."""
    sample = test.sample
    state = GateState.UNKNOWN
    if test.non_inferior is not None and sample.unknown is None:
        state = GateState.HOLDS if test.non_inferior <= ERROR_RATES.non_inferiority else GateState.FAILS
    return Gate(
        name=sample.gated.name,
        state=state,
        baseline=_task_mean(comparison.baseline_table, sample),
        candidate=_task_mean(comparison.candidate_table, sample),
        detail=describe_gate(test) if sample.unknown is None else sample.unknown,
        evidence=_evidence(test),
    )


def _task_mean(arm: ArmTable, sample: GateSample) -> float | None:
    """Mean of task means over the tasks compared, so that a task run more often weighs no more."""
    means = dict(zip(arm.tasks, arm.mean_per_task(sample.gated.metric).tolist(), strict=True))
    values = [means[task] for task in sample.tasks]
    return float(np.mean(values)) if values else None


def _evidence(test: GateTest) -> GateEvidence:
    sample = test.sample
    low, high = _bounds(test)
    effect = float(sample.benefits.mean()) if len(sample.benefits) else None
    return GateEvidence(
        scale=sample.gated.scale.value,
        margin=sample.margin,
        effect=None if effect is None else _as_shown(effect, sample),
        low=low,
        high=high,
        tasks=len(sample.benefits),
        p_values={
            "non_inferior": test.non_inferior,
            "superior": test.superior,
            "equivalent": test.equivalent,
            "worse": test.alarm,
        },
    )


def _bounds(test: GateTest) -> tuple[float | None, float | None]:
    """The ends of the 90 % interval that belongs to the one-sided tests at 5 %, as points or as a ratio."""
    sample, widest = test.sample, _WIDEST[test.sample.gated.scale]
    ends = [
        confidence_bound(test.p_values, ERROR_RATES.non_inferiority, -widest, widest, lower=lower)
        for lower in (True, False)
    ]
    shown = sorted(_as_shown(end, sample) for end in ends if end is not None and abs(end) != inf)
    return (shown[0], shown[1]) if len(shown) == 2 else (None, None)


def _as_shown(benefit: float, sample: GateSample) -> float:
    """A gain in points as it is; minus the log of a ratio as the change of that ratio (−0.1 is 10 % less)."""
    return benefit if sample.gated.scale is EffectScale.POINTS else expm1(-benefit)


def describe_gate(test: GateTest) -> str:
    """The change, its interval and its margin in one line."""
    evidence, unit = _evidence(test), " points" if test.sample.gated.scale is EffectScale.POINTS else " %"
    if evidence.effect is None:
        return "no task to compare"
    span = "no interval"
    if evidence.low is not None and evidence.high is not None:
        span = f"90 % interval {100 * evidence.low:+.1f} to {100 * evidence.high:+.1f}"
    margin = f"margin {100 * evidence.margin:g}{unit}"
    return f"{100 * evidence.effect:+.1f}{unit} over {evidence.tasks} tasks ({span}; {margin})"
