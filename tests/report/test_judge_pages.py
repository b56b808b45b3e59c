from outweigh.compare.calibrate import calibrate
from outweigh.compare.comparison import compare_arms
from outweigh.compare.inference import IntervalMethod, Population, infer
from outweigh.compare.preferences import compare_pairwise
from outweigh.model.usage import reported_cost
from outweigh.report.calibration_page import calibration_report
from outweigh.report.comparison_page import comparison_report
from outweigh.report.document import Report
from outweigh.report.judge_agreement import pairwise_report
from outweigh.report.render_text import TextReporter
from outweigh.report.verdict_page import verdict_report
from outweigh.score.judge_scores import HumanLabel
from outweigh.testing.builders import a_judgment, a_preference, evidence_of, runs_of_arm
from outweigh.verdict.decision import PolicySource
from outweigh.verdict.policy import decide

BEFORE, AFTER = (runs_of_arm(arm, [[True, True]] * 6) for arm in ("old", "new"))
JUDGED = [
    a_judgment(run, 0.1 * place % 1, judge=judge, stated_total=0.9, cost=reported_cost(0.5))
    for place, run in enumerate((*BEFORE, *AFTER))
    for judge in ("strict", "mild")
]
REFUSED = a_judgment(BEFORE[0], judge="strict", pass_index=2, invalid_reason="refused", cost=reported_cost(0.5))
TASK_OF = {run.run_id: run.trial.task_id for run in (*BEFORE, *AFTER)}
LABELS = [HumanLabel(run_id=run.run_id, criterion=None, score=0.5, passed=None) for run in BEFORE]
COMPARISON = compare_arms(evidence_of(BEFORE, AFTER, JUDGED, REFUSED), "old", "new")


def text(report: Report) -> str:
    return TextReporter(colour=False).render(report)


def page() -> Report:
    return comparison_report(
        COMPARISON, infer(COMPARISON, population=Population.TASKS, method=IntervalMethod.T, seed=0)
    )


def test_compare_shows_what_the_judges_are_worth_and_what_they_cost() -> None:
    shown = text(page())

    assert "agreement between judges over 24 runs of 6 tasks, Krippendorff's alpha: 1.000" in " ".join(shown.split())
    assert "mild – strict" in shown
    assert "judging cost $24.50; it is in none of the arms' costs" in shown
    assert "more than 0.02 from the sum of its parts" in shown


def test_compare_tells_scripts_the_same() -> None:
    judges = page().payload["judges"]

    assert judges["agreement"]["value"] == 1
    assert judges["agreement"]["within"]["value"] == 1
    assert judges["agreement"]["by_task"].keys() == {f"task-{number}" for number in range(1, 7)}
    assert [(pair["first"]["name"], pair["second"]["name"], pair["bias"]["value"]) for pair in judges["pairs"]] == [
        ("mild", "strict", 0)
    ]
    assert judges["cost_usd"] == {"old": 12.5, "new": 12.0}
    assert [(judge["name"], sum(judge["invalid"].values())) for judge in judges["judges"]] == [
        ("mild", 0),
        ("strict", 1),
    ]


def test_a_verdict_shows_its_judges_too() -> None:
    (verdict,) = decide([COMPARISON], "composite", {})

    assert "agreement between judges" in text(verdict_report(verdict, COMPARISON, PolicySource.DEFAULT))


def test_without_judges_nothing_is_said_about_them() -> None:
    comparison = compare_arms(evidence_of(BEFORE, AFTER), "old", "new")
    report = comparison_report(
        comparison, infer(comparison, population=Population.TASKS, method=IntervalMethod.T, seed=0)
    )

    assert report.payload["judges"] is None
    assert "Judges" not in text(report)


def test_a_calibration_says_whether_the_judge_may_decide() -> None:
    runs = runs_of_arm("old", [[True, True, True]] * 12)
    task_of = {run.run_id: run.trial.task_id for run in runs}
    judged = [a_judgment(run, 0.3 * place % 1, judge="mild") for place, run in enumerate(runs)]
    labels = [
        HumanLabel(run_id=run.run_id, criterion=None, score=0.3 * place % 1, passed=None)
        for place, run in enumerate(runs)
    ]
    calibrations = calibrate(judged, labels, "0" * 64, tasks=task_of)

    met, missed = (text(calibration_report(calibrations, [demand])) for demand in (0.9, None))
    refused = calibration_report(calibrate(JUDGED[:2], LABELS[:1], "0" * 64, tasks=TASK_OF), [0.9, None])

    assert "mild: alpha within tasks 1.00, 0.9 required: it may decide" in met
    assert "the suite requires none" in missed
    assert "mild: alpha within tasks unknown, 0.9 required: it may not decide" in text(refused)
    assert "it may not decide: an alpha of 0.9 with human labels is required within tasks" in text(refused)
    assert refused.headline == "2 judges compared with people; 1 may not decide anything"
    assert refused.payload["schema"] == "outweigh.calibrations/1"


def test_preferences_are_shown_with_the_bias_for_a_place() -> None:
    answers = [
        a_preference(first, second, first_score=9.0, second_score=1.0)
        for old, new in zip(BEFORE, AFTER, strict=True)
        for first, second in ((old, new), (new, old))
    ]
    report = pairwise_report(compare_pairwise(answers, "old", "new"))

    assert "new against old, side by side: 12 pairs in both orders" in text(report)
    assert "100 %" in text(report)
    assert report.payload["judges"][0]["first_share"]["value"] == 1
