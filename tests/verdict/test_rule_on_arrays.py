"""The rule on many experiments at once decides like the rule itself, experiment by experiment."""

import numpy as np
import pytest
from msgspec.structs import replace
from tests.verdict.array_experiments import EXPERIMENTS, drawn, one_by_one, one_by_version_1

from outweigh.verdict.decision import Decision
from outweigh.verdict.gate_tests_on_arrays import SimulatedGate
from outweigh.verdict.rule_on_arrays import GAIN, SimulatedDecisions, decide_many, rule_of_version


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


@pytest.mark.parametrize(
    ("gates", "seen"),
    [
        (drawn(80, 3, effect=0.5, shift=-0.2, scatter=0.1), {Decision.IMPROVED, Decision.INCONCLUSIVE}),
        (drawn(40, 3, effect=1.0, shift=0.3), {Decision.REGRESSED}),
        (drawn(300, 3, spread=0.5, level=4.0, scatter=0.05), {Decision.NEUTRAL}),
        (drawn(30, 3, level=5.0, spread=1.0), {Decision.INCONCLUSIVE}),
    ],
    ids=["win", "dearer", "the same", "few differ"],
)
def test_experiments_under_version_1_are_decided_as_version_1_decides_them_alone(
    gates: list[SimulatedGate], seen: set[Decision]
) -> None:
    decisions = decide_many(gates, rule_of_version(1))

    found = [decision_of(decisions, place) for place in range(EXPERIMENTS)]
    assert found == [one_by_version_1(gates, place) for place in range(EXPERIMENTS)]
    assert seen <= set(found)


def test_version_1_counts_a_task_that_drops_by_its_own_correction() -> None:
    """10 passes of 10 to none has p = 5e-6, which survives 100 tasks; 5 of 5 to none has p = .004, which does not."""
    decided = []
    for repeats in (10, 5):
        gates = drawn(100, repeats, scatter=0.05)
        before, after = (np.full((EXPERIMENTS, 100), repeats - 1) for _ in range(2))
        before[:, 0], after[:, 0] = repeats, 0
        gates[0] = replace(gates[0], passes=(before, after), benefits=(after - before) / repeats)
        decided.append(decide_many(gates, rule_of_version(1)).decided[Decision.REGRESSED])

    assert decided[0].all()
    assert not decided[1].any()


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
