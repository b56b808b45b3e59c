"""What a rubric makes of a judgment: a score, whether it passes, and a letter. All of it is computed here."""

from typing import NamedTuple

from outweigh.record.judgment import Judgment
from outweigh.score.grade import SCALES, grade
from outweigh.score.judged import judgment_score
from outweigh.stats.quantity import Quantity


class JudgedOutcome(NamedTuple):
    """`passed` and `letter` are None where the score is unknown, or the rubric's grading is not recorded."""

    score: Quantity
    passed: bool | None
    letter: str | None


def judged_outcome(judgment: Judgment) -> JudgedOutcome:
    """judge_score ≥ pass_threshold, and the letter of the rubric's scale."""
    score, grading = judgment_score(judgment), judgment.grading
    if score.value is None or grading is None:
        return JudgedOutcome(score, None, None)
    # .6 of a hundred items may come out as .5999999999999999; that dust must not cost a pass.
    passed = round(score.value - grading.pass_threshold, 9) >= 0
    scale = SCALES.get(grading.grade_scale)
    return JudgedOutcome(score, passed, None if scale is None else grade(score.value, scale))
