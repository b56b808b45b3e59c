"""Policy `evidence`: improved only when the data show it at a stated error rate, and silent when they do not."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import expm1, inf

import numpy as np

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.errors import name_some
from outweigh.verdict.blockers import blockers
from outweigh.verdict.evidence_rule import Finding, GateTest, examine, find
from outweigh.verdict.evidence_settings import PROMISED, EvidenceSettings
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.gated_metric import Scale
from outweigh.verdict.needs import needs
from outweigh.verdict.sensitivity import sensitivity
from outweigh.verdict.tails import bound
from outweigh.verdict.task_drops import TaskDrops, task_drops
from outweigh.verdict.usability import gates_of, unusable
from outweigh.verdict.verdict import (
    Decision,
    Gate,
    GateEvidence,
    GateState,
    Regression,
    RegressionKind,
    Sensitivity,
    Verdict,
)

_WIDEST = {Scale.POINTS: 1.0, Scale.RATIO: 20.0}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weighed:
    """The decision about one candidate and what it rests on, before anything is explained."""

    decision: Decision
    gates: tuple[GateSample, ...]
    finding: Finding
    obstacles: tuple[str, ...]
    drops: TaskDrops
    hard_drops: tuple[Regression, ...]


def decide_by_evidence(comparisons: Sequence[Comparison], settings: EvidenceSettings) -> tuple[Verdict, ...]:
    """Decide about one candidate, or about many against one baseline with their luck corrected together."""
    return tuple(
        _verdict(comparison, weighed, settings)
        for comparison, weighed in zip(comparisons, weigh(comparisons, settings), strict=True)
    )


def weigh(comparisons: Sequence[Comparison], settings: EvidenceSettings) -> tuple[Weighed, ...]:
    """The decisions alone, without the sensitivity and the needs, which take far longer."""
    gates = [gates_of(comparison, settings) for comparison in comparisons]
    findings = find([[_examine(gate, settings) for gate in samples] for samples in gates])
    return tuple(
        _weighed(comparison, samples, finding, settings)
        for comparison, samples, finding in zip(comparisons, gates, findings, strict=True)
    )


def _examine(gate: GateSample, settings: EvidenceSettings) -> GateTest:
    return examine(gate, fixed_suite=settings.fixed_suite, planned_tasks=settings.planned_tasks)


def _weighed(
    comparison: Comparison, gates: tuple[GateSample, ...], finding: Finding, settings: EvidenceSettings
) -> Weighed:
    obstacles = tuple(unusable(comparison, gates, settings))
    drops = task_drops(comparison.baseline_table, comparison.candidate_table, PROMISED.task_alarm)
    # Looking again and again at single tasks would spend their error rate many times over.
    hard_drops = () if settings.planned_tasks is not None else drops.supported
    return Weighed(
        decision=_decision(finding, hard_drops, obstacles),
        gates=gates,
        finding=finding,
        obstacles=obstacles,
        drops=drops,
        hard_drops=hard_drops,
    )


def _verdict(comparison: Comparison, weighed: Weighed, settings: EvidenceSettings) -> Verdict:
    decision, gates, finding = weighed.decision, weighed.gates, weighed.finding
    obstacles, hard_drops = weighed.obstacles, weighed.hard_drops
    return Verdict(
        policy="evidence",
        decision=decision,
        seed_wording=decision.value,
        reasons=(*obstacles, *(item.detail for item in hard_drops), *_reasons(finding, decision)),
        warnings=(*comparison.warnings, *_notices(weighed.drops, gates, settings)),
        gates=tuple(_gate(test, comparison) for test in finding.tests),
        regressions=(*_missing_tasks(comparison), *hard_drops),
        blockers=(*obstacles, *blockers(comparison)),
        needs=needs(gates, comparison) if decision is Decision.INCONCLUSIVE else None,
        sensitivity=None if obstacles else _sensitivity(comparison, gates, finding, settings),
        settings=_stored(gates, settings),
        evidence_sha256=comparison.evidence_sha256,
    )


def _decision(finding: Finding, drops: Sequence[Regression], obstacles: Sequence[str]) -> Decision:
    if obstacles:
        return Decision.INCONCLUSIVE
    return Decision.REGRESSED if drops else finding.decision


def _sensitivity(
    comparison: Comparison, gates: Sequence[GateSample], finding: Finding, settings: EvidenceSettings
) -> Sensitivity:
    def decide(samples: Sequence[GateSample]) -> Decision:
        return find([[_examine(gate, settings) for gate in samples]])[0].decision

    return sensitivity(gates, finding.decision, decide, comparison.baseline_table, comparison.candidate_table)


def _missing_tasks(comparison: Comparison) -> tuple[Regression, ...]:
    return tuple(
        Regression(
            kind=RegressionKind.MISSING_TASK,
            task_id=task.task_id,
            detail=f"task {task.task_id!r}: the candidate never ran it",
        )
        for task in comparison.tasks
        if task.baseline.present and not task.candidate.present
    )


def _reasons(finding: Finding, decision: Decision) -> tuple[str, ...]:
    described = tuple(f"{test.sample.gated.name}: {_describe(test)}" for test in finding.tests if not test.unknown)
    if decision is Decision.IMPROVED:
        return (f"no gate is worse beyond its margin, and {' and '.join(finding.superior)} improved", *described)
    if decision is Decision.REGRESSED and finding.alarms:
        return (f"{' and '.join(finding.alarms)} got worse", *described)
    if decision is Decision.NEUTRAL:
        return ("every gate is the same within its margin", *described)
    return described


def _notices(drops: TaskDrops, gates: Sequence[GateSample], settings: EvidenceSettings) -> tuple[str, ...]:
    notes = []
    if drops.unsupported:
        lost = name_some(drops.unsupported)
        notes.append(f"{len(drops.unsupported)} tasks lost checks, none beyond chance: {lost}.")
    if settings.gates is None and all(gate.gated.name != "cost" for gate in gates):
        notes.append("cost is not gated: it is not known in both arms.")
    return tuple(notes)


def _gate(test: GateTest, comparison: Comparison) -> Gate:
    sample = test.sample
    state = GateState.UNKNOWN
    if not test.unknown and sample.unknown is None:
        shown = (test.non_inferior or 0.0) <= PROMISED.non_inferiority
        state = GateState.HOLDS if shown else GateState.FAILS
    return Gate(
        name=sample.gated.name,
        state=state,
        baseline=_task_mean(comparison.baseline_table, sample),
        candidate=_task_mean(comparison.candidate_table, sample),
        detail=_describe(test) if sample.unknown is None else sample.unknown,
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


def _describe(test: GateTest) -> str:
    evidence, unit = _evidence(test), " points" if test.sample.gated.scale is Scale.POINTS else " %"
    if evidence.effect is None:
        return "no task to compare"
    span = "no interval"
    if evidence.low is not None and evidence.high is not None:
        span = f"90 % interval {100 * evidence.low:+.1f} to {100 * evidence.high:+.1f}"
    margin = f"margin {100 * evidence.margin:g}{unit}"
    return f"{100 * evidence.effect:+.1f}{unit} over {evidence.tasks} tasks ({span}; {margin})"


def _stored(gates: Sequence[GateSample], settings: EvidenceSettings) -> Mapping[str, object]:
    return {
        "gates": [gate.gated.name for gate in gates],
        "margins": {gate.gated.name: gate.margin for gate in gates},
        "error_rates": asdict(PROMISED),
        "infer": "runs" if settings.fixed_suite else "tasks",
        "sequential": settings.planned_tasks is not None,
        "planned_tasks": settings.planned_tasks,
        "seed": settings.seed,
    }
