from collections.abc import Sequence
from itertools import takewhile

import numpy as np
import pytest

from outweigh.verdict.decision import Decision, Sensitivity
from outweigh.verdict.evidence_rule import CandidateTests, apply_rule, examine_candidate
from outweigh.verdict.evidence_settings import GATED_METRICS
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.sensitivity import FACTORS, sensitivity


def decide(tests: CandidateTests, left_out: str | None = None) -> tuple[Decision, Decision | None]:
    finding = apply_rule([tests])[0]
    return finding.decision, finding.alarm


def bent(name: str, benefits: Sequence[float], margin: float = 0.05) -> tuple[Decision, Sensitivity]:
    gate = GateSample(
        gated=GATED_METRICS[name],
        margin=margin,
        tasks=tuple(f"task-{number}" for number in range(len(benefits))),
        benefits=np.array(benefits),
        families=None,
        noise=None,
        unknown=None,
    )
    tests = examine_candidate([gate])
    decision, _ = decide(tests)
    return decision, sensitivity(tests, [], decision, examine_candidate, decide, None)


SLOWER = [-0.30, -0.26, -0.33, -0.29, -0.31, -0.27, -0.28, -0.32, -0.30, -0.25]


def test_a_task_that_alone_hides_a_regression_is_named() -> None:
    decision, result = bent("duration", [*SLOWER, 6.0])

    assert decision is Decision.INCONCLUSIVE
    assert result.tasks_that_decide == {"task-10": Decision.REGRESSED}


def test_a_decision_that_all_tasks_share_hangs_on_none_of_them() -> None:
    decision, result = bent("duration", SLOWER)

    assert (decision, result.tasks_that_decide) == (Decision.REGRESSED, {})


def test_a_regression_in_time_holds_for_margins_below_the_slow_down() -> None:
    _, result = bent("duration", SLOWER)

    low, high = result.margins["duration"]
    assert low < 0.01
    assert 0.2 < high < 0.34


def test_the_range_of_a_margin_ends_at_the_last_one_tried_with_the_same_decision() -> None:
    steady = [0.034, -0.034] * 10
    decision, result = bent("duration", steady)

    def stays(factor: float) -> bool:
        return bent("duration", steady, 0.05 * factor)[0] is decision

    low, high = (list(takewhile(stays, factors))[-1] for factors in (FACTORS[20::-1], FACTORS[20:]))

    assert decision is Decision.NEUTRAL
    assert low > FACTORS[0]
    assert result.margins["duration"] == pytest.approx((0.05 * low, 0.05 * high))


def test_with_nothing_missing_the_bounds_are_the_decision_itself() -> None:
    decision, result = bent("duration", SLOWER)

    assert (result.missing_runs, result.if_missing_hurt, result.if_missing_helped) == (0, decision, decision)
