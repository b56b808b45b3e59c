"""The rule on many experiments at once decides like the rule itself, experiment by experiment."""

import numpy as np
import pytest
from msgspec.structs import replace

from outweigh.verdict.collapse import count_collapses
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import apply_rule, examine_candidate
from outweigh.verdict.evidence_settings import ERROR_RATES, GATED_METRICS
from outweigh.verdict.gate_sample import GateSample, total_benefits
from outweigh.verdict.rule_on_arrays import GAIN, SimulatedDecisions, SimulatedGate, decide_many, limits_of

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


def one_by_one(gates: list[SimulatedGate], place: int) -> Decision:
    """What `evidence_rule` and `collapse` say of one of the experiments."""
    samples = []
    for gate in gates:
        tasks = tuple(map(str, range(gate.benefits.shape[1])))
        sample = replace(empty_gate(gate.limits.name), tasks=tasks, benefits=gate.benefits[place])
        if gate.amounts is not None:
            before, after = (arm[place] for arm in gate.amounts)
            sample = replace(sample, total=replace(sample, benefits=total_benefits(before, after)))
        samples.append(sample)
    (finding,) = apply_rule([examine_candidate(samples)])
    return Decision.REGRESSED if collapses(gates[0], place) else finding.decision


def collapses(gate: SimulatedGate, place: int) -> bool:
    assert gate.passes is not None
    before, after = (
        {str(task): [1.0] * passes + [0.0] * (gate.runs - passes) for task, passes in enumerate(arm[place].tolist())}
        for arm in gate.passes
    )
    return count_collapses(before, after).rings(ERROR_RATES.task_alarm)


def decision_of(decisions: SimulatedDecisions, place: int) -> Decision:
    (only,) = [decision for decision, flags in decisions.decided.items() if flags[place]]
    return only


@pytest.mark.parametrize(
    ("gates", "seen"),
    [
        (drawn(50, 5, effect=0.4, shift=-0.1), {Decision.IMPROVED, Decision.INCONCLUSIVE}),
        (drawn(40, 6, effect=1.0, shift=0.3), {Decision.TRADE_OFF}),
        (drawn(40, 5, effect=-0.4), {Decision.REGRESSED, Decision.INCONCLUSIVE}),
        (drawn(300, 5, spread=0.5, level=4.0, scatter=0.05), {Decision.NEUTRAL}),
        (drawn(60, 10, lost=0.02), {Decision.REGRESSED, Decision.INCONCLUSIVE}),
        (drawn(30, 5, level=5.0, spread=1.0), {Decision.INCONCLUSIVE}),
        (drawn(70, 2, level=40.0, spread=0.0, scatter=0.05), {Decision.NEUTRAL}),
        (drawn(12, 1, effect=2.0, shift=-0.5), {Decision.IMPROVED, Decision.INCONCLUSIVE}),
    ],
    ids=["win", "dearer", "loss", "the same", "breaks", "few differ", "all pass", "small"],
)
def test_every_experiment_is_decided_as_the_rule_decides_it_alone(
    gates: list[SimulatedGate], seen: set[Decision]
) -> None:
    decisions = decide_many(gates)

    found = [decision_of(decisions, place) for place in range(EXPERIMENTS)]
    assert found == [one_by_one(gates, place) for place in range(EXPERIMENTS)]
    assert seen <= set(found)


def test_what_keeps_an_experiment_undecided_is_flagged_there_and_nowhere_else() -> None:
    decisions = decide_many(drawn(20, 3, effect=0.4))

    undecided = decisions.decided[Decision.INCONCLUSIVE]
    for flags in (*decisions.lacking.values(), *decisions.unequal.values()):
        assert not (flags & ~undecided).any()
    assert (np.logical_or.reduce(list(decisions.lacking.values())) == undecided).all()
    assert decisions.lacking[GAIN].any()


def test_a_total_that_may_run_away_is_in_the_way_of_a_gain() -> None:
    gates = drawn(100, 5, effect=1.0)
    before, after = (np.ones((EXPERIMENTS, 100)) for _ in range(2))
    after[:, :2] = 8.0
    gates[3] = replace(gates[3], amounts=(before, after))

    decisions = decide_many(gates)

    assert (decisions.lacking["cost"] == decisions.decided[Decision.INCONCLUSIVE]).all()
    assert decisions.lacking["cost"].mean() > 0.9
