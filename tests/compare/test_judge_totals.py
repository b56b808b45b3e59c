import numpy as np
import pytest
from scipy import stats

from outweigh.compare.judge_calls import JudgeCallFact, judge_call_fact
from outweigh.compare.judge_totals import StatedAgreement, compare_totals
from outweigh.stats.agreement import MeasurementScale, krippendorff_alpha
from outweigh.testing.builders import a_judgment, a_run


def calls(judge: str, totals: list[float | None], pass_index: int = 1) -> list[JudgeCallFact]:
    """What a judge stated about run after run, two runs to a task; None where it gave no answer."""
    return [
        judge_call_fact(
            a_judgment(a_run(f"task-{number // 2}", repeat=number % 2), 0.5, judge=judge, stated_total=total),
            f"task-{number // 2}",
        )._replace(run_id=f"run-{number}", pass_index=pass_index)
        for number, total in enumerate(totals)
        if total is not None
    ]


def compared(*facts: list[JudgeCallFact]) -> StatedAgreement:
    found = compare_totals(fact for each in facts for fact in each)
    assert found is not None
    return found


ONE: list[float | None] = [0.96, 0.71, 0.55, 0.96, 0.3]
OTHER: list[float | None] = [0.9, 0.8, 0.4, 0.8, 0.35]


def test_two_judges_are_compared_as_scipy_does() -> None:
    (pair,) = compared(calls("a", ONE), calls("b", OTHER)).pairs

    assert (pair.first, pair.second, pair.runs) == ("a", "b", 5)
    assert pair.spearman == pytest.approx(stats.spearmanr(ONE, OTHER).statistic)
    assert pair.pearson == pytest.approx(stats.pearsonr(ONE, OTHER).statistic)
    assert pair.mean_absolute_difference == pytest.approx(0.102)


def test_alpha_is_of_all_judges_over_all_runs() -> None:
    third: list[float | None] = [None, 0.7, 0.6, None, 0.1]
    ratings = np.array([ONE, OTHER, third], dtype=float)
    tasks = [f"task-{number // 2}" for number in range(5)]

    found = compared(calls("a", ONE), calls("b", OTHER), calls("c", third))

    assert found.alpha == krippendorff_alpha(ratings, tasks, scale=MeasurementScale.INTERVAL, level=0.9).point
    assert [pair.runs for pair in found.pairs] == [5, 3, 3]


def test_a_judge_that_is_asked_again_is_another_rater() -> None:
    (pair,) = compared(calls("a", ONE), calls("a", OTHER, pass_index=2)).pairs

    assert (pair.first, pair.second) == ("a", "a, pass 2")


def test_judges_without_variation_have_no_correlation() -> None:
    (pair,) = compared(calls("a", [0.5, 0.5]), calls("b", [0.4, 0.6])).pairs

    assert (pair.spearman, pair.pearson) == (None, None)
    assert pair.mean_absolute_difference == pytest.approx(0.1)


def test_judges_that_share_no_run_are_not_compared() -> None:
    (pair,) = compared(calls("a", [0.5, None]), calls("b", [None, 0.6])).pairs

    assert (pair.runs, pair.mean_absolute_difference) == (0, None)


def test_one_judge_or_no_stated_total_is_no_agreement() -> None:
    replaced = [fact._replace(replaced=True) for fact in calls("b", OTHER)]

    assert compare_totals(calls("a", ONE)) is None
    assert compare_totals([*calls("a", ONE), *replaced]) is None
