"""Which way a difference must point to count against the null hypothesis."""

from enum import StrEnum


class Alternative(StrEnum):
    """The direction of A minus B that a test looks for."""

    TWO_SIDED = "two-sided"
    GREATER = "greater"
    LESS = "less"


def combine_tails(lower: float, upper: float, alternative: Alternative) -> float:
    """The p-value from P(statistic <= observed) and P(statistic >= observed)."""
    if alternative is Alternative.GREATER:
        return upper
    if alternative is Alternative.LESS:
        return lower
    return min(1.0, 2 * min(lower, upper))
