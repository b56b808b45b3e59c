from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.compare.evidence import Evidence
from outweigh.compare.task_alignment import align_tasks
from outweigh.errors import UsageError
from outweigh.model.failure import Status
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST, Component, ComponentTokens, reported_cost
from outweigh.score.judge_scores import JudgeRule, JudgeRules
from outweigh.testing.builders import a_judgment, a_run, evidence_of, runs_of_arm

matrix = st.lists(st.lists(st.booleans(), min_size=2, max_size=4), min_size=1, max_size=4)


def between(evidence: Evidence) -> Comparison:
    return compare_arms(evidence, "baseline", "candidate")


def two_arms(before: list[list[bool]], after: list[list[bool]], **candidate: Any) -> Comparison:
    return between(evidence_of(runs_of_arm("baseline", before), runs_of_arm("candidate", after, **candidate)))


def test_an_arm_is_summed_up_over_its_counted_runs() -> None:
    arm = two_arms([[True, True, False]], [[True, True, True]], cost=reported_cost(0.2)).candidate

    assert (arm.runs, arm.successes, arm.pass_rate.value) == (3, 3, 1.0)
    assert arm.total_cost_usd.value == pytest.approx(0.6)
    assert arm.solved_per_dollar.value == pytest.approx(5.0)
    assert arm.cost_of_pass_usd.value == pytest.approx(0.2)


def test_cost_of_a_pass_is_the_reciprocal_of_passes_per_dollar_on_complete_data() -> None:
    arm = two_arms([[True, False]], [[True, False, False]]).candidate

    assert arm.cost_of_pass_usd.value == pytest.approx(1 / (arm.solved_per_dollar.value or 0))


def test_an_arm_that_never_passes_has_an_infinite_cost_of_a_pass() -> None:
    assert two_arms([[True]], [[False]]).candidate.cost_of_pass_usd.value == inf


def test_free_runs_have_no_passes_per_dollar() -> None:
    arm = two_arms([[True]], [[True]], cost=reported_cost(0.0)).candidate

    assert arm.solved_per_dollar.value is None
    assert arm.solved_per_dollar.reason == "the total cost is zero"


def test_one_unknown_cost_makes_the_total_unknown_and_keeps_the_known_part() -> None:
    records = [a_run(arm="candidate"), a_run(arm="candidate", repeat=2, cost=UNKNOWN_COST), a_run()]

    arm = between(evidence_of(records)).candidate

    assert arm.total_cost_usd.value is arm.solved_per_dollar.value is arm.cost_of_pass_usd.value is None
    assert arm.total_cost_usd.reason == "the cost of 1 of 2 runs is unknown"
    assert arm.known_cost_usd == pytest.approx(0.10)
    assert arm.metrics["cost_usd"].mean == pytest.approx(0.10)


def test_infrastructure_failures_are_left_out_counted_and_listed() -> None:
    records = [a_run(), a_run(arm="candidate", status=Status.INFRA_ERROR)]

    comparison = between(evidence_of(records))

    assert (comparison.candidate.runs, comparison.candidate.excluded) == (0, {Status.INFRA_ERROR: 1})
    assert comparison.candidate.pass_rate.value is None
    assert [(run.arm, run.why) for run in comparison.pairing.unpaired] == [
        ("baseline", "its partner in candidate is excluded: infra_error"),
        ("candidate", "excluded: infra_error"),
    ]


def test_a_run_without_a_partner_is_listed_never_dropped_silently() -> None:
    comparison = two_arms([[True, True]], [[True]])

    assert comparison.pairing.pairs == 1
    assert [(run.repeat, run.why) for run in comparison.pairing.unpaired] == [(2, "no run in candidate")]


