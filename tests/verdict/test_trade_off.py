"""Trade-offs, the bill, and what a gain is worth, from records to verdict."""

import numpy as np
import pytest
from tests.verdict.two_arms import comparison, decide, experiment

from outweigh.model.usage import NO_USAGE, reported_cost
from outweigh.stats.estimate import Unit
from outweigh.stats.ratios import ratio_interval
from outweigh.verdict.decision import Decision, GateState
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.promotion import may_promote
from outweigh.verdict.worth import worth_over_values


def test_twenty_percent_cheaper_with_a_runaway_bill_is_not_improved() -> None:
    verdict = decide(experiment(cost_factor=0.8, runaways=0.03, tasks=100))

    cost = next(gate for gate in verdict.gates if gate.name == "cost")
    assert verdict.decision is not Decision.IMPROVED
    assert cost.state is not GateState.HOLDS
    assert cost.evidence is not None
    assert cost.evidence.total is not None
    assert cost.evidence.effect < 0 < cost.evidence.total.effect  # type: ignore[operator]


def test_version_1_called_the_runaway_bill_improved() -> None:
    records = experiment(cost_factor=0.7, runaways=0.03, tasks=100, seed=3)

    assert decide(records, version=1).decision is Decision.IMPROVED
    assert decide(records).decision is not Decision.IMPROVED


def test_a_large_loss_is_heard_although_tokens_are_unknown() -> None:
    verdict = decide(experiment(-0.46, tasks=80, usage=NO_USAGE))

    assert verdict.decision is Decision.REGRESSED
    assert next(gate.state for gate in verdict.gates if gate.name == "non_cache_tokens") is GateState.UNKNOWN
    assert any("non_cache_tokens is unknown" in reason for reason in verdict.reasons)


def test_a_gain_beside_unknown_tokens_is_inconclusive() -> None:
    assert decide(experiment(0.4, usage=NO_USAGE)).decision is Decision.INCONCLUSIVE


def test_better_and_dearer_is_a_trade_off_that_never_promotes() -> None:
    verdict = decide(experiment(0.3, cost_factor=1.5))

    assert verdict.decision is Decision.TRADE_OFF
    assert not may_promote(verdict, verdict.evidence_sha256)
    assert verdict.reasons[0] == "pass_rate improved, and cost got worse beyond the margin"


def test_worse_is_regressed_however_cheap() -> None:
    assert decide(experiment(-0.3, cost_factor=0.2)).decision is Decision.REGRESSED


@pytest.mark.parametrize(
    ("value_usd", "decision"), [(10.0, Decision.IMPROVED), (0.001, Decision.REGRESSED), (None, Decision.TRADE_OFF)]
)
def test_what_a_solved_task_is_worth_settles_the_trade_off(value_usd: float | None, decision: Decision) -> None:
    verdict = decide(experiment(0.3, cost_factor=1.5), value_usd=value_usd)

    assert verdict.decision is decision
    assert ("worth" in [gate.name for gate in verdict.gates]) == (value_usd is not None)


def test_a_settled_trade_off_may_be_promoted() -> None:
    verdict = decide(experiment(0.3, cost_factor=1.5), value_usd=10.0)

    assert may_promote(verdict, verdict.evidence_sha256), verdict.blockers
    assert verdict.superiority_p is not None


def test_the_price_of_one_more_solved_task_is_dollars_more_over_passes_more() -> None:
    compared = comparison(records := experiment(0.3, cost_factor=1.5))
    arms = {name: [run for run in records if run.trial.arm == name] for name in ("old", "new")}
    dollars = {name: np.mean([run.cost.usd for run in runs]) for name, runs in arms.items()}

    verdict = decide_by_evidence([compared], evidence_settings())[0]

    old, new = compared.baseline_table, compared.candidate_table
    passes = float(new.columns["passed"].mean() - old.columns["passed"].mean())
    assert verdict.break_even is not None
    assert verdict.break_even.usd == pytest.approx((dollars["new"] - dollars["old"]) / passes)
    assert verdict.break_even.low < verdict.break_even.usd < verdict.break_even.high  # type: ignore[operator]


def test_the_price_is_unbounded_where_the_pass_rates_may_be_equal() -> None:
    verdict = decide(experiment(0.05, cost_factor=1.5, tasks=20, repeats=2))

    assert verdict.break_even is not None
    assert (verdict.break_even.low, verdict.break_even.high) == (None, None)
    assert "unbounded" in verdict.break_even.detail


