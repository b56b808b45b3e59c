"""What missing values could do to a decision: each kind of them, on each kind of gate, computed by hand."""

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
import pytest
from calibration.missing_cells import (
    Spoil,
    missing_readings,
    without_dearest_costs,
    without_dearest_runs,
    without_failed_runs,
)

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import UNKNOWN_COST, reported_cost
from outweigh.testing.builders import a_run, evidence_of
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.missing_values import MissingValues, find_missing_values
from outweigh.verdict.unusable import sample_gates, sample_worth_gate
from outweigh.verdict.weigh_evidence import weigh_evidence

Costs = Sequence[float | None]


def runs(task: str, arm: str, costs: Costs, **fields: Any) -> list[RunRecord]:
    """The runs of one task, with these costs; None is unknown."""
    return [
        a_run(task, arm, repeat, passed=True, cost=UNKNOWN_COST if cost is None else reported_cost(cost), **fields)
        for repeat, cost in enumerate(costs, start=1)
    ]


def compared(*records: list[RunRecord]) -> Comparison:
    return compare_arms(evidence_of(*records), "old", "new")


def missing_of(
    comparison: Comparison, *names: str, value: float | None = None
) -> tuple[MissingValues, list[GateSample]]:
    settings = evidence_settings(gates=names, value_usd=value)
    worth = sample_worth_gate(comparison, settings)
    gates = [*sample_gates(comparison, settings), *(() if worth is None else (worth,))]
    missing = find_missing_values(comparison.baseline_table, comparison.candidate_table, gates, value)
    assert missing is not None
    return missing, gates


def filled(comparison: Comparison, name: str, *, against: bool, value: float | None = None) -> GateSample:
    missing, gates = missing_of(comparison, name, value=value)
    return missing.fill(gates[-1], against=against)


OTHERS = [runs(f"task-{number}", arm, [1.0 + number, 2.0 + number]) for number in range(2, 9) for arm in ("old", "new")]
"""Seven tasks on which nothing is missing and both arms take the same."""


def test_an_unknown_cost_lies_between_the_smallest_and_the_largest_of_its_task_in_either_arm() -> None:
    comparison = compared(runs("task-1", "old", [1.0, 4.0]), runs("task-1", "new", [2.0, None]), *OTHERS)

    against, helping = (filled(comparison, "cost", against=against) for against in (True, False))

    before = log(1.0 * 4.0) / 2
    assert against.benefits[0] == pytest.approx(before - log(2.0 * 4.0) / 2)
    assert helping.benefits[0] == pytest.approx(before - log(2.0 * 1.0) / 2)


def test_the_total_is_filled_as_well_as_the_typical_run() -> None:
    comparison = compared(runs("task-1", "old", [1.0, 4.0]), runs("task-1", "new", [2.0, None]), *OTHERS)
    gate = filled(comparison, "cost", against=True)

    rest = sum(1.5 + number for number in range(2, 9))
    assert gate.total is not None
    assert gate.total.benefits.mean() == pytest.approx(-log((3.0 + rest) / (2.5 + rest)))


def test_an_unknown_cost_of_the_baseline_is_filled_the_other_way() -> None:
    comparison = compared(runs("task-1", "old", [2.0, None]), runs("task-1", "new", [1.0, 4.0]), *OTHERS)

    against = filled(comparison, "cost", against=True)

    assert against.benefits[0] == pytest.approx(log(2.0 * 1.0) / 2 - log(1.0 * 4.0) / 2)


def test_where_a_task_knows_nothing_the_range_of_the_suite_is_taken() -> None:
    comparison = compared(runs("task-1", "old", [None, None]), runs("task-1", "new", [None, None]), *OTHERS)

    against = filled(comparison, "cost", against=True)

    assert dict(zip(against.tasks, against.benefits, strict=True))["task-1"] == pytest.approx(log(3.0) - log(10.0))


