"""Which of two runs an answer prefers: computed here from its parts, never taken from the judge's own choice."""

from outweigh.record.preference import Choice, Preference
from outweigh.stats.quantity import Quantity, known, unknown

_SIGNS = {Choice.FIRST: 1.0, Choice.SECOND: -1.0, Choice.TIE: 0.0}


def lean(preference: Preference) -> Quantity:
    """How far an answer leans to the run that was shown first; below 0 it leans to the second.

    From choices: Σ weight·(+1, 0, -1) / Σ weight over the criteria that apply. From scores: their difference.
    """
    if preference.invalid_reason is not None:
        return unknown(f"invalid answer: {preference.invalid_reason}")
    if preference.first_score is not None and preference.second_score is not None:
        return known(preference.first_score - preference.second_score)
    applying = [(item.weight, _SIGNS[item.choice]) for item in preference.criteria if item.choice is not None]
    weight = sum(item_weight for item_weight, _ in applying)
    if weight == 0:
        return unknown("no criterion with a weight applies")
    return known(sum(item_weight * sign for item_weight, sign in applying) / weight)
