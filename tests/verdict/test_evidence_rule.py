"""Version 2 of the evidence rule, on gates alone."""

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import (
    ALL_GATES,
    CandidateTests,
    RuleFinding,
    apply_rule,
    examine_candidate,
    gain_of_all_gates,
)
from outweigh.verdict.evidence_settings import ERROR_RATES, GATED_METRICS, WORTH_GATE
from outweigh.verdict.gate_sample import GateSample, total_benefits
from outweigh.verdict.gate_test import GateClaims, GateTest, examine_gate


def gate(name: str, benefits: Any, *, totals: Any = None, unknown: str | None = None) -> GateSample:
    """A gate with these benefits; a resource's total is its typical run unless it is stated."""
    gated = WORTH_GATE if name == "worth" else GATED_METRICS[name]
    values = np.asarray(benefits, dtype=np.float64)
    sample = GateSample(
        gated=gated,
        margin=gated.margin,
        tolerance=gated.tolerance,
        tasks=tuple(f"task-{number}" for number in range(len(values))),
        benefits=values,
        families=None,
        noise=None,
        unknown=unknown,
    )
    if gated.tolerance is None:
        return sample
    return replace(sample, total=replace(sample, benefits=values if totals is None else np.asarray(totals)))


def around(mean: float, deviation: float, tasks: int = 60, seed: int = 5) -> np.ndarray:
    """Deltas with exactly this mean and sample deviation."""
    raw = np.random.default_rng(seed).normal(size=tasks)
    centred = raw - raw.mean()
    deltas: np.ndarray = mean + centred / centred.std(ddof=1) * deviation
    return deltas


def finding(*gates: GateSample, worth: GateSample | None = None) -> RuleFinding:
    return apply_rule([examine_candidate(gates, worth)])[0]


SAME = gate("duration", around(0.0, 0.1, seed=6))
UNKNOWN = gate("duration", around(0.0, 0.1), unknown="nobody measured it")
BETTER = gate("pass_rate", around(0.1, 0.2))
DEARER = gate("cost", around(-np.log(1.3), 0.1, seed=7))


def test_a_gain_in_quality_is_an_improvement_although_resources_are_not_shown_to_be_the_same() -> None:
    noisy = gate("duration", around(0.0, 0.5, seed=6))

    result = finding(BETTER, noisy)

    assert examine_gate(noisy).non_inferior > ERROR_RATES.non_inferiority  # type: ignore[operator]
    assert (result.decision, result.superior, result.alarms) == (Decision.IMPROVED, ("pass_rate",), ())


def test_a_gain_in_quality_is_no_improvement_while_a_resource_may_exceed_its_tolerance() -> None:
    assert finding(BETTER, gate("duration", around(0.0, 1.5, seed=6))).decision is Decision.INCONCLUSIVE


def test_a_gain_in_quality_is_no_improvement_while_a_total_may_exceed_its_tolerance() -> None:
    steady = around(0.0, 0.1, seed=6)

    assert finding(BETTER, gate("cost", steady)).decision is Decision.IMPROVED
    assert finding(BETTER, gate("cost", steady, totals=around(-0.1, 1.0))).decision is Decision.INCONCLUSIVE


def test_a_saving_is_an_improvement_where_quality_keeps_its_margin() -> None:
    cheaper = gate("cost", around(0.2, 0.2, seed=6))

    result = finding(gate("pass_rate", around(0.0, 0.1)), cheaper)

    assert (result.decision, result.superior) == (Decision.IMPROVED, (ALL_GATES,))


def test_a_saving_is_no_improvement_while_quality_may_fall_beyond_its_margin() -> None:
    assert finding(gate("pass_rate", around(0.0, 0.4)), gate("cost", around(0.4, 0.2, seed=6))).decision is (
        Decision.INCONCLUSIVE
    )


def test_a_saving_on_the_typical_run_is_no_improvement_while_the_bill_may_grow_by_a_tenth() -> None:
    cheaper = around(0.2, 0.2, seed=6)

    assert finding(gate("pass_rate", around(0.0, 0.1)), gate("cost", cheaper)).decision is Decision.IMPROVED
    assert (
        finding(gate("pass_rate", around(0.0, 0.1)), gate("cost", cheaper, totals=around(0.0, 0.6))).decision
        is Decision.INCONCLUSIVE
    )