def test_runs_without_any_cost_stay_without_one() -> None:
    free = runs("task-1", "old", [0.0, 0.0]), runs("task-1", "new", [0.0, None])
    against = filled(compared(*free, *OTHERS), "cost", against=True)

    assert dict(zip(against.tasks, against.benefits, strict=True))["task-1"] == 0.0


@pytest.mark.parametrize("how", ["excluded", "absent"])
def test_a_lost_run_is_missing_on_every_gate(how: str) -> None:
    kept = runs("task-1", "new", [2.0])
    lost = [a_run("task-1", "new", 2, status=Status.INFRA_ERROR)] if how == "excluded" else []
    comparison = compared(runs("task-1", "old", [1.0, 4.0]), kept, lost, *OTHERS)

    missing, gates = missing_of(comparison, "pass_rate", "cost")
    passes, costs = (missing.fill(gate, against=True) for gate in gates)

    assert dict(missing.counts) == {"pass_rate": 1, "cost": 1}
    assert passes.benefits[0] == pytest.approx(0.5 - 1.0)
    assert costs.benefits[0] == pytest.approx(log(4.0) / 2 - log(8.0) / 2)


def test_a_lost_run_of_the_baseline_may_have_passed() -> None:
    before = [*runs("task-1", "old", [1.0]), a_run("task-1", "old", 2, status=Status.INFRA_ERROR)]
    failed = [a_run("task-1", "new", repeat, passed=False) for repeat in (1, 2)]
    comparison = compared(before, failed, *OTHERS)

    assert filled(comparison, "pass_rate", against=True).benefits[0] == -1.0
    assert filled(comparison, "pass_rate", against=False).benefits[0] == -0.5


def test_a_task_that_an_arm_never_ran_is_missing_too() -> None:
    comparison = compared(runs("task-1", "old", [1.0, 4.0]), *OTHERS)

    against = filled(comparison, "pass_rate", against=True)

    assert dict(zip(against.tasks, against.benefits, strict=True))["task-1"] == -1.0


def test_worth_is_filled_by_its_passes_and_its_dollars() -> None:
    kept = [*runs("task-1", "new", [2.0]), a_run("task-1", "new", 2, status=Status.INFRA_ERROR)]
    comparison = compared(runs("task-1", "old", [1.0, 4.0]), kept, *OTHERS)

    gate = filled(comparison, "cost", against=True, value=10.0)

    assert gate.gated.name == "worth"
    assert gate.benefits[0] == pytest.approx((10 * 0.5 - 3.0) - (10 * 1.0 - 2.5))


def test_the_cost_of_a_pass_is_filled_by_its_passes_and_its_dollars() -> None:
    kept = [*runs("task-1", "new", [2.0]), a_run("task-1", "new", 2, status=Status.INFRA_ERROR)]
    gate = filled(compared(runs("task-1", "old", [1.0, 4.0]), kept, *OTHERS), "cost_of_pass", against=True)

    rest = sum(1.5 + number for number in range(2, 9))
    assert gate.benefits.mean() == pytest.approx(-log((3.0 + rest) / 7.5 / ((2.5 + rest) / 8)))


def test_where_nothing_is_missing_there_is_nothing_to_fill() -> None:
    comparison = compared(*OTHERS)
    gates = sample_gates(comparison, evidence_settings())

    assert find_missing_values(comparison.baseline_table, comparison.candidate_table, gates) is None


def test_a_task_without_checks_lacks_no_pass() -> None:
    unchecked = [a_run("task-1", arm, repeat, checks=None) for arm in ("old", "new") for repeat in (1, 2)]
    comparison = compared(unchecked, *OTHERS)
    gates = sample_gates(comparison, evidence_settings(gates=["pass_rate"]))

    assert find_missing_values(comparison.baseline_table, comparison.candidate_table, gates) is None


