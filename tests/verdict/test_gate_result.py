"""What a verdict shows of its gates: means beside ratios of means, geometric means beside typical ratios, chances."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from outweigh.compare.comparison import compare_arms
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import Usage, reported_cost
from outweigh.testing.builders import a_run, evidence_of
from outweigh.verdict.decision import Chances, Gate, GateState, Verdict
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_settings import evidence_settings


def records(passes: dict[str, list[int]], costs: dict[str, list[float]], repeats: int = 4) -> list[RunRecord]:
    """One list entry per task: how many of its runs pass, and what each of them costs."""
    return [
        a_run(
            f"task-{task}",
            arm,
            repeat,
            passed=repeat <= passes[arm][task],
            duration_seconds=60.0 + task,
            usage=Usage(input_tokens=1000 + task, output_tokens=100, cache_read_tokens=0, cache_write_tokens=0),
            cost=reported_cost(costs[arm][task]),
        )
        for arm in passes
        for task in range(len(passes[arm]))
        for repeat in range(1, repeats + 1)
    ]


PASSES = {"old": [1, 2, 3, 2, 1, 3, 2, 1], "new": [3, 2, 4, 4, 2, 4, 2, 3]}
COSTS = {"old": [0.1, 0.2, 0.1, 0.3, 0.1, 0.2, 0.1, 0.1], "new": [0.2, 0.1, 0.2, 0.9, 0.1, 0.4, 0.1, 0.2]}


def decide(rows: list[RunRecord], **settings: Any) -> Verdict:
    comparison = compare_arms(evidence_of(rows), "old", "new")
    return decide_by_evidence([comparison], evidence_settings(**settings))[0]


def gate(verdict: Verdict, name: str) -> Gate:
    return next(gate for gate in verdict.gates if gate.name == name)


def test_geometric_means_stand_beside_the_typical_ratio_and_means_beside_the_total() -> None:
    cost = gate(decide(records(PASSES, COSTS)), "cost").evidence

    assert cost is not None
    assert cost.geometric_means is not None
    assert cost.total is not None
    typical, total = cost.geometric_means, cost.total.means
    assert typical.baseline == pytest.approx(stats.gmean(COSTS["old"]))
    assert typical.candidate == pytest.approx(stats.gmean(COSTS["new"]))
    assert total.baseline == pytest.approx(0.15)
    assert total.candidate == pytest.approx(0.275)
    assert cost.effect == pytest.approx(stats.gmean(COSTS["new"]) / stats.gmean(COSTS["old"]) - 1)
    assert pytest.approx(cost.total.effect) == 0.275 / 0.15 - 1


def test_the_chances_are_those_of_the_t_distribution_of_the_effect() -> None:
    passing = gate(decide(records(PASSES, COSTS)), "pass_rate").evidence
    deltas = (np.array(PASSES["new"]) - np.array(PASSES["old"])) / 4
    law = stats.t(df=7, loc=deltas.mean(), scale=deltas.std(ddof=1) / np.sqrt(8))

    assert passing is not None
    assert passing.chances.better == pytest.approx(law.sf(0.0))
    assert passing.chances.worse_beyond_margin == pytest.approx(law.cdf(-0.05))


def test_a_repeated_experiment_has_an_error_of_its_own() -> None:
    """Six deltas of 1 and two of 0: t = √21 on 7 degrees of freedom, and √(21 / 2) for a gain if it is repeated."""
    gains = {"old": [0] * 8, "new": [4, 4, 4, 0] * 2}
    passing = gate(decide(records(gains, COSTS)), "pass_rate").evidence

    assert passing is not None
    assert passing.chances.better == pytest.approx(stats.t.cdf(np.sqrt(21), df=7))
    assert passing.chances.gain_if_repeated == pytest.approx(stats.t.cdf(np.sqrt(21 / 2), df=7))


def test_arms_that_are_known_to_be_equal_do_not_gain_if_the_experiment_is_repeated() -> None:
    free = {"old": [0.0] * 8, "new": [0.0] * 8}
    cost = gate(decide(records(PASSES, free)), "cost").evidence

    assert cost is not None
    assert cost.chances == Chances(better=0.0, worse_beyond_margin=0.0, gain_if_repeated=0.0)


def test_the_chances_of_a_resource_speak_of_less_of_it_and_of_more_than_the_margin() -> None:
    cost = gate(decide(records(PASSES, COSTS)), "cost").evidence
    logs = np.log(COSTS["new"]) - np.log(COSTS["old"])
    law = stats.t(df=7, loc=logs.mean(), scale=logs.std(ddof=1) / np.sqrt(8))

    assert cost is not None
    assert cost.chances.better == pytest.approx(law.cdf(0.0))
    assert cost.chances.worse_beyond_margin == pytest.approx(law.sf(np.log(1.05)))
    assert cost.total is not None
    assert cost.total.chances.better != cost.chances.better


def test_there_are_no_chances_where_nothing_differs_or_the_data_are_looked_at_again_and_again() -> None:
    nobody = Chances(better=None, worse_beyond_margin=None, gain_if_repeated=None)
    same = decide(records({"old": [2] * 8, "new": [2] * 8}, COSTS))
    looked = decide(records(PASSES, COSTS), planned_tasks=40)

    for verdict in (same, looked):
        found = gate(verdict, "pass_rate").evidence
        assert found is not None
        assert found.chances == nobody


def test_the_worth_of_both_arms_is_shown_in_dollars_per_task() -> None:
    worth = gate(decide(records(PASSES, COSTS), value_usd=2.0), "worth")

    assert worth.baseline == pytest.approx(2 * 15 / 32 - 0.15)
    assert worth.candidate == pytest.approx(2 * 24 / 32 - 0.275)
    assert worth.evidence is not None
    assert worth.evidence.effect == pytest.approx(2 * 9 / 32 - 0.125)


def test_worth_that_is_shown_to_be_less_is_worse() -> None:
    dearer = {"old": COSTS["old"], "new": [3 * dollars for dollars in COSTS["new"]]}

    assert gate(decide(records(PASSES, dearer), value_usd=0.01), "worth").state is GateState.WORSE
    assert gate(decide(records(PASSES, COSTS), value_usd=9.0), "worth").state is GateState.HOLDS


def test_the_cost_of_a_pass_is_shown_for_both_arms() -> None:
    price = gate(decide(records(PASSES, COSTS), gates=["pass_rate", "cost_of_pass"]), "cost_of_pass")

    assert price.baseline == pytest.approx(0.15 * 32 / 15)
    assert price.candidate == pytest.approx(0.275 * 32 / 24)
    assert price.evidence is not None
    assert price.evidence.effect == pytest.approx(0.275 / 24 / (0.15 / 15) - 1)