def test_repeats_that_are_counted_on_are_matched_in_their_order() -> None:
    held_out = [
        a_run("task", "baseline", 6, passed=False),
        a_run("task", "baseline", 7, passed=True),
        a_run("task", "baseline", 8, passed=True),
    ]
    candidate = [
        a_run("task", "candidate", 1, passed=True),
        a_run("task", "candidate", 2, status=Status.INFRA_ERROR),
        a_run("task", "candidate", 3, passed=True),
    ]

    comparison = between(evidence_of(held_out, candidate))

    assert (comparison.pairing.pairs, comparison.deltas["pass_delta"].mean) == (2, 0.5)
    assert [(run.arm, run.repeat, run.why) for run in comparison.pairing.unpaired] == [
        ("baseline", 7, "its partner in candidate is excluded: infra_error"),
        ("candidate", 2, "excluded: infra_error"),
    ]


def test_deltas_are_candidate_minus_baseline_over_pairs() -> None:
    comparison = two_arms([[True, False]], [[True, True]], duration_seconds=50.0, cost=reported_cost(0.16))

    assert comparison.deltas["pass_delta"].mean == 0.5
    assert comparison.deltas["duration_delta_seconds"].mean == -10.0
    assert comparison.deltas["cost_delta_usd"].median == pytest.approx(0.06)
    assert comparison.deltas["token_delta"].mean == 0.0


def test_a_delta_is_unknown_when_either_side_is() -> None:
    delta = two_arms([[True]], [[True]], usage=NO_USAGE).deltas["token_delta"]

    assert (delta.n, delta.mean, delta.task_mean) == (0, None, None)


def test_the_mean_over_tasks_weighs_every_task_alike_however_often_it_ran() -> None:
    before = runs_of_arm("baseline", [[False] * 8, [False]])
    after = runs_of_arm("candidate", [[True] * 8, [False]])

    delta = between(evidence_of(before, after)).deltas["pass_delta"]

    assert delta.mean == pytest.approx(8 / 9)
    assert delta.task_mean == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("candidate", "places"),
    [
        ("abc", [[0, 0], [1, 1], [2, 2]]),
        ("bcd", [[1, 0], [2, 1]]),
        ("xyz", []),
    ],
)
def test_tasks_of_both_arms_are_found_at_their_places_in_each(candidate: str, places: list[list[int]]) -> None:
    runs = [a_run(task, arm, 1) for arm, tasks in (("old", "abc"), ("new", candidate)) for task in tasks]
    comparison = compare_arms(evidence_of(runs), "old", "new")

    assert align_tasks(comparison.baseline_table, comparison.candidate_table).tolist() == places


def test_reliability_is_averaged_over_tasks_up_to_the_repeats_that_all_have() -> None:
    arm = two_arms([[True]], [[True, False, False], [True, True]]).candidate

    assert sorted(arm.pass_at_k) == [1, 2]
    assert arm.pass_at_k[1] == pytest.approx((1 / 3 + 1) / 2)
    assert arm.pass_at_k[2] == pytest.approx((2 / 3 + 1) / 2)
    assert arm.pass_hat_k[2] == pytest.approx((0 + 1) / 2)


def test_pairs_are_counted_by_who_passed() -> None:
    table = two_arms([[True, True, False, False]], [[True, False, True, False]]).discordance

    assert (table.both, table.only_baseline, table.only_candidate, table.neither) == (1, 1, 1, 1)
    assert table.unit == "pair"
    assert two_arms([[True], [False]], [[True], [True]]).discordance.unit == "task"


def test_the_judge_counts_only_where_both_arms_have_the_same_judges_on_every_run() -> None:
    before, after = a_run(), a_run(arm="candidate")

    both = between(evidence_of(before, after, a_judgment(before, 0.5), a_judgment(after, 0.9)))
    one_sided = between(evidence_of(before, after, a_judgment(before, 0.5)))
    different = between(evidence_of(before, after, a_judgment(before, 0.5), a_judgment(after, 0.9, judge="other")))

    assert both.deltas["composite_delta"].mean == pytest.approx(0.4 * 0.4)
    for comparison in (one_sided, different):
        assert comparison.deltas["composite_delta"].mean == 0.0
        assert "judge scores are left out" in comparison.composite_warnings[0]


