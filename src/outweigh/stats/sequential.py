"""Looking more than once: confidence sequences that hold at every look, and group-sequential boundaries for planned
looks.

The confidence sequence inverts a normal mixture martingale with the running standard deviation. The boundaries are
Lan-DeMets with a spending function of choice, by numerical integration from look to look (Armitage, McPherson and
Rowe).
"""

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from outweigh.stats.distributions import normal_cdf, normal_quantile

Floats = NDArray[np.float64]


def tune_normal_mixture(best_at: float, alpha: float) -> float:
    """Return the mixture's precision rho that makes the two-sided boundary tightest at variance time `best_at`."""
    return best_at / (-2 * math.log(alpha) + math.log1p(-2 * math.log(alpha)))


def log_normal_mixture(total: float, variance_time: float, rho: float) -> float:
    """Return the log of the normal mixture martingale for a centred sum with that accumulated variance."""
    spread = variance_time + rho
    return 0.5 * math.log(rho / spread) + total**2 / (2 * spread)


def normal_mixture_bound(variance_time: ArrayLike, rho: float, alpha: float) -> Floats:
    """Return how far a centred sum may stray on either side, ever, except with probability alpha."""
    spread = np.asarray(variance_time, dtype=np.float64) + rho
    bound: Floats = np.sqrt(spread * (np.log(spread / rho) - 2 * math.log(alpha)))
    return bound


def confidence_path(deltas: ArrayLike, planned_tasks: int, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the ends of the sequence after each task; NaN until the deltas seen so far vary."""
    values = np.asarray(deltas, dtype=np.float64)
    seen = np.arange(1, len(values) + 1)
    rho = tune_normal_mixture(planned_tasks, 1 - level)
    radius = _running_deviations(values) * normal_mixture_bound(seen, rho, 1 - level) / seen
    means = np.cumsum(values) / seen
    return means - radius, means + radius


def _running_deviations(values: Floats) -> Floats:
    """Return the sample standard deviation of the first n values for every n."""
    seen = np.arange(1, len(values) + 1)
    centred = values - values.mean() if len(values) else values
    squares = np.cumsum(centred**2)
    excess = squares - np.cumsum(centred) ** 2 / seen
    varies = excess > 1e-12 * squares
    deviations = np.full(len(values), np.nan)
    deviations[varies] = np.sqrt(excess[varies] / (seen[varies] - 1))
    return deviations


SpendingFunction = Callable[[float, float], float]
"""The one-sided error that may be spent by a fraction of the information, given the error of the whole plan."""

_FAR = 40.0  # standard deviations beyond which a normal tail is zero in doubles
_BULK = 9.0  # standard deviations that hold all of a normal law but 1e-19


class PlannedLook(Struct, frozen=True, kw_only=True):
    """One planned look: stop when the z statistic is at or beyond `z` (on either side when two-sided)."""

    information: float
    z: float
    nominal_p: float
    alpha_spent: float


class _Survivors(Struct, frozen=True, kw_only=True):
    """The density of the score among the paths that have not stopped, on integration nodes."""

    scores: Floats
    masses: Floats
    information: float


def spend_obrien_fleming(information: float, alpha: float) -> float:
    """Return the one-sided error that may be spent by this fraction of the information: 2 − 2Φ(z_{α/2} / √t)."""
    if information <= 0:
        return 0.0
    return 2 * normal_cdf(normal_quantile(alpha / 2) / math.sqrt(min(information, 1.0)))


def spend_power(exponent: float) -> SpendingFunction:
    """Return the power family of Kim and DeMets: α tᵉ. A larger exponent keeps more of the error for late looks."""

    def spend(information: float, alpha: float) -> float:
        return float(alpha * min(max(information, 0.0), 1.0) ** exponent)

    return spend


def plan_looks(
    information: Sequence[float],
    alpha: float = 0.05,
    *,
    two_sided: bool = True,
    spending: SpendingFunction = spend_obrien_fleming,
) -> tuple[PlannedLook, ...]:
    """Return the boundary of each look at increasing fractions of the planned information.

    Two-sided plans spend half of alpha on each side; a last fraction below 1 leaves the rest of alpha unspent.
    """
    _check_information(information)
    looks: list[PlannedLook] = []
    survivors = _Survivors(scores=np.zeros(1), masses=np.ones(1), information=0.0)
    sides = 2 if two_sided else 1
    spent = 0.0
    for fraction in information:
        target = spending(fraction, alpha / sides)
        z = _solve_boundary(survivors, fraction, (target - spent) * sides, two_sided)
        spent = target
        looks.append(_look(fraction, z, spent * sides, sides))
        survivors = _advance(survivors, fraction, z, two_sided)
    return tuple(looks)


def _look(fraction: float, z: float, spent: float, sides: int) -> PlannedLook:
    return PlannedLook(information=fraction, z=z, nominal_p=sides * normal_cdf(-z), alpha_spent=spent)


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
    nodes, weights = _fejer_rule(min(600, 64 * math.ceil(1 + (top - bottom) / step / 16)))
    scores = (top + bottom) / 2 + (top - bottom) / 2 * nodes
    gaps = (scores[:, None] - survivors.scores) / step
    density = np.exp(-(gaps**2) / 2) @ survivors.masses / (step * math.sqrt(2 * math.pi))
    return _Survivors(scores=scores, masses=density * weights * (top - bottom) / 2, information=information)


@cache
def _fejer_rule(nodes: int) -> tuple[Floats, Floats]:
    """Nodes and weights on [-1, 1], dense near the ends; nearly as exact as Gauss's rule and far quicker to find."""
    angles = (2 * np.arange(nodes) + 1) * math.pi / (2 * nodes)
    orders = np.arange(1, nodes // 2 + 1)
    weights = 2 / nodes * (1 - 2 * (np.cos(2 * np.outer(angles, orders)) / (4 * orders**2 - 1)).sum(axis=1))
    return np.cos(angles), weights


def _upper_tails(z: Floats) -> Floats:
    return np.fromiter((normal_cdf(-value) for value in z.tolist()), dtype=np.float64, count=len(z))


def _check_information(information: Sequence[float]) -> None:
    steps = np.diff([0.0, *information])
    if len(steps) == 0 or not (steps > 0).all() or information[-1] > 1:
        raise ValueError(f"information fractions must increase within (0, 1], not {list(information)}")
