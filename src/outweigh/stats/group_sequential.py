"""Planned looks at growing data: Lan-DeMets boundaries with O'Brien-Fleming spending.

Between looks the score moves by a normal step, so its law among the paths that have not stopped yet is carried from
look to look by numerical integration (Armitage, McPherson and Rowe).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.special import normal_cdf, normal_quantile

Floats = NDArray[np.float64]

_FAR = 40.0  # standard deviations beyond which a normal tail is zero in doubles
_BULK = 9.0  # standard deviations that hold all of a normal law but 1e-19


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One planned look: stop when the z statistic is at or beyond `z` (on either side when two-sided)."""

    information: float
    z: float
    nominal_p: float
    alpha_spent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Survivors:
    """The density of the score among the paths that have not stopped, on integration nodes."""

    scores: Floats
    masses: Floats
    information: float


def spend_obrien_fleming(information: float, alpha: float) -> float:
    """Return the one-sided error that may be spent by this fraction of the information: 2 − 2Φ(z_{α/2} / √t)."""
    if information <= 0:
        return 0.0
    return 2 * normal_cdf(normal_quantile(alpha / 2) / math.sqrt(min(information, 1.0)))


def plan_looks(information: Sequence[float], alpha: float = 0.05, *, two_sided: bool = True) -> tuple[Look, ...]:
    """Return the boundary of each look at increasing fractions of the planned information.

    Two-sided plans spend half of alpha on each side; a last fraction below 1 leaves the rest of alpha unspent.
    """
    _check_information(information)
    looks: list[Look] = []
    survivors = _Survivors(scores=np.zeros(1), masses=np.ones(1), information=0.0)
    sides = 2 if two_sided else 1
    spent = 0.0
    for fraction in information:
        target = spend_obrien_fleming(fraction, alpha / sides)
        z = _solve_boundary(survivors, fraction, (target - spent) * sides, two_sided)
        spent = target
        looks.append(_look(fraction, z, spent * sides, sides))
        survivors = _advance(survivors, fraction, z, two_sided)
    return tuple(looks)


def _look(fraction: float, z: float, spent: float, sides: int) -> Look:
    return Look(information=fraction, z=z, nominal_p=sides * normal_cdf(-z), alpha_spent=spent)


def _solve_boundary(survivors: _Survivors, information: float, spend: float, two_sided: bool) -> float:
    """Find by bisection the z that lets just `spend` of the paths stop at this look."""
    low, high = 0.0 if two_sided else -_FAR, _FAR
    while high - low > 1e-10:
        middle = (low + high) / 2
        if _stopping_probability(survivors, information, middle, two_sided) > spend:
            low = middle
        else:
            high = middle
    return high


def _stopping_probability(survivors: _Survivors, information: float, z: float, two_sided: bool) -> float:
    edge, step = z * math.sqrt(information), math.sqrt(information - survivors.information)
    upper = _upper_tails((edge - survivors.scores) / step)
    lower = _upper_tails((edge + survivors.scores) / step) if two_sided else 0.0
    return float(survivors.masses @ (upper + lower))


def _advance(survivors: _Survivors, information: float, z: float, two_sided: bool) -> _Survivors:
    """Carry the density to the next look and cut off what has stopped there."""
    scale, step = math.sqrt(information), math.sqrt(information - survivors.information)
    top = min(z, _BULK) * scale
    bottom = -top if two_sided else -_BULK * scale
    # The density is as smooth as one step is wide: a few nodes per step integrate it to rounding.
    nodes, weights = np.polynomial.legendre.leggauss(min(600, 64 + math.ceil(4 * (top - bottom) / step)))
    scores = (top + bottom) / 2 + (top - bottom) / 2 * nodes
    gaps = (scores[:, None] - survivors.scores) / step
    density = np.exp(-(gaps**2) / 2) @ survivors.masses / (step * math.sqrt(2 * math.pi))
    return _Survivors(scores=scores, masses=density * weights * (top - bottom) / 2, information=information)


def _upper_tails(z: Floats) -> Floats:
    return np.fromiter((normal_cdf(-value) for value in z.tolist()), dtype=np.float64, count=len(z))


def _check_information(information: Sequence[float]) -> None:
    steps = np.diff([0.0, *information])
    if len(steps) == 0 or not (steps > 0).all() or information[-1] > 1:
        raise ValueError(f"information fractions must increase within (0, 1], not {list(information)}")
