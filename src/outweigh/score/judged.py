"""What one judgment says about a run: computed here from criterion scores, never taken from a judge's own total."""

from outweigh.record.judgment import Judgment
from outweigh.stats.quantity import Quantity, known, unknown

NOTABLE_GAP = 0.02
"""A stated total that is further from the sum of its parts than this is reported."""


def judgment_score(judgment: Judgment) -> Quantity:
    """Σ weight·score / Σ weight over the criteria that apply."""
    if judgment.invalid_reason is not None:
        return unknown(f"invalid judgment: {judgment.invalid_reason}")
    applying = [(item.weight, item.score) for item in judgment.criteria if item.score is not None]
    weight = sum(item_weight for item_weight, _ in applying)
    if weight == 0:
        return unknown("no criterion with a weight applies")
    return known(sum(item_weight * score for item_weight, score in applying) / weight)


def stated_gap(judgment: Judgment) -> Quantity:
    """How far the judge's own total lies above the sum of its parts."""
    score = judgment_score(judgment)
    if score.value is None:
        return score
    if judgment.stated_total is None:
        return unknown("the judge stated no total")
    return known(judgment.stated_total - score.value)
