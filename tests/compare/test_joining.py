import pytest
from msgspec.structs import replace

from outweigh.compare.comparison import compare_arms
from outweigh.compare.judge_agreement import summarise_judges
from outweigh.errors import EvidenceError
from outweigh.model.codec import record_digest
from outweigh.model.judgment import JudgeIdentity, judge_version_of
from outweigh.model.usage import reported_cost
from outweigh.score.judge_scores import JudgeRule, JudgeRules, LabelAgreement
from outweigh.testing.builders import a_judgment, a_preference, a_run, evidence_of

BEFORE, AFTER = a_run("task-1", "old"), a_run("task-1", "new")


def identity(**fields: str) -> JudgeIdentity:
    unknown: dict[str, str | None] = {"model": None, "version": None, "rubric_sha256": None, "prompt_sha256": None}
    return JudgeIdentity(name="judge", **(unknown | fields))


def test_a_judgment_of_another_record_of_its_run_is_not_used_and_said() -> None:
    fresh = a_judgment(BEFORE, 0.9, run_sha256=record_digest(BEFORE).hex())
    stale = a_judgment(AFTER, 0.9, run_sha256=record_digest(BEFORE).hex())

    evidence = evidence_of(BEFORE, AFTER, fresh, stale)

    assert [score.judge_score for score in (*evidence.arm("old"), *evidence.arm("new"))] == [0.9, None]
    assert any("1 judgments were given for another record" in warning for warning in evidence.warnings)


def test_an_answer_that_could_not_be_used_may_be_followed_by_one_that_can() -> None:
    refused = a_judgment(BEFORE, invalid_reason="refused", criteria=())

    in_order = evidence_of(BEFORE, refused, a_judgment(BEFORE, 0.7))
    out_of_order = evidence_of(BEFORE, a_judgment(BEFORE, 0.7), refused)

    assert in_order.arm("old")[0].judge_score == out_of_order.arm("old")[0].judge_score == 0.7
    assert len(in_order.judging["old"]) == 2  # both were paid for


@pytest.mark.parametrize("signed", [None, "v1"])
def test_a_try_that_was_replaced_is_paid_for_and_counted_nowhere_else(signed: str | None) -> None:
    """Who did not answer did not say its version either, and is replaced by the same judge's signed answer."""
    refused = a_judgment(BEFORE, invalid_reason="refused", criteria=(), cost=reported_cost(0.5))
    answer = a_judgment(BEFORE, 0.7, cost=reported_cost(0.5))
    answer = replace(answer, judge=replace(answer.judge, version=signed))

    for tries in ((refused, answer), (refused, refused, answer), (answer, refused)):
        panel = summarise_judges(evidence_of(BEFORE, *tries).judging)
        assert panel is not None
        (judge,) = panel.judges
        assert (judge.answers, judge.invalid) == ({"old": 1}, {"old": 0})
        assert judge.cost_usd["old"].value == 0.5 * len(tries)


def test_an_unusable_answer_stays_counted_where_only_another_pass_or_rubric_was_answered() -> None:
    refused = a_judgment(BEFORE, invalid_reason="refused", criteria=())
    other_pass = a_judgment(BEFORE, 0.7, pass_index=2)
    other_rubric = a_judgment(BEFORE, 0.7, judge="judge")
    other_rubric = replace(other_rubric, judge=replace(other_rubric.judge, rubric_sha256="r2"))

    for other in (other_pass, other_rubric):
        assert [fact.replaced for fact in evidence_of(BEFORE, refused, other).judging["old"]] == [False, False]


def test_a_judge_that_gave_no_usable_answer_is_among_the_warnings_of_every_policy() -> None:
    refused = [a_judgment(run, invalid_reason="refused", criteria=()) for run in (BEFORE, AFTER)]

    silent = compare_arms(evidence_of(BEFORE, AFTER, refused), "old", "new")
    retried = compare_arms(evidence_of(BEFORE, AFTER, refused, a_judgment(AFTER)), "old", "new")

    assert any("judge 'judge' has no score: none of its 2 answers can be used" in words for words in silent.warnings)
    assert not any("has no score" in words for words in retried.warnings)


def test_a_usable_answer_is_never_replaced() -> None:
    with pytest.raises(EvidenceError, match="judged twice by 'judge', pass 1"):
        evidence_of(BEFORE, a_judgment(BEFORE, 0.2), a_judgment(BEFORE, 0.9))


