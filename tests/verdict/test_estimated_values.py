"""Runs that were stopped while the model answered: gates take the likely amount, and no decision that either end of its
range would change is made.
"""

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
import pytest
from calibration.missing_cells import stopped_readings

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import (
    UNKNOWN_COST,
    Cost,
    CostProvenance,
    Metering,
    Usage,
    UsageRange,
    reported_cost,
)
from outweigh.testing.builders import a_run, evidence_of
from outweigh.verdict.decision import Decision, Verdict
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.gates_policy import decide_by_gates
from outweigh.verdict.missing_values import find_missing_values
from outweigh.verdict.unusable import sample_gates

Ends = tuple[float, float]


def an_estimate(usd: float, ends: Ends) -> Cost:
    return Cost(
        usd=usd, provenance=CostProvenance.METERED, price_table="list", low_usd=usd * ends[0], high_usd=usd * ends[1]
    )


def estimated_usage(tokens: int, ends: Ends) -> dict[str, Any]:
    """The fields of a run whose output tokens are estimated."""

    def of(count: float) -> Usage:
        return Usage(input_tokens=0, output_tokens=int(count), cache_read_tokens=0, cache_write_tokens=0)

    metering = Metering(
        requests=3,
        failed_requests=0,
        models={"model": of(tokens)},
        time_to_first_token_seconds=None,
        model_seconds=1.0,
        estimated={"model": UsageRange(requests=1, low=of(tokens * ends[0]), high=of(tokens * ends[1]))},
    )
    return {"usage": of(tokens), "metering": metering}


def experiment(
    stopped: Callable[[float], Cost] | None,
    *,
    share: float = 0.2,
    gain: float = 0.3,
    factor: float = 0.7,
    ends: Ends | None = None,
) -> Comparison:
    """Two arms, of which the candidate passes more and takes less; a share of runs was stopped in an answer."""
    dice = np.random.default_rng(4)
    records: list[RunRecord] = []
    for task in range(30):
        size = dice.normal(0, 0.3)
        for repeat in range(1, 6):
            for arm, less, chance in (("old", 1.0, 0.4), ("new", factor, 0.4 + gain)):
                scale = less * float(np.exp(size + dice.normal(0, 0.1)))
                tokens, cost = 1000 * scale, 0.1 * scale
                fields: dict[str, Any] = {
                    "cost": reported_cost(cost),
                    "usage": estimated_usage(int(tokens), (1, 1))["usage"],
                }
                if stopped is not None and dice.random() < share:
                    fields = {"cost": stopped(cost), "status": Status.TIMEOUT}
                    fields |= estimated_usage(int(tokens), ends) if ends else {"usage": a_run().usage}
                records.append(
                    a_run(
                        f"task-{task}",
                        arm,
                        repeat,
                        passed=bool(dice.random() < chance),
                        duration_seconds=60 * scale,
                        **fields,
                    )
                )
    return compare_arms(evidence_of(records), "old", "new")


GATES = ("pass_rate", "duration", "non_cache_tokens", "cost")


def decide(comparison: Comparison, **settings: Any) -> Verdict:
    return decide_by_evidence([comparison], evidence_settings(gates=GATES, **settings))[0]


def test_a_clear_winner_is_decided_though_a_fifth_of_the_runs_was_stopped() -> None:
    narrow = (0.9, 1.4)
    unknown = decide(experiment(lambda _: UNKNOWN_COST, ends=narrow))
    bounded = decide(experiment(lambda usd: an_estimate(usd, narrow), ends=narrow))

    assert unknown.decision is Decision.INCONCLUSIVE
    assert "have no cost_usd" in unknown.reasons[0]
    assert bounded.decision is Decision.IMPROVED
    assert bounded.sensitivity is not None
    assert bounded.sensitivity.missing_runs == 0
    assert 40 < bounded.sensitivity.estimated_runs < 80
    assert bounded.sensitivity.if_missing_hurt is Decision.IMPROVED


@pytest.mark.parametrize("gate", ["cost", "non_cache_tokens"])
def test_a_winner_that_an_end_would_turn_is_not_decided(gate: str) -> None:
    wide, narrow = (0.1, 9.0), (0.9, 1.1)
    costs, tokens = (wide, narrow) if gate == "cost" else (narrow, wide)

    verdict = decide(experiment(lambda usd: an_estimate(usd, costs), ends=tokens))

    assert verdict.decision is Decision.INCONCLUSIVE
    assert verdict.reasons[0].startswith("estimated values could change the decision: 300 runs are expected, and these")
    assert f"values are estimated: 67 of {gate}." in verdict.reasons[0]
    assert verdict.reasons[0].endswith("not improved; run those trials again")


def test_sameness_that_an_end_would_turn_is_not_decided() -> None:
    margins = {"cost": 0.1, "non_cache_tokens": 0.1, "duration": 0.1, "pass_rate": 0.3}
    narrow, wide = (0.99, 1.01), (0.2, 1.0)

    def same(ends: Ends) -> Decision:
        known = experiment(lambda usd: an_estimate(usd, ends), gain=0.0, factor=1.0, ends=narrow)
        return decide(known, margins=margins).decision

    assert (same(narrow), same(wide)) == (Decision.NEUTRAL, Decision.INCONCLUSIVE)


def test_the_ends_of_one_arm_are_filled_against_the_other() -> None:
    def runs(task: str, arm: str, *costs: Cost) -> list[RunRecord]:
        return [a_run(task, arm, number, cost=cost) for number, cost in enumerate(costs, start=1)]

    others = [
        runs(f"task-{number}", arm, reported_cost(1.0 + number)) for number in range(2, 9) for arm in ("old", "new")
    ]
    before = runs("task-1", "old", an_estimate(2.0, (0.5, 2.0)))
    after = runs("task-1", "new", an_estimate(3.0, (0.5, 2.0)))
    comparison = compare_arms(evidence_of(before, after, *others), "old", "new")
    (gate,) = sample_gates(comparison, evidence_settings(gates=["cost"]))
    missing = find_missing_values(comparison.baseline_table, comparison.candidate_table, [gate])

    assert missing is not None
    assert gate.benefits[0] == pytest.approx(log(2.0) - log(3.0))
    assert missing.fill(gate, against=True).benefits[0] == pytest.approx(log(1.0) - log(6.0))
    assert missing.fill(gate, against=False).benefits[0] == pytest.approx(log(4.0) - log(1.5))


def test_a_policy_that_cannot_weigh_ranges_does_not_promote() -> None:
    comparison = experiment(lambda usd: an_estimate(usd, (0.9, 1.1)), ends=(0.9, 1.1))

    assert any("runs are estimated" in blocker for blocker in decide_by_gates(comparison).blockers)
    assert any("runs are estimated" in blocker for blocker in decide(comparison, version=1).blockers)
    assert not any("are estimated" in blocker for blocker in decide(comparison).blockers)


def test_identical_arms_with_stopped_runs_are_not_told_apart_more_often_than_promised() -> None:
    readings = stopped_readings(0.2, (0.8, 1.3), 40, 5, 4, seed=3)

    assert readings["improved"].value == 0