def test_a_runaway_bill_rings_although_the_typical_run_is_cheaper() -> None:
    result = finding(BETTER, gate("cost", around(0.2, 0.1), totals=around(-0.4, 0.3)))

    assert (result.decision, result.alarms) == (Decision.TRADE_OFF, ("cost",))


def test_a_loss_of_passes_is_a_regression_without_any_margin_and_however_cheap() -> None:
    result = finding(gate("pass_rate", around(-0.03, 0.1)), gate("cost", around(2.0, 0.1)))

    assert (result.decision, result.alarm, result.alarms) == (Decision.REGRESSED, Decision.REGRESSED, ("pass_rate",))


def test_dearer_without_a_gain_in_quality_is_a_regression() -> None:
    assert finding(gate("pass_rate", around(0.0, 0.1)), DEARER).decision is Decision.REGRESSED


def test_better_and_dearer_is_a_trade_off() -> None:
    result = finding(BETTER, DEARER)

    assert (result.decision, result.superior, result.alarms) == (Decision.TRADE_OFF, ("pass_rate",), ("cost",))
    assert result.superiority_p is None


@pytest.mark.parametrize(
    ("worth", "settled"),
    [(0.5, Decision.IMPROVED), (-0.5, Decision.REGRESSED), (0.0, Decision.INCONCLUSIVE)],
)
def test_a_value_settles_a_trade_off(worth: float, settled: Decision) -> None:
    assert finding(BETTER, DEARER, worth=gate("worth", around(worth, 0.8))).decision is settled


def test_a_value_settles_nothing_but_a_trade_off() -> None:
    worthless = gate("worth", around(-5.0, 0.1))

    assert finding(BETTER, SAME, worth=worthless).decision is Decision.IMPROVED
    assert finding(gate("pass_rate", around(0.0, 0.1)), DEARER, worth=gate("worth", around(5.0, 0.1))).decision is (
        Decision.REGRESSED
    )


def test_an_unknown_worth_leaves_a_trade_off_undecided() -> None:
    unknown = gate("worth", around(1.0, 0.1), unknown="nobody knows the cost")

    assert finding(BETTER, DEARER, worth=unknown).decision is Decision.INCONCLUSIVE


def test_an_unknown_gate_silences_an_improvement_and_never_an_alarm() -> None:
    better, worse = finding(BETTER, UNKNOWN), finding(gate("pass_rate", around(-0.46, 0.2)), UNKNOWN)

    assert better.decision is Decision.INCONCLUSIVE
    assert (worse.decision, worse.alarm) == (Decision.REGRESSED, Decision.REGRESSED)


def test_an_unknown_gate_raises_no_alarm_itself() -> None:
    hidden = gate("duration", around(-5.0, 0.1), unknown="nobody measured it")

    assert finding(gate("pass_rate", around(0.0, 0.1)), hidden).alarms == ()


def test_beside_an_unknown_gate_the_sum_says_nothing() -> None:
    assert gain_of_all_gates([BETTER, UNKNOWN]) is None


def test_the_same_within_every_margin_is_neutral_only_if_the_totals_are_too() -> None:
    steady = around(0.0, 0.1, seed=6)

    assert finding(gate("pass_rate", around(0.0, 0.1)), gate("cost", steady)).decision is Decision.NEUTRAL
    assert (
        finding(gate("pass_rate", around(0.0, 0.1)), gate("cost", steady, totals=around(0.0, 0.5))).decision
        is Decision.INCONCLUSIVE
    )


def test_passing_everything_in_both_arms_is_neutral_from_59_tasks_on() -> None:
    assert finding(gate("pass_rate", np.zeros(58))).decision is Decision.INCONCLUSIVE
    assert finding(gate("pass_rate", np.zeros(59))).decision is Decision.NEUTRAL


def test_without_any_gate_nothing_is_decided() -> None:
    assert finding().decision is Decision.INCONCLUSIVE
    assert apply_rule([]) == ()


def test_the_sum_is_the_t_test_of_standardised_deltas_added_up_task_by_task() -> None:
    passes, times = around(0.02, 0.2, 30), around(0.05, 0.4, 30, seed=8)
    added = passes / passes.std(ddof=1) + times / times.std(ddof=1)

    expected = stats.ttest_1samp(added, 0, alternative="greater").pvalue

    assert gain_of_all_gates([gate("pass_rate", passes), gate("duration", times)]) == pytest.approx(expected, rel=1e-9)


