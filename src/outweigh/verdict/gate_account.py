"""A gate's test put into figures and words."""

from math import expm1, inf

import numpy as np

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.verdict.evidence_rule import GateTest
from outweigh.verdict.evidence_settings import PROMISED
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.gated_metric import Scale
from outweigh.verdict.tails import bound
from outweigh.verdict.verdict import Gate, GateEvidence, GateState

_WIDEST = {Scale.POINTS: 1.0, Scale.RATIO: 20.0}


def account_for(test: GateTest, comparison: Comparison) -> Gate:
    """The gate as a verdict shows it."""
    sample = test.sample
    state = GateState.UNKNOWN
    if test.non_inferior is not None and sample.unknown is None:
        state = GateState.HOLDS if test.non_inferior <= PROMISED.non_inferiority else GateState.FAILS
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
    ends = [bound(test.tails, PROMISED.non_inferiority, -widest, widest, lower=lower) for lower in (True, False)]
    shown = sorted(_as_shown(end, sample) for end in ends if end is not None and abs(end) != inf)
    return (shown[0], shown[1]) if len(shown) == 2 else (None, None)


def _as_shown(benefit: float, sample: GateSample) -> float:
    """A gain in points as it is; minus the log of a ratio as the change of that ratio (−0.1 is 10 % less)."""
    return benefit if sample.gated.scale is Scale.POINTS else expm1(-benefit)


def describe_gate(test: GateTest) -> str:
    """The change, its interval and its margin in one line."""
    evidence, unit = _evidence(test), " points" if test.sample.gated.scale is Scale.POINTS else " %"
    if evidence.effect is None:
        return "no task to compare"
    span = "no interval"
    if evidence.low is not None and evidence.high is not None:
        span = f"90 % interval {100 * evidence.low:+.1f} to {100 * evidence.high:+.1f}"
    margin = f"margin {100 * evidence.margin:g}{unit}"
    return f"{100 * evidence.effect:+.1f}{unit} over {evidence.tasks} tasks ({span}; {margin})"
