from collections.abc import Callable
from datetime import UTC, datetime

import krippendorff
import numpy as np
import pytest
from msgspec.structs import replace

from outweigh.compare.calibrate import calibrate
from outweigh.model.judgment import Calibration, CriterionScore, Grading, Judgment
from outweigh.score.judge_scores import Consensus, HumanLabel, JudgeRule, JudgeRules, LabelAgreement
from outweigh.testing.builders import a_judgment, a_run

RUNS = [a_run(f"task-{number}", "old") for number in range(1, 41)]
TASKS = {run.run_id: run.trial.task_id for run in RUNS}
HASH = "0" * 64


def scored(run_id: str, score: float, criterion: str | None = None) -> HumanLabel:
    return HumanLabel(run_id=run_id, criterion=criterion, score=score, passed=None)


def passed(run_id: str, verdict: bool) -> HumanLabel:
    return HumanLabel(run_id=run_id, criterion=None, score=None, passed=verdict)


def one(judgments: list[Judgment], labels: list[HumanLabel], judge_rules: JudgeRules | None = None) -> Calibration:
    (calibration,) = calibrate(judgments, labels, HASH, tasks=TASKS, judge_rules=judge_rules or JudgeRules())
    return calibration


def test_scores_of_a_judge_and_of_people_are_compared_run_by_run() -> None:
    rng = np.random.default_rng(1)
    truth = rng.uniform(size=len(RUNS)).round(2)
    guess = np.clip(truth + rng.normal(0, 0.15, size=len(RUNS)), 0, 1).round(2)
    judged = [a_judgment(run, float(score)) for run, score in zip(RUNS, guess, strict=True)]
    labels = [scored(run.run_id, float(score)) for run, score in zip(RUNS, truth, strict=True)]

    overall = one(judged, labels).overall

    expected = krippendorff.alpha(reliability_data=np.array([guess, truth]), level_of_measurement="ordinal")
    same_side = np.mean((guess >= 0.6) == (truth >= 0.6))
    assert overall.labels == 40
    assert overall.alpha.value == pytest.approx(expected)
    assert overall.alpha.interval is not None
    assert overall.alpha.interval.low < expected < overall.alpha.interval.high
    assert overall.accuracy.value == pytest.approx(same_side)
    assert overall.kappa.value is not None


def test_words_are_compared_with_what_the_judge_would_let_pass() -> None:
    judged = [a_judgment(run, 0.7) for run in RUNS[:4]] + [a_judgment(run, 0.3) for run in RUNS[4:8]]
    labels = [passed(run.run_id, place not in (0, 4, 5)) for place, run in enumerate(RUNS[:8])]

    lenient, strict = (
        one(judged, labels),
        one([replace(j, grading=Grading(pass_threshold=0.8, grade_scale="seed")) for j in judged], labels),
    )

    assert lenient.overall.accuracy.value == pytest.approx(5 / 8)
    assert strict.overall.accuracy.value == pytest.approx(3 / 8)
    assert lenient.overall.alpha.method == "Krippendorff alpha, nominal"


def criteria(**scores: float | None) -> tuple[CriterionScore, ...]:
    weights = {"correct": 3.0, "readable": 1.0}
    return tuple(
        CriterionScore(criterion=name, weight=weights[name], score=score, evidence=None)
        for name, score in scores.items()
    )


def test_criteria_are_compared_each_by_itself_and_make_people_a_total() -> None:
    judged = [a_judgment(run, criteria=criteria(correct=1.0, readable=0.0)) for run in RUNS[:3]]
    judged.append(a_judgment(RUNS[3], criteria=criteria(correct=0.0, readable=None)))
    labels = [scored(run.run_id, 1.0, "correct") for run in RUNS[:3]]
    labels += [scored(run.run_id, 0.0, "readable") for run in RUNS[:2]]
    labels += [scored(RUNS[3].run_id, 0.5, "correct"), scored(RUNS[3].run_id, 0.5, "readable")]

    calibration = one(judged, labels)

    assert {agreement.criterion: agreement.labels for agreement in calibration.criteria} == {
        "correct": 4,
        "readable": 2,
    }
    # The third run has no label for a criterion that applies, so people's total of it is unknown.
    assert calibration.overall.labels == 3
    # The total is a weighted mean: half the points for the only part of a run are no pass.
    assert calibration.overall.accuracy.value == 1
    # What does not apply has no score to compare a label with.
    assert calibration.unused_labels == 1


def test_a_judges_passes_are_brought_together_as_its_rule_says_and_compared_with_each_other() -> None:
    judged = [
        a_judgment(run, score, pass_index=number)
        for run in RUNS[:10]
        for number, score in enumerate((0.1, 0.1, 0.9), start=1)
    ]
    labels = [passed(run.run_id, False) for run in RUNS[:10]]
    median = JudgeRules(rules={"judge": JudgeRule(passes=3, consensus=Consensus.MEDIAN)})

    assert one(judged, labels, median).overall.accuracy.value == 1
    assert one(judged, labels, median).retest.items == 10