def test_the_sum_of_three_tasks_by_hand() -> None:
    """Deltas 1, 2, 3 have deviation 1, so the sums of two such gates are 2, 4, 6: mean 4, error 2/√3, t = 2√3."""
    two = [gate("duration", [1.0, 2.0, 3.0]), gate("non_cache_tokens", [1.0, 2.0, 3.0])]

    assert gain_of_all_gates(two) == pytest.approx(float(stats.t.sf(2 * np.sqrt(3), 2)), rel=1e-9)


def test_the_sum_uses_the_tasks_that_every_gate_knows() -> None:
    passes, times = around(0.1, 0.2, 20), around(0.1, 0.3, 20, seed=8)
    shorter = gate("duration", times).without(3)
    added = np.delete(passes / passes.std(ddof=1), 3) + np.delete(times, 3) / np.delete(times, 3).std(ddof=1)

    expected = stats.ttest_1samp(added, 0, alternative="greater").pvalue

    assert gain_of_all_gates([gate("pass_rate", passes), shorter]) == pytest.approx(expected, rel=1e-9)


def test_a_gate_on_which_nothing_differs_adds_nothing_to_the_sum() -> None:
    times = gate("duration", around(0.1, 0.3))

    assert gain_of_all_gates([gate("pass_rate", np.zeros(60)), times]) == gain_of_all_gates([times])
    assert gain_of_all_gates([gate("pass_rate", np.zeros(60))]) is None


@pytest.mark.parametrize("tasks", [0, 1])
def test_fewer_than_two_tasks_have_no_sum(tasks: int) -> None:
    assert gain_of_all_gates([gate("duration", [0.5] * tasks)]) is None


def test_pseudo_values_of_a_total_have_the_log_ratio_as_mean_and_its_error_as_scatter() -> None:
    before, after = np.array([1.0, 2.0, 3.0, 6.0]), np.array([2.0, 2.0, 5.0, 15.0])
    values = total_benefits(before, after)

    influence = after / 6.0 - before / 3.0
    assert values.mean() == pytest.approx(-np.log(2.0))
    assert values.std(ddof=1) == pytest.approx(influence.std(ddof=1))


BEYOND = 1e-9


def shown(name: str, *, total: dict[str, float] | None = None, **p_values: float) -> GateTest:
    """A gate with these p-values; those that are left out show nothing."""

    def claims(stated: dict[str, float]) -> GateClaims:
        nothing = dict.fromkeys(
            ("non_inferior", "superior", "equivalent", "alarm", "tolerable", "within_total_tolerance"), 1.0
        )
        return test.typical.stating(**(nothing | stated))

    test = examine_gate(gate(name, around(0.0, 0.1)))
    return replace(
        test,
        typical=claims(p_values),
        total=None if test.total is None else claims(p_values if total is None else total),
    )


def decide(*tests: GateTest, gain: float | None = None) -> Decision:
    return apply_rule([CandidateTests(gates=tests, gain=gain)])[0].decision


def with_gates(gain: float, non_inferior: float, tolerable: float, total: float) -> Decision:
    cost = shown(
        "cost",
        tolerable=tolerable,
        total={"tolerable": 0.0, "within_total_tolerance": total, "superior": 1.0, "alarm": 1.0},
    )
    return decide(shown("pass_rate", non_inferior=non_inferior), cost, gain=gain)


@pytest.mark.parametrize("place", range(4))
def test_every_condition_of_a_joint_gain_counts_at_its_level_and_not_above_it(place: int) -> None:
    levels = [ERROR_RATES.superiority, *([ERROR_RATES.non_inferiority] * 3)]
    beyond = [level + BEYOND * (index == place) for index, level in enumerate(levels)]

    assert with_gates(*levels) is Decision.IMPROVED
    assert with_gates(*beyond) is Decision.INCONCLUSIVE


@pytest.mark.parametrize("place", range(3))
def test_every_condition_of_a_gain_in_quality_counts_at_its_level_and_not_above_it(place: int) -> None:
    def decision(superior: float, tolerable: float, total: float) -> Decision:
        cost = shown("cost", tolerable=tolerable, total={"tolerable": total, "alarm": 1.0})
        return decide(shown("pass_rate", superior=superior, non_inferior=0.0), cost)

    levels = [ERROR_RATES.superiority, ERROR_RATES.non_inferiority, ERROR_RATES.non_inferiority]
    beyond = [level + BEYOND * (index == place) for index, level in enumerate(levels)]

    assert decision(*levels) is Decision.IMPROVED
    assert decision(*beyond) is Decision.INCONCLUSIVE


