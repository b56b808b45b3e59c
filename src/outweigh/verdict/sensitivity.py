"""How easily the decision would have been another: missing runs, other margins, single tasks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.deltas import count_missing_runs, recorded_runs
from outweigh.stats.variance import TaskMoments, summarize_runs
from outweigh.verdict.decision import Decision, Sensitivity
from outweigh.verdict.evidence_settings import EffectScale
from outweigh.verdict.gate_sample import BENEFIT_ROUNDING, GateSample

Decide = Callable[[Sequence[GateSample], str | None], Decision]
"""Applies the whole rule again, to changed gates and without one task."""

FACTORS = np.logspace(-1, 1, 41)
"""Margins from a tenth to ten times their value are tried."""

EXTREMES = 25
"""Only an extreme task can change a decision alone, so only so many per gate and side are left out in turn."""


def sensitivity(
    gates: Sequence[GateSample],
    suspects: Sequence[str],
    decision: Decision,
    decide: Decide,
    baseline: ArmTable,
    candidate: ArmTable,
) -> Sensitivity:
    """Decide again with missing runs filled in, with other margins and without single tasks, `suspects` among them."""
    rates = [gate.gated.metric for gate in gates if gate.gated.scale is EffectScale.POINTS] or ["passed"]
    missing = max(_missing(baseline, candidate, rate) + _missing(candidate, baseline, rate) for rate in rates)
    hurt, helped = (
        decide([_with_missing(gate, baseline, candidate, outcome) for gate in gates], None) if missing else decision
        for outcome in (0.0, 1.0)
    )
    return Sensitivity(
        missing_runs=missing,
        if_missing_hurt=hurt,
        if_missing_helped=helped,
        margins=_margins(gates, decision, decide),
        tasks_that_decide=_tasks_that_decide(gates, suspects, decision, decide),
    )


def _missing(arm: ArmTable, other: ArmTable, rate: str) -> int:
    return count_missing_runs(arm, other).missing + sum(getattr(run, rate) is None for run in arm.runs)


def _with_missing(gate: GateSample, baseline: ArmTable, candidate: ArmTable, outcome: float) -> GateSample:
    """The gate of a rate had every missing run of the candidate this outcome, and of the baseline the other."""
    if gate.gated.scale is not EffectScale.POINTS:
        return gate
    tasks = tuple(task for task in recorded_runs(baseline) if task in recorded_runs(candidate))
    before = _filled(baseline, candidate, tasks, gate.gated.metric, 1.0 - outcome)
    after = _filled(candidate, baseline, tasks, gate.gated.metric, outcome)
    benefits = after.means - before.means
    labels = _families(baseline, candidate) if gate.families is not None else None
    return replace(
        gate,
        tasks=tasks,
        benefits=np.where(np.abs(benefits) < BENEFIT_ROUNDING, 0.0, benefits),
        families=None if labels is None else tuple(labels[task] for task in tasks),
        noise=(before, after),
    )


def _filled(arm: ArmTable, other: ArmTable, tasks: Sequence[str], rate: str, outcome: float) -> TaskMoments:
    """The arm's passes, or scores, with every run that is missing from either list filled in."""
    places = {task: place for place, task in enumerate(tasks)}
    known = [
        (places[run.task_id], outcome if (value := getattr(run, rate)) is None else value)
        for run in (*arm.runs, *arm.excluded)
        if run.task_id in places
    ]
    mine, theirs = recorded_runs(arm), recorded_runs(other)
    absent = [(places[task], outcome) for task in tasks for _ in range(max(0, theirs[task] - mine[task]))]
    owners, values = zip(*known, *absent, strict=True)
    return summarize_runs(values, owners, len(tasks))


def _families(baseline: ArmTable, candidate: ArmTable) -> Mapping[str, str]:
    return {
        run.task_id: run.family or run.task_id for arm in (baseline, candidate) for run in (*arm.runs, *arm.excluded)
    }


def _margins(gates: Sequence[GateSample], decision: Decision, decide: Decide) -> Mapping[str, tuple[float, float]]:
    """For each gate alone, the margins around its own over which the decision stays."""
    return {gate.gated.name: _margin_range(gates, place, decision, decide) for place, gate in enumerate(gates)}


def _margin_range(gates: Sequence[GateSample], place: int, decision: Decision, decide: Decide) -> tuple[float, float]:
    def holds(factor: float) -> bool:
        changed = replace(gates[place], margin=gates[place].margin * factor)
        return decide([*gates[:place], changed, *gates[place + 1 :]], None) is decision

    middle = len(FACTORS) // 2
    low = _last_true(holds, FACTORS[middle::-1].tolist())
    high = _last_true(holds, FACTORS[middle:].tolist())
    return gates[place].margin * low, gates[place].margin * high


def _last_true(holds: Callable[[float], bool], factors: Sequence[float]) -> float:
    reached = factors[0]
    for factor in factors[1:]:
        if not holds(factor):
            break
        reached = factor
    return reached


def _tasks_that_decide(
    gates: Sequence[GateSample], suspects: Sequence[str], decision: Decision, decide: Decide
) -> Mapping[str, Decision]:
    """Tasks whose absence alone would have led to another decision."""
    flips = {}
    for task in dict.fromkeys((*suspects, *_candidates(gates))):
        without = [gate.without(gate.tasks.index(task)) if task in gate.tasks else gate for gate in gates]
        left = decide(without, task)
        if left is not decision:
            flips[task] = left
    return flips


def _candidates(gates: Sequence[GateSample]) -> list[str]:
    found: dict[str, None] = {}
    for gate in gates:
        order = np.argsort(gate.benefits, kind="stable")
        edge = order if len(order) <= 2 * EXTREMES else np.concatenate([order[:EXTREMES], order[-EXTREMES:]])
        found.update(dict.fromkeys(gate.tasks[place] for place in edge.tolist()))
    return list(found)