def test_every_voice_is_calibrated_by_itself_and_invalid_answers_count_for_nothing() -> None:
    judged = [a_judgment(run, 0.9) for run in RUNS[:5]]
    judged += [replace(j, judge=replace(j.judge, model="newer")) for j in judged[:2]]
    judged.append(a_judgment(RUNS[9], invalid_reason="refused", criteria=()))
    labels = [scored(run.run_id, 0.9) for run in RUNS[:10]]

    calibrations = calibrate(judged, labels, HASH, tasks=TASKS)

    assert sorted((each.judge.model or "", each.overall.labels) for each in calibrations) == [("", 5), ("newer", 2)]
    assert len({each.judge_sha256 for each in calibrations}) == 2
    assert [each.unused_labels for each in calibrations] in ([5, 8], [8, 5])


def test_without_a_labelled_whole_run_there_is_no_overall_agreement() -> None:
    calibration = one([a_judgment(RUNS[0], 0.9)], [scored(RUNS[0].run_id, 0.9, "tone")])

    assert calibration.overall.alpha.value is None
    assert any("no run is labelled as a whole" in warning for warning in calibration.warnings)


def test_labels_of_strangers_calibrate_nobody() -> None:
    assert calibrate([a_judgment(RUNS[0])], [scored("nobody", 0.5)], HASH, tasks=TASKS) == ()


def by_rubric(judgment: Judgment, rubric: str, day: int) -> Judgment:
    asked = replace(judgment.judge, rubric_sha256=rubric * 64)
    return replace(judgment, judge=asked, judged_at=datetime(2026, 1, day, tzinfo=UTC))


def test_answers_by_an_older_rubric_are_not_mixed_in() -> None:
    labels = [scored(run.run_id, place / 10) for place, run in enumerate(RUNS[:6])]
    newer = [by_rubric(a_judgment(run, place / 10), "b", 2) for place, run in enumerate(RUNS[:6])]
    older = [by_rubric(a_judgment(run, 1 - place / 10), "a", 1) for place, run in enumerate(RUNS[:6])]

    calibration = one([*newer, *older], labels)

    assert calibration.overall.alpha.value == 1.0
    assert calibration.rubrics == ("b" * 64,)
    assert any("6 labelled runs were judged by several rubrics" in warning for warning in calibration.warnings)


def test_runs_of_a_rubric_without_labels_are_said() -> None:
    labels = [scored(run.run_id, place / 10) for place, run in enumerate(RUNS[:6])]
    labelled = [by_rubric(a_judgment(run, place / 10), "a", 1) for place, run in enumerate(RUNS[:8])]
    others = [by_rubric(a_judgment(run, 0.5), "b", 1) for run in RUNS[8:11]]

    warnings = one([*labelled, *others], labels).warnings

    assert any("3 runs were judged by rubrics that have no labelled run" in warning for warning in warnings)


def of_tasks(
    tasks: int, judged: Callable[[int, int], float], labelled: Callable[[int, int], float], runs: int = 4
) -> Calibration:
    """Runs whose judge and people score as functions of the task and of the run in it."""
    judgments, labels, task_of = [], [], {}
    for task in range(tasks):
        for place in range(runs):
            run = a_run(f"task-{task}", "old", place + 1)
            task_of[run.run_id] = run.trial.task_id
            judgments.append(a_judgment(run, judged(task, place)))
            labels.append(scored(run.run_id, labelled(task, place)))
    (calibration,) = calibrate(judgments, labels, HASH, tasks=task_of)
    return calibration


def test_a_judge_that_only_tells_easy_tasks_from_hard_ones_shows_no_agreement_within_tasks() -> None:
    found = of_tasks(
        12,
        lambda task, run: 0.05 * task + 0.02 * run,
        lambda task, run: 0.05 * task + 0.02 * (2, 0, 3, 1)[(run + task) % 4],
    )

    overall = found.overall
    assert overall.alpha.value is not None
    assert overall.within is not None
    assert overall.within.value is not None
    assert overall.alpha.value > 0.9
    assert overall.within.value < 0.3
    assert (overall.within.tasks, overall.within.items) == (12, 48)
    assert LabelAgreement.of(found).alpha == overall.within.value
    assert "is required" in (LabelAgreement.of(found).shortfall(0.667) or "")


@pytest.mark.parametrize(("tasks", "may"), [(9, False), (10, True)])
def test_full_agreement_within_tasks_lets_a_judge_decide_from_ten_tasks_on(tasks: int, may: bool) -> None:
    found = of_tasks(tasks, lambda task, run: 0.2 * run, lambda task, run: 0.2 * run)

    assert LabelAgreement.of(found).alpha == 1
    assert (LabelAgreement.of(found).shortfall(0.667) is None) == may


def test_the_bias_of_a_judge_is_measured_against_people() -> None:
    found = of_tasks(10, lambda task, run: 0.2 * run + 0.1, lambda task, run: 0.2 * run + (0.05 if task % 2 else 0.0))

    bias = found.overall.bias
    assert bias is not None
    assert [bias.value, bias.tasks] == pytest.approx([0.075, 10])
    assert bias.interval is not None
    assert 0 < bias.interval.low < 0.075 < bias.interval.high


def test_labelled_runs_of_few_tasks_are_said() -> None:
    found = of_tasks(3, lambda task, run: 0.2 * run, lambda task, run: 0.2 * run, runs=20)

    assert found.overall.labels == 60
    assert any("only 3 tasks have labelled runs" in warning for warning in found.warnings)
    assert found.overall.accuracy.interval is None
    assert found.overall.kappa.interval is None
