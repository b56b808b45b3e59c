"""Several passes of one judge over one run: what they say together, and whether one more is wanted."""

from collections.abc import Sequence
from enum import StrEnum
from statistics import mean, median, pvariance

from outweigh.record.judgment import Judgment
from outweigh.score.judged import judgment_score
from outweigh.stats.quantity import Quantity, known, unknown

MOST_PASSES = 5
MOST_VARIANCE = 0.15
MOST_RANGE = 0.3
LEAST_CONFIDENCE = 0.6


class Consensus(StrEnum):
    """How a judge's passes become one score."""

    MEAN = "mean"
    MEDIAN = "median"
    CONFIDENCE = "confidence"


def consensus(judgments: Sequence[Judgment], kind: Consensus = Consensus.MEAN) -> Quantity:
    """One judge's score of one run. An invalid pass is absent; it is never a zero."""
    passes = _valid(judgments)
    if not passes:
        return unknown("no valid judgment")
    scores = [score for score, _ in passes]
    if kind is Consensus.MEDIAN:
        return known(median(scores))
    weights = [confidence for _, confidence in passes if confidence is not None]
    # A pass without a confidence cannot be weighed against the others, and confidences of 0 weigh nothing.
    if kind is Consensus.CONFIDENCE and len(weights) == len(scores) and sum(weights) > 0:
        return known(sum(weight * score for weight, score in zip(weights, scores, strict=True)) / sum(weights))
    return known(mean(scores))


def wants_another_pass(judgments: Sequence[Judgment]) -> bool:
    """Whether one judge's passes over one run disagree or doubt so much that it should be asked again.

    After five passes, however they ended, it has had its say; and where none could be used, more of them are no help.
    """
    passes = _valid(judgments)
    if not passes or len(judgments) >= MOST_PASSES:
        return False
    scores = [score for score, _ in passes]
    confidences = [confidence for _, confidence in passes if confidence is not None]
    unsure = bool(confidences) and mean(confidences) < LEAST_CONFIDENCE
    return unsure or _exceeds(max(scores) - min(scores), MOST_RANGE) or _exceeds(pvariance(scores), MOST_VARIANCE)


def _valid(judgments: Sequence[Judgment]) -> list[tuple[float, float | None]]:
    """Score and confidence of every pass that can be used."""
    return [
        (score, judgment.confidence) for judgment in judgments if (score := judgment_score(judgment).value) is not None
    ]


def _exceeds(value: float, limit: float) -> bool:
    """Strictly, and not by the dust of floating point: .8 - .5 is not more than .3."""
    return round(value - limit, 9) > 0
