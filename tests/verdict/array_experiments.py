"""Simulated experiments for tests of the rule on arrays, and what the rule says of one of them alone."""

import numpy as np
from msgspec.structs import replace

from outweigh.verdict.collapse import count_collapses
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import apply_rule, examine_candidate
from outweigh.verdict.evidence_rule_v1 import apply_rule_v1
from outweigh.verdict.evidence_settings import ERROR_RATES, GATED_METRICS
from outweigh.verdict.gate_sample import GateSample, total_benefits
from outweigh.verdict.gate_tests_on_arrays import SimulatedGate, limits_of

EXPERIMENTS = 40
RESOURCES = ("duration", "non_cache_tokens", "cost")


def empty_gate(name: str, margin: float | None = None) -> GateSample:
    gated = GATED_METRICS[name]
    return GateSample(
        gated=gated,
        margin=gated.margin if margin is None else margin,
        tolerance=gated.tolerance,
        tasks=(),
        benefits=np.zeros(0),
        families=None,
        noise=None,
        unknown=None,
    )


def drawn(
    tasks: int,
    repeats: int,
    *,
    level: float = 0.4,
    spread: float = 1.6,
    effect: float = 0.0,
    lost: float = 0.0,
    shift: float = 0.0,
    scatter: float = 0.4,
) -> list[SimulatedGate]:
    """Pass rate and three resources; `lost` tasks are never passed by the candidate."""
    dice = np.random.default_rng(11)
    logits = dice.normal(level, spread, (EXPERIMENTS, 1, tasks))
    moved = np.where(dice.random(logits.shape) < lost, -40.0, logits + effect)
    before, after = (
        (dice.random((EXPERIMENTS, repeats, tasks)) < 1 / (1 + np.exp(-chance))).sum(axis=1)
        for chance in (logits, moved)
    )
    gates = [
        SimulatedGate(
            limits=limits_of(empty_gate("pass_rate")),
            benefits=(after - before) / repeats,
            passes=(before, after),
            runs=repeats,
        )
    ]
    sizes = dice.normal(0, 0.5, (EXPERIMENTS, 1, tasks))
    for name in RESOURCES:
        ours, theirs = (sizes + dice.normal(part, scatter, (EXPERIMENTS, repeats, tasks)) for part in (0.0, shift))
        gates.append(
            SimulatedGate(
                limits=limits_of(empty_gate(name)),
                benefits=ours.mean(axis=1) - theirs.mean(axis=1),
                amounts=(np.exp(ours).mean(axis=1), np.exp(theirs).mean(axis=1)),
            )
        )
    return gates


def samples_of(gates: list[SimulatedGate], place: int, tasks: int | None = None) -> list[GateSample]:
    """One of the experiments as the rule takes it, with its first so many tasks."""
    samples = []
    for gate in gates:
        kept = slice(0, gate.benefits.shape[1] if tasks is None else tasks)
        benefits = gate.benefits[place, kept]
        names = tuple(map(str, range(len(benefits))))
        sample = replace(empty_gate(gate.limits.name), tasks=names, benefits=benefits)
        if gate.amounts is not None:
            before, after = (arm[place, kept] for arm in gate.amounts)
            sample = replace(sample, total=replace(sample, benefits=total_benefits(before, after)))
        samples.append(sample)
    return samples


def one_by_one(gates: list[SimulatedGate], place: int) -> Decision:
    """What `evidence_rule` and `collapse` say of one of the experiments."""
    (finding,) = apply_rule([examine_candidate(samples_of(gates, place))])
    return Decision.REGRESSED if collapses(gates[0], place) else finding.decision


def one_by_version_1(gates: list[SimulatedGate], place: int) -> Decision:
    """What `evidence_rule_v1` says of one of the experiments, where no single task drops."""
    (finding,) = apply_rule_v1([examine_candidate(samples_of(gates, place)).gates])
    return finding.decision


def collapses(gate: SimulatedGate, place: int, tasks: int | None = None, alpha: float = ERROR_RATES.task_alarm) -> bool:
    """Whether the collapses among the first so many tasks ring the alarm."""
    assert gate.passes is not None
    before, after = (
        {
            str(task): [1.0] * passes + [0.0] * (gate.runs - passes)
            for task, passes in enumerate(arm[place, :tasks].tolist())
        }
        for arm in gate.passes
    )
    return count_collapses(before, after).is_alarm(alpha)