def test_a_preference_among_the_records_changes_no_score() -> None:
    preference = a_preference(BEFORE, AFTER, first_score=1.0, second_score=9.0)

    assert evidence_of(BEFORE, AFTER, preference).arms == evidence_of(BEFORE, AFTER).arms


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (identity(model="m-1"), identity(model="m-2"), "2 models"),
        (identity(version="1"), identity(version="2"), "2 versions"),
        (identity(prompt_sha256="a"), identity(prompt_sha256="b"), "2 prompts"),
        (identity(rubric_sha256="a"), identity(rubric_sha256="b"), "different rubrics"),
    ],
)
def test_judgments_of_different_hashes_are_not_compared_and_never_mixed_silently(
    one: JudgeIdentity, other: JudgeIdentity, words: str
) -> None:
    judged = [replace(a_judgment(BEFORE, 0.5), judge=one), replace(a_judgment(AFTER, 0.9), judge=other)]

    comparison = compare_arms(evidence_of(BEFORE, AFTER, judged), "old", "new")

    assert comparison.unequally_judged == ("task-1",)
    assert any(words in warning for warning in comparison.composite_warnings)


def test_a_judge_that_fails_by_a_new_rubric_does_not_pass_the_old_answers_off_as_new() -> None:
    answered = [
        replace(a_judgment(run, 0.5), judge=identity(rubric_sha256="a", version="1")) for run in (BEFORE, AFTER)
    ]
    failed = [
        replace(a_judgment(run, invalid_reason="timeout", criteria=()), judge=identity(rubric_sha256="b"))
        for run in (BEFORE, AFTER)
    ]

    (warning,) = compare_arms(evidence_of(BEFORE, AFTER, answered, failed), "old", "new").composite_warnings

    assert "were judged by different rubrics" in warning


def test_a_judge_that_must_be_calibrated_is_shown_but_decides_only_with_enough_agreement() -> None:
    judged = [a_judgment(BEFORE, 0.2), a_judgment(AFTER, 0.9)]
    judge_version = judge_version_of(judged[0].judge).sha256
    rules = {"judge": JudgeRule(minimum_alpha=0.6)}

    def composites(*alphas: float | None) -> tuple[float | None, ...]:
        agreements = {judge_version: [LabelAgreement(alpha=alpha, tasks=10) for alpha in alphas]}
        evidence = evidence_of(BEFORE, AFTER, judged, judge_rules=JudgeRules(rules=rules, agreements=agreements))
        comparison = compare_arms(evidence, "old", "new")
        said = any("is shown but decides nothing" in warning for warning in comparison.composite_warnings)
        assert said == (alphas != (0.6,))
        assert comparison.candidate.metrics["judge_score"].mean == 0.9
        return tuple(task.candidate.composite.value for task in comparison.tasks)

    trusted = composites(0.6)

    assert composites() == composites(0.59) == composites(None) == composites(0.9, 0.5) != trusted


@pytest.mark.parametrize(("tasks", "words"), [(9, "rests on 9 tasks"), (10, None)])
def test_a_judge_decides_only_where_ten_tasks_have_shown_its_agreement(tasks: int, words: str | None) -> None:
    shown = {judge_version_of(identity()).sha256: [LabelAgreement(alpha=0.9, tasks=tasks)]}
    rules = JudgeRules(rules={"judge": JudgeRule(minimum_alpha=0.6)}, agreements=shown)

    objection = rules.objection(identity())

    assert objection is None if words is None else words in (objection or "")


def test_agreement_about_one_rubric_lets_a_judge_decide_nothing_about_another() -> None:
    runs = [a_run(task, arm) for task in ("task-1", "task-2") for arm in ("old", "new")]
    judged = [
        replace(
            a_judgment(run, 0.2 if run.trial.arm == "old" else 0.9), judge=identity(rubric_sha256=run.trial.task_id)
        )
        for run in runs
    ]
    shown = {
        judge_version_of(judged[0].judge).sha256: [LabelAgreement(alpha=0.9, tasks=10, rubrics=frozenset({"task-1"}))]
    }
    judge_rules = JudgeRules(rules={"judge": JudgeRule(minimum_alpha=0.6)}, agreements=shown)

    comparison = compare_arms(evidence_of(runs, judged, judge_rules=judge_rules), "old", "new")
    told, silent = comparison.tasks

    assert told.candidate.composite.value != told.baseline.composite.value
    assert silent.candidate.composite.value == silent.baseline.composite.value
    assert any(
        "decides nothing about 'task-2'" in warning and "no run that was judged by this rubric" in warning
        for warning in comparison.composite_warnings
    )


def test_an_unusable_answer_is_replaced_by_a_later_unusable_one() -> None:
    refused = a_judgment(BEFORE, invalid_reason="refused", criteria=())

    assert [fact.replaced for fact in evidence_of(BEFORE, refused, refused).judging["old"]] == [True, False]