@pytest.mark.parametrize(("tasks", "decision"), [(6, Decision.INCONCLUSIVE), (7, Decision.IMPROVED)])
def test_a_single_gate_is_tested_at_the_level_of_one_way(tasks: int, decision: Decision) -> None:
    """All tasks turn from failing to passing: p is 1/64 for six tasks and 1/128 for seven."""
    alone = gate("pass_rate", [1.0] * tasks)

    assert examine_gate(alone).superior == pytest.approx(0.5**tasks)
    assert finding(alone).decision is decision


def test_an_alarm_rings_at_its_level_and_not_above_it() -> None:
    passes, cost = ERROR_RATES.pass_rate_alarm, ERROR_RATES.resource_alarm / 2

    assert decide(shown("pass_rate", alarm=passes)) is Decision.REGRESSED
    assert decide(shown("pass_rate", alarm=passes + BEYOND)) is Decision.INCONCLUSIVE
    # Both ratios of a resource share its level.
    assert decide(shown("cost", alarm=cost, total={"alarm": 1.0})) is Decision.REGRESSED
    assert decide(shown("cost", alarm=1.0, total={"alarm": cost})) is Decision.REGRESSED
    assert decide(shown("cost", alarm=1.0, total={"alarm": cost + BEYOND})) is Decision.INCONCLUSIVE


def test_resource_alarms_are_corrected_among_themselves_and_not_for_the_pass_rate() -> None:
    once = ERROR_RATES.resource_alarm / 2

    assert decide(shown("cost", alarm=once, total={"alarm": 1.0}), shown("pass_rate")) is Decision.REGRESSED
    assert (
        decide(shown("cost", alarm=once, total={"alarm": 1.0}), shown("duration"), shown("pass_rate"))
        is Decision.INCONCLUSIVE
    )


def test_of_two_quality_gates_the_one_that_is_not_better_must_not_be_worse() -> None:
    better = shown("judge_score", superior=0.0, non_inferior=0.0)

    assert decide(better, shown("pass_rate", non_inferior=0.0)) is Decision.IMPROVED
    assert decide(better, shown("pass_rate", non_inferior=0.2)) is Decision.INCONCLUSIVE


def test_a_lucky_candidate_among_many_is_held_to_a_higher_standard() -> None:
    lucky = examine_candidate([gate("pass_rate", around(0.07, 0.2))])
    others = [examine_candidate([gate("pass_rate", around(0.0, 0.2))]) for _ in range(19)]

    assert apply_rule([lucky])[0].decision is Decision.IMPROVED
    assert apply_rule([lucky, *others])[0].decision is not Decision.IMPROVED


def test_conditions_too_are_corrected_over_candidates() -> None:
    level = ERROR_RATES.non_inferiority
    candidate = CandidateTests(gates=(shown("pass_rate", non_inferior=level),), gain=0.0)
    other = CandidateTests(gates=(shown("pass_rate", non_inferior=level),), gain=1.0)

    assert apply_rule([candidate])[0].decision is Decision.IMPROVED
    assert apply_rule([candidate, other])[0].decision is Decision.INCONCLUSIVE


def test_other_candidates_never_excuse_a_loss() -> None:
    worse = CandidateTests(gates=(shown("pass_rate", alarm=ERROR_RATES.pass_rate_alarm),), gain=None)
    others = [CandidateTests(gates=(shown("pass_rate"),), gain=None) for _ in range(9)]

    assert apply_rule([worse, *others])[0].decision is Decision.REGRESSED


def test_turning_all_signs_round_turns_an_improvement_into_a_regression() -> None:
    better = around(0.1, 0.2)

    assert finding(gate("pass_rate", better), SAME).decision is Decision.IMPROVED
    assert finding(gate("pass_rate", -better), SAME).decision is Decision.REGRESSED


def test_the_p_value_of_an_improvement_is_twice_that_of_the_better_way() -> None:
    by_quality = apply_rule([CandidateTests(gates=(shown("pass_rate", superior=0.003, non_inferior=0.0),), gain=0.5)])
    by_sum = apply_rule([CandidateTests(gates=(shown("pass_rate", superior=0.3, non_inferior=0.0),), gain=0.004)])

    assert by_quality[0].superiority_p == pytest.approx(0.006)
    assert by_sum[0].superiority_p == pytest.approx(0.008)
