"""The difference of two success rates on the same pairs, from the pairs that only one arm won."""

import math
from collections.abc import Callable

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.special import normal_quantile
from outweigh.stats.unknown import unknown_estimate

_METHOD = "paired difference of rates, Tango score"


def paired_difference_interval(wins: int, losses: int, n: int, *, level: float, unit: Unit) -> Estimate:
    """(wins - losses) / n with Tango's score interval, which keeps a width even when nobody won a pair."""
    if n == 0:
        return unknown_estimate("no pairs", n=0, unit=unit, method=_METHOD, point=None)
    if min(wins, losses) < 0 or wins + losses > n:
        raise ValueError(f"{wins} wins and {losses} losses of {n} pairs is impossible")
    z = normal_quantile((1 + level) / 2)
    point = (wins - losses) / n
    high = _upper_end(wins, losses, n, z)
    low = -_upper_end(losses, wins, n, z)
    variance = (wins + losses - (wins - losses) ** 2 / n) / n**2
    return Estimate(
        point=point,
        interval=Interval(low=low, high=high, level=level, method="Tango score"),
        standard_error=math.sqrt(variance) if wins + losses > 0 and abs(wins - losses) < n else None,
        n=n,
        unit=unit,
        method=_METHOD,
        warnings=(),
    )


def _upper_end(wins: int, losses: int, n: int, z: float) -> float:
    """The largest difference that the score test does not reject."""
    point = (wins - losses) / n
    if point == 1:
        return 1.0
    return _bisect(lambda difference: _score(wins, losses, n, difference) > -z, point, 1.0)


def _score(wins: int, losses: int, n: int, difference: float) -> float:
    """Standardised distance of the observed from a supposed difference, given the likeliest loss rate under it."""
    a = 2 * n
    b = -wins - losses + (2 * n - wins + losses) * difference
    c = -losses * difference * (1 - difference)
    loss_rate = (math.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)
    variance = n * (2 * loss_rate + difference * (1 - difference))
    distance = wins - losses - n * difference
    return distance / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, distance)


def _bisect(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where a condition that holds at `inside` stops holding on the way to `outside`."""
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside
