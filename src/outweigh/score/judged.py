"""What the judges say about one run: computed here from criterion scores, never taken from a judge's own total."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from outweigh.record.judgment import JudgeIdentity, Judgment
from outweigh.stats.quantity import Quantity, known, unknown


class PanelScore(NamedTuple):
    """The mean over judges of each judge's mean, and which judges gave a valid answer."""

    score: Quantity
    judges: frozenset[JudgeIdentity]


NOT_JUDGED = PanelScore(unknown("no valid judgment"), frozenset())


def judgment_score(judgment: Judgment) -> Quantity:
    """Σ weight·score / Σ weight over the criteria that apply."""
    if judgment.invalid_reason is not None:
        return unknown(f"invalid judgment: {judgment.invalid_reason}")
    applying = [(item.weight, item.score) for item in judgment.criteria if item.score is not None]
    weight = sum(item_weight for item_weight, _ in applying)
    if weight == 0:
        return unknown("no criterion with a weight applies")
    return known(sum(item_weight * score for item_weight, score in applying) / weight)


def panel_score(judgments: Iterable[Judgment]) -> PanelScore:
    """Average a judge's passes first, then the judges, so that an extra pass does not outvote a colleague."""
    passes: dict[JudgeIdentity, list[float]] = defaultdict(list)
    for judgment in judgments:
        if (score := judgment_score(judgment).value) is not None:
            passes[judgment.judge].append(score)
    if not passes:
        return NOT_JUDGED
    means = [sum(scores) / len(scores) for scores in passes.values()]
    return PanelScore(known(sum(means) / len(means)), frozenset(passes))