def test_worth_is_zero_at_the_break_even_value() -> None:
    compared = comparison(experiment(0.3, cost_factor=1.5))
    verdict = decide_by_evidence([compared], evidence_settings())[0]
    assert verdict.break_even is not None
    assert verdict.break_even.usd is not None

    (point,) = worth_over_values(compared.baseline_table, compared.candidate_table, [verdict.break_even.usd])

    assert point.worth_usd == pytest.approx(0.0, abs=1e-12)
    assert point.low < 0 < point.high


def test_cost_of_pass_may_be_a_gate() -> None:
    cheaper, dearer = (
        decide(experiment(0.3), gates=("pass_rate", "cost_of_pass")),
        decide(experiment(cost_factor=2.0), gates=("pass_rate", "cost_of_pass")),
    )

    gate = next(gate for gate in cheaper.gates if gate.name == "cost_of_pass")
    assert (cheaper.decision, gate.state) == (Decision.IMPROVED, GateState.HOLDS)
    assert dearer.decision is Decision.REGRESSED


def test_cost_of_pass_agrees_with_the_ratio_of_ratios() -> None:
    compared = comparison(experiment(0.2, cost_factor=1.2))
    verdict = decide_by_evidence([compared], evidence_settings(gates=("pass_rate", "cost_of_pass")))[0]

    prices = [
        ratio_interval(arm.mean_per_task("cost_usd"), arm.mean_per_task("passed"), level=0.9, unit=Unit.TASK).point
        for arm in (compared.baseline_table, compared.candidate_table)
    ]
    evidence = verdict.gates[1].evidence
    assert evidence is not None
    assert evidence.effect == pytest.approx(prices[1] / prices[0] - 1)  # type: ignore[operator]


def test_without_a_pass_in_one_arm_a_pass_has_no_price() -> None:
    verdict = decide(experiment(-0.9, tasks=20), gates=("pass_rate", "cost_of_pass"))

    assert verdict.gates[1].state is GateState.UNKNOWN
    assert verdict.decision is Decision.REGRESSED


def test_zero_cost_in_both_arms_is_a_known_equal() -> None:
    verdict = decide(experiment(0.3, cost=reported_cost(0.0)))

    cost = next(gate for gate in verdict.gates if gate.name == "cost")
    assert (verdict.decision, cost.state) == (Decision.IMPROVED, GateState.HOLDS)
    assert not any("cost" in blocker for blocker in verdict.blockers)


def test_zero_cost_in_one_arm_alone_stays_unknown() -> None:
    verdict = decide(experiment(0.3, cost_factor=0.0))

    assert next(gate.state for gate in verdict.gates if gate.name == "cost") is GateState.UNKNOWN


def test_a_total_agrees_with_the_ratio_of_means() -> None:
    compared = comparison(experiment(0.2, cost_factor=1.2))
    evidence = decide_by_evidence([compared], evidence_settings())[0].gates[3].evidence

    old, new = (arm.mean_per_task("cost_usd") for arm in (compared.baseline_table, compared.candidate_table))
    expected = ratio_interval(new, old, level=0.9, unit=Unit.TASK)
    assert evidence is not None
    assert evidence.total is not None
    assert expected.interval is not None
    assert 1 + evidence.total.effect == pytest.approx(expected.point)  # type: ignore[operator]
    assert 1 + evidence.total.low == pytest.approx(expected.interval.low, rel=1e-6)  # type: ignore[operator]
    assert 1 + evidence.total.high == pytest.approx(expected.interval.high, rel=1e-6)  # type: ignore[operator]


def test_a_suite_of_three_tasks_can_be_judged_by_its_runs() -> None:
    records = experiment(0.4, tasks=3, repeats=40)

    assert decide(records).decision is Decision.INCONCLUSIVE
    assert decide(records, fixed_suite=True).decision is Decision.IMPROVED


def test_an_improvement_says_how_rare_a_break_could_hide() -> None:
    verdict = decide(experiment(0.4, tasks=60))

    assert "not ruled out: failures too rare to show in 60 tasks, on up to 5 % of similar tasks" in verdict.reasons


def test_an_improvement_says_what_it_does_not_rule_out() -> None:
    verdict = decide(experiment(0.4))

    assert verdict.decision is Decision.IMPROVED
    assert any(reason.startswith("not ruled out: duration up to 25 % higher") for reason in verdict.reasons)
