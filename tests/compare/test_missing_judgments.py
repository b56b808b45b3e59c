"""Runs that lack a judge's answer: filled in by additive judge effects, or unknown for everybody."""

from collections.abc import Callable, Iterable

import pytest
from msgspec.structs import replace

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.compare.ladder import compare_tiers
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.score.judge_scores import JudgeRule, JudgeRules
from outweigh.testing.builders import a_judgment, a_run, evidence_of

LEVELS = {"strict": 0.0, "mild": 0.25}
ARMS = {"old": 0.0, "new": 0.1}
RUNS = [a_run(f"task-{task}", arm, repeat) for task in range(1, 7) for arm in ARMS for repeat in range(1, 6)]


def quality(run: RunRecord) -> float:
    """What an additive judge adds its own level to: between .1 and .65."""
    task = int(run.trial.task_id.removeprefix("task-"))
    return 0.1 + 0.05 * task + 0.03 * run.trial.repeat + ARMS[run.trial.arm]


def additive(levels: dict[str, float] = LEVELS) -> list[Judgment]:
    return [a_judgment(run, quality(run) + level, judge=judge) for run in RUNS for judge, level in levels.items()]


def without(judgments: Iterable[Judgment], lost: Callable[[Judgment], bool]) -> list[Judgment]:
    return [judgment for judgment in judgments if not lost(judgment)]


def compared(judgments: Iterable[Judgment], judge_rules: JudgeRules | None = None) -> Comparison:
    return compare_arms(evidence_of(RUNS, judgments, judge_rules=judge_rules or JudgeRules()), "old", "new")


def judge_scores(comparison: Comparison) -> list[float]:
    tables = (comparison.baseline_table, comparison.candidate_table)
    return [value for table in tables for value in table.columns["judge_score"].tolist()]


def of(judge: str, *run_ids: str) -> Callable[[Judgment], bool]:
    return lambda judgment: judgment.judge.name == judge and judgment.run_id in run_ids


def test_additive_judges_lose_answers_without_any_change() -> None:
    lost = [of("strict", "task-1/new/1"), of("mild", "task-4/old/2"), of("mild", "task-4/new/3")]
    whole = compared(additive())
    filled = compared(without(additive(), lambda judgment: any(each(judgment) for each in lost)))

    assert judge_scores(filled) == pytest.approx(judge_scores(whole))
    assert filled.deltas["composite_delta"].mean == pytest.approx(whole.deltas["composite_delta"].mean)
    assert filled.unequally_judged == ()


def test_the_share_that_was_filled_in_is_shown_by_every_policy() -> None:
    filled = compared(without(additive(), of("strict", "task-1/new/1")))

    assert any("1 of 60 judged runs (1.7 %) lack an answer of a judge" in warning for warning in filled.warnings)
    assert not any("lack an answer" in warning for warning in compared(additive()).warnings)


def test_a_run_without_its_strict_judge_does_not_look_better() -> None:
    filled = compared(without(additive(), of("strict", "task-1/new/1")))

    # .28 by the strict judge and .53 by the mild one; .53 alone would be .125 higher.
    assert filled.candidate_table.columns["judge_score"][0] == pytest.approx(0.405)


@pytest.mark.parametrize(("lost", "known"), [(3, True), (4, False)])
def test_more_than_one_run_in_twenty_is_too_much_to_fill_in(lost: int, known: bool) -> None:
    ids = [f"task-{task}/{arm}/1" for task in (1, 2) for arm in ARMS][:lost]
    comparison = compared(without(additive(), of("strict", *ids)))

    assert (comparison.unequally_judged == ()) == known
    assert any("lack an answer" in warning for warning in comparison.warnings) == known


def test_a_judge_that_fails_on_one_arm_beyond_chance_makes_all_its_scores_unknown() -> None:
    ids = [f"task-{task}/new/{repeat}" for task in range(1, 5) for repeat in (1, 2)]
    comparison = compared(without(additive(), of("strict", *ids)))

    # Fisher's p is .0046; of 7 runs it would be .0105.
    assert set(comparison.unequally_judged) == {f"task-{task}" for task in range(1, 7)}
    assert comparison.candidate.metrics["judge_score"].mean is None
    assert comparison.baseline.metrics["judge_score"].mean is None
    (said,) = [warning for warning in comparison.warnings if "Fisher" in warning]
    assert "judge 'strict' has no complete answer about 8 of 30 runs of new, and about 0 of 30 others" in said