def test_judge_scores_of_different_judges_are_not_shown_side_by_side_either() -> None:
    before, after = runs_of_arm("baseline", [[True] * 2] * 2), runs_of_arm("candidate", [[True] * 2] * 2)
    judged = [a_judgment(run, 0.5) for run in before] + [a_judgment(run, 0.9) for run in after[:-1]]

    comparison = between(evidence_of(before, after, judged))

    # task-2 lacks an answer of the candidate, perhaps a bad one: its other run would look good alone.
    assert comparison.deltas["judge_score_delta"].n == 2
    assert comparison.candidate.metrics["judge_score"].count == 2


@pytest.mark.parametrize("rule", [JudgeRule(passes=2), JudgeRule(passes=1, most_passes=3)])
def test_passes_lost_on_both_sides_leave_the_judge_out_too(rule: JudgeRule) -> None:
    before, after = a_run(), a_run(arm="candidate")
    judged = [a_judgment(before, 0.2, confidence=0.1), a_judgment(after, 0.9, confidence=0.1)]

    comparison = between(evidence_of(before, after, judged, judge_rules=JudgeRules(rules={"judge": rule})))

    assert comparison.unequally_judged == ("task-1",)
    assert comparison.deltas["composite_delta"].mean == 0.0


def test_a_judgment_lost_on_one_side_cannot_fake_a_gain() -> None:
    before, after = runs_of_arm("baseline", [[True] * 5]), runs_of_arm("candidate", [[True] * 5])
    judged = [a_judgment(run, 0.2) for run in before] + [a_judgment(run, 0.2) for run in after[:-1]]

    assert between(evidence_of(before, after, judged)).deltas["composite_delta"].task_mean == 0.0


def test_the_candidates_cost_is_judged_against_the_baselines_mean_of_that_task() -> None:
    before = [a_run(), a_run(repeat=2, duration_seconds=180.0)]
    after = [a_run(arm="candidate", duration_seconds=60.0), a_run(arm="candidate", repeat=2, duration_seconds=60.0)]

    comparison = between(evidence_of(before, after))

    # three signals are equal, the time is half of the mean of 60 and 180
    assert comparison.candidate.metrics["composite"].mean == 1.0
    assert comparison.baseline.metrics["composite"].mean == 1.0
    failed = [a_run(arm="candidate", repeat=r, passed=False, duration_seconds=60.0) for r in (1, 2)]
    assert between(evidence_of(before, failed)).candidate.metrics["composite"].mean == pytest.approx(0.1 * 0.125)


def test_signals_nobody_reports_are_named() -> None:
    comparison = two_arms(
        [[True]], [[True]], step_count=None, tool_call_count=None, usage=NO_USAGE, duration_seconds=None
    )

    assert "1 runs have no cost adjustment" in comparison.composite_warnings[-1]


def test_a_signal_that_one_arm_does_not_report_is_named_with_its_runs() -> None:
    before = [a_run(), a_run(repeat=2)]
    after = [a_run(arm="candidate", repeat=repeat, step_count=None) for repeat in (1, 2)]

    warnings = between(evidence_of(before, after)).composite_warnings

    assert warnings == ("steps is left out of the cost adjustment of 2 runs: not reported on both sides.",)


def test_an_arm_is_not_compared_with_itself() -> None:
    with pytest.raises(UsageError, match="both 'baseline'"):
        compare_arms(evidence_of(a_run()), "baseline", "baseline")


def test_grades_need_judges_and_follow_the_even_profile() -> None:
    run = a_run(arm="candidate")

    assert two_arms([[True]], [[True]]).candidate.grade is None
    graded = between(evidence_of(a_run(), run, a_judgment(run, 0.85), a_judgment(a_run(), 0.1)))
    assert (graded.candidate.grade, graded.baseline.grade) == ("B", "F")


@settings(max_examples=40)
@given(matrix, matrix)
def test_swapping_the_arms_mirrors_every_delta(before: list[list[bool]], after: list[list[bool]]) -> None:
    evidence = evidence_of(runs_of_arm("baseline", before), runs_of_arm("candidate", after))

    forward, backward = compare_arms(evidence, "baseline", "candidate"), compare_arms(evidence, "candidate", "baseline")

    for name in ("pass_delta", "duration_delta_seconds", "token_delta"):
        one, other = forward.deltas[name], backward.deltas[name]
        assert one.n == other.n
        for ours, theirs in ((one.mean, other.mean), (one.median, other.median), (one.task_mean, other.task_mean)):
            assert ours == theirs is None or ours == pytest.approx(-(theirs or 0.0))


