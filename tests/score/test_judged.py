import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.model.judgment import CriterionScore, Grading
from outweigh.score.judge_scores import judged_outcome, judgment_score, panel_score
from outweigh.testing.builders import a_judgment, a_run

RUN = a_run()


def criterion(weight: float, score: float | None) -> CriterionScore:
    return CriterionScore(criterion="c", weight=weight, score=score, evidence=None)


def test_the_score_is_the_weighted_mean_of_the_criteria_that_apply() -> None:
    judgment = a_judgment(RUN, criteria=(criterion(3, 1.0), criterion(1, 0.0), criterion(5, None)))

    assert judgment_score(judgment).value == pytest.approx(0.75)


def test_the_judges_own_total_is_never_used() -> None:
    assert judgment_score(a_judgment(RUN, 0.2, stated_total=0.9)).value == pytest.approx(0.2)


@pytest.mark.parametrize("criteria", [(), (criterion(1, None),), (criterion(0, 1.0),)])
def test_without_a_criterion_that_applies_there_is_no_score(criteria: tuple[CriterionScore, ...]) -> None:
    assert judgment_score(a_judgment(RUN, criteria=criteria)).value is None


def test_an_invalid_judgment_is_absent_not_zero() -> None:
    good, bad = a_judgment(RUN, 0.9), a_judgment(RUN, 0.0, judge="other", invalid_reason="refused")

    assert panel_score([good, bad]).score.value == pytest.approx(0.9)
    assert {judge_count.judge.name for judge_count in panel_score([good, bad]).judge_counts} == {"judge"}
    assert panel_score([bad]).score.value is None


def test_extra_passes_of_one_judge_do_not_outvote_another() -> None:
    panel = [a_judgment(RUN, 1.0, pass_index=1), a_judgment(RUN, 1.0, pass_index=2), a_judgment(RUN, 0.0, judge="b")]

    assert panel_score(panel).score.value == pytest.approx(0.5)


@given(st.lists(st.tuples(st.floats(0.01, 10), st.floats(0, 1)), min_size=1, max_size=10))
def test_a_score_stays_between_its_criteria(pairs: list[tuple[float, float]]) -> None:
    score = judgment_score(a_judgment(RUN, criteria=tuple(criterion(*pair) for pair in pairs))).value

    assert score is not None
    assert min(s for _, s in pairs) - 1e-9 <= score <= max(s for _, s in pairs) + 1e-9


@pytest.mark.parametrize(
    ("score", "passed"), [(0.6, True), (0.1 + 0.2 + 0.3 - 1e-12, True), (0.599, False), (1.0, True)]
)
def test_a_score_at_the_threshold_of_its_rubric_passes(score: float, passed: bool) -> None:
    grading = Grading(pass_threshold=0.6, grade_scale="none")

    assert judged_outcome(a_judgment(RUN, score, grading=grading)).passed is passed
    assert judged_outcome(a_judgment(RUN, score)).passed is None
    assert judged_outcome(a_judgment(RUN, score, grading=grading, invalid_reason="refused")).passed is None