def test_failures_on_one_arm_that_may_be_chance_leave_out_their_own_tasks_only() -> None:
    ids = [f"task-{task}/new/{repeat}" for task in range(1, 5) for repeat in (1, 2)][:7]
    comparison = compared(without(additive(), of("strict", *ids)))

    assert comparison.unequally_judged == ("task-1", "task-2", "task-3", "task-4")
    assert not any("Fisher" in warning for warning in comparison.warnings)


def test_one_sided_failures_are_unknown_even_where_few_runs_lack_an_answer() -> None:
    many = [a_run(f"task-{task}", arm, repeat) for task in range(1, 21) for arm in ARMS for repeat in range(1, 6)]
    judged = [a_judgment(run, 0.5, judge=judge) for run in many for judge in LEVELS]
    ids = [f"task-{task}/new/1" for task in range(1, 9)]

    comparison = compare_arms(evidence_of(many, without(judged, of("strict", *ids))), "old", "new")

    # 8 of 200 runs are 4 %; 8 of 100 against none have p = .0068 by Fisher's test.
    assert len(comparison.unequally_judged) == 20
    assert any("p = 0.0068" in warning for warning in comparison.warnings)


def test_as_many_failures_on_both_arms_are_filled_in() -> None:
    ids = [f"task-1/{arm}/1" for arm in ARMS]

    assert compared(without(additive(), of("strict", *ids))).unequally_judged == ()


def test_with_one_judge_nothing_can_be_filled_in() -> None:
    comparison = compared(without(additive({"strict": 0.0}), of("strict", "task-1/new/1")))

    assert comparison.unequally_judged == ("task-1",)
    assert not any("lack an answer" in warning for warning in comparison.warnings)


def test_a_run_that_nobody_judged_leaves_its_task_out_and_no_other() -> None:
    lost = "task-2/old/3"
    comparison = compared(without(additive(), lambda judgment: judgment.run_id == lost))

    assert comparison.unequally_judged == ("task-2",)
    assert "judge scores are left out of 'task-2'" in " ".join(comparison.composite_warnings)


def test_both_judges_must_have_judged_every_arm() -> None:
    """The mild judge saw one arm only, so nothing shows how it compares on the other."""
    judged = without(additive(), lambda judgment: judgment.judge.name == "mild" and "/new/" in judgment.run_id)

    assert len(compared(judged).unequally_judged) == 6


def test_a_missing_pass_is_filled_in_like_a_missing_judge() -> None:
    rules = JudgeRules(rules={"strict": JudgeRule(passes=2), "mild": JudgeRule(passes=1)})
    second = [replace(judgment, pass_index=2) for judgment in additive() if judgment.judge.name == "strict"]
    judged = [*additive(), *second]

    whole = compared(judged, rules)
    torn = compared(without(judged, lambda one: one.pass_index == 2 and one.run_id == "task-3/old/4"), rules)

    assert torn.unequally_judged == ()
    assert judge_scores(torn) == pytest.approx(judge_scores(whole))


def test_answers_by_another_rubric_are_never_filled_in_for() -> None:
    judged = [
        replace(judgment, judge=replace(judgment.judge, rubric_sha256="b" * 64))
        if judgment.judge.name == "strict" and judgment.run_id == "task-1/new/1"
        else judgment
        for judgment in additive()
    ]

    assert compared(judged).unequally_judged == ("task-1",)


def test_filled_in_scores_stay_between_zero_and_one() -> None:
    best = "task-6/new/5"
    others = without(additive(), lambda judgment: judgment.run_id == best)
    praised = a_judgment(next(run for run in RUNS if run.run_id == best), 0.95, judge="strict")
    comparison = compared([*others, praised])

    # The mild judge would have said 1.2.
    assert comparison.candidate_table.columns["judge_score"][-1] == pytest.approx((0.95 + 1.0) / 2)


def test_judges_that_may_not_decide_fill_in_nothing_that_decides() -> None:
    """Of two judges only one may decide; without its answer the deciding score of the task is unknown."""
    rules = JudgeRules(rules={"mild": JudgeRule(minimum_alpha=0.9)})
    comparison = compared(without(additive(), of("strict", "task-1/new/1")), rules)

    assert comparison.unequally_judged == ("task-1",)
    assert comparison.candidate.metrics["judge_score"].mean == pytest.approx(
        compared(additive()).candidate.metrics["judge_score"].mean
    )


def test_a_ladder_fills_in_too_and_says_so() -> None:
    ladder = compare_tiers(evidence_of(RUNS, without(additive(), of("strict", "task-1/new/1"))), ["old", "new"])

    assert any("1 of 60 judged runs (1.7 %)" in warning for warning in ladder.warnings)
    assert not any("left out" in warning for warning in ladder.warnings)