@settings(max_examples=40)
@given(matrix, st.randoms(use_true_random=False))
def test_numbering_the_repeats_anew_moves_no_mean(before: list[list[bool]], dice: Any) -> None:
    after = [[not outcome for outcome in repeats] for repeats in before]
    shuffled = [dice.sample(repeats, len(repeats)) for repeats in after]

    one, other = two_arms(before, after).deltas["pass_delta"], two_arms(before, shuffled).deltas["pass_delta"]

    assert one.mean == pytest.approx(other.mean)
    assert one.task_mean == pytest.approx(other.task_mean)


def test_one_configuration_under_two_names_and_a_changed_task_are_told() -> None:
    before = runs_of_arm("baseline", [[True]], arm_fingerprint="f", task_checksum="1")
    after = runs_of_arm("candidate", [[True]], arm_fingerprint="f", task_checksum="2")

    warnings = " ".join(between(evidence_of(before, after)).warnings)

    assert "the same configuration" in warnings
    assert "'task-1' changed between runs" in warnings


def test_the_components_of_an_arm_are_added_up_over_its_runs() -> None:
    ledger = (
        ComponentTokens(component=Component.TOOL_SCHEMA, input_tokens=300, output_tokens=0),
        ComponentTokens(component=Component.SKILL_PROMPT, input_tokens=100, output_tokens=0),
    )

    parts = two_arms([[True]], [[True, True]], components=ledger).candidate.components

    assert [(part.component, part.tokens, part.token_share.value) for part in parts] == [
        (Component.SKILL_PROMPT, 200, 0.25),
        (Component.TOOL_SCHEMA, 600, 0.75),
    ]


def test_runs_that_carry_warnings_of_their_own_are_told_with_the_commonest() -> None:
    doubts = ("the agent reports 5 input tokens against 9 metered", "its model was guessed")
    runs = [a_run(arm="candidate", repeat=1, warnings=doubts), a_run(arm="candidate", repeat=2, warnings=doubts[1:])]

    comparison = between(
        evidence_of(runs_of_arm("baseline", [[True, True]]), [*runs, a_run(arm="candidate", repeat=3)])
    )

    assert [warning for warning in comparison.warnings if "have warnings" in warning] == [
        "2 of 3 runs of candidate have warnings, which `outweigh report` lists: its model was guessed"
    ]


def test_a_long_reason_of_lost_attempts_is_told_in_one_line() -> None:
    lost = [
        a_run("task-1", "new", repeat, status=Status.INFRA_ERROR, status_detail="no room\n" + "at all " * 5000)
        for repeat in (2, 3)
    ]
    records = [a_run("task-1", arm, 1, passed=True) for arm in ("old", "new")]

    (warning,) = [
        each for each in compare_arms(evidence_of([*records, *lost]), "old", "new").warnings if "do not count" in each
    ]

    assert "(infra_error), such as: no room at all at all" in warning
    assert "\n" not in warning
    assert len(warning) < 300


def test_attempts_that_do_not_count_are_told_by_arm_and_status_with_the_commonest_reason() -> None:
    lost = [
        a_run("task-1", "new", repeat, status=Status.INFRA_ERROR, status_detail=detail)
        for repeat, detail in enumerate(("the disk is full", "rate_limited: busy", "rate_limited: busy"), start=2)
    ]
    silent = a_run("task-1", "old", 2, status=Status.ARM_NOT_APPLIED)

    comparison = compare_arms(evidence_of(a_run("task-1", "old"), a_run("task-1", "new"), lost, silent), "old", "new")

    assert "attempts of new that do not count: 3 (infra_error), such as: rate_limited: busy" in comparison.warnings
    assert "attempts of old that do not count: 1 (arm_not_applied)" in comparison.warnings