def experiment(*, factor: float, gain: float = 0.0, lost: float = 0.0, tasks: int = 60) -> list[RunRecord]:
    """Two arms, of which the candidate takes `factor` times as much and does not know its dearest costs."""
    dice = np.random.default_rng(4)
    records: list[RunRecord] = []
    for task in range(tasks):
        size = dice.normal(0, 0.3)
        for repeat in range(1, 6):
            for arm, less, chance in (("old", 1.0, 0.5), ("new", factor, 0.5 + gain)):
                scale = less * float(np.exp(size + dice.normal(0, 0.1)))
                unknown = arm == "new" and dice.random() < lost
                records.append(
                    a_run(
                        f"task-{task}",
                        arm,
                        repeat,
                        passed=bool(dice.random() < chance),
                        duration_seconds=60 * scale,
                        cost=UNKNOWN_COST if unknown else reported_cost(0.1 * scale),
                    )
                )
    return records


GATES = ["pass_rate", "duration", "cost"]


def decide(records: list[RunRecord], **settings: Any) -> Decision:
    return weigh_evidence([compared(records)], evidence_settings(gates=GATES, **settings))[0].decision


def test_sameness_that_missing_costs_could_turn_is_not_decided() -> None:
    settings = evidence_settings(gates=GATES, margins={"cost": 0.02, "pass_rate": 0.2})
    complete, lacking = (compared(experiment(factor=1.0, lost=lost)) for lost in (0.0, 0.045))
    assert weigh_evidence([complete], settings)[0].decision is Decision.NEUTRAL

    verdict = decide_by_evidence([lacking], settings)[0]

    assert verdict.decision is Decision.INCONCLUSIVE
    assert "missing values could change the decision" in verdict.reasons[0]
    assert "of cost." in verdict.reasons[0]
    assert "pass_rate" not in verdict.reasons[0]


def test_a_gain_that_missing_costs_cannot_turn_stands() -> None:
    assert decide(experiment(factor=0.7, gain=0.3, lost=0.02)) is Decision.IMPROVED


def test_an_alarm_stands_whatever_is_missing() -> None:
    assert decide(experiment(factor=1.0, gain=-0.4, lost=0.04)) is Decision.REGRESSED


def test_version_1_decides_as_it_did() -> None:
    records = experiment(factor=1.0, lost=0.045)
    margins = {"cost": 0.02, "pass_rate": 0.2}

    assert decide(records, margins=margins, version=1) is Decision.NEUTRAL
    assert decide(records, margins=margins) is Decision.INCONCLUSIVE


def with_exclusions(baseline: int, candidate: int) -> Sequence[str]:
    """Reasons not to decide, where both arms ran 200 trials and lost so many of them."""
    records = experiment(factor=0.7, gain=0.3, tasks=40)
    lost = {"old": baseline, "new": candidate}
    for index, record in enumerate(records):
        if lost[record.trial.arm] > 0:
            lost[record.trial.arm] -= 1
            records[index] = a_run(
                record.trial.task_id, record.trial.arm, record.trial.repeat, status=Status.INFRA_ERROR
            )
    return weigh_evidence([compared(records)], evidence_settings(gates=GATES))[0].unusable


@pytest.mark.parametrize(
    ("baseline", "candidate", "unequal"),
    # Fisher's exact test, two-sided, of 0 and 5 in 200 each: p = .061; of 0 and 6: p = .030.
    [(4, 4, False), (0, 5, False), (0, 6, True), (6, 0, True)],
)
def test_unequal_exclusions_forbid_a_conclusion(baseline: int, candidate: int, unequal: bool) -> None:
    found = [
        reason for reason in with_exclusions(baseline, candidate) if "different shares of their attempts" in reason
    ]

    assert bool(found) is unequal
    if unequal:
        assert f"{baseline} of 200 of old, {candidate} of 200 of new" in found[0]


@pytest.mark.parametrize("spoil", [without_dearest_costs, without_dearest_runs, without_failed_runs])
def test_identical_arms_are_not_improved_by_what_one_of_them_lost(spoil: Spoil) -> None:
    readings = missing_readings(spoil, 80, 5, 4, seed=3)

    assert readings["improved"].value == readings["neutral"].value == 0
