"""The difference of two independent proportions."""

from math import sqrt

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.proportion import wilson_interval
from outweigh.stats.unknown import unknown_estimate

METHOD = "Newcombe's hybrid of two Wilson intervals"


def proportion_difference_interval(
    successes: int, n: int, reference_successes: int, reference_n: int, *, level: float, unit: Unit
) -> Estimate:
    """How far a proportion lies above its reference; it holds for few trials, and where all or none succeed."""
    mine = wilson_interval(successes, n, level=level, unit=unit)
    theirs = wilson_interval(reference_successes, reference_n, level=level, unit=unit)
    trials = n + reference_n
    if mine.point is None or theirs.point is None or mine.interval is None or theirs.interval is None:
        return unknown_estimate("one side has no trial", n=trials, unit=unit, method=METHOD, point=None)
    difference = mine.point - theirs.point
    below = sqrt((mine.point - mine.interval.low) ** 2 + (theirs.interval.high - theirs.point) ** 2)
    above = sqrt((mine.interval.high - mine.point) ** 2 + (theirs.point - theirs.interval.low) ** 2)
    return Estimate(
        point=difference,
        interval=Interval(low=difference - below, high=difference + above, level=level, method=METHOD),
        standard_error=None,
        n=trials,
        unit=unit,
        method=METHOD,
        warnings=(),
    )
