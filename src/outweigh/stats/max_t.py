"""Several contrasts at once: the max-t method from one bootstrap of the units (tasks, or families of tasks).

In goes, for every contrast, its estimate and its influence values: one number per unit, whose mean is the estimate
(for a mean of task deltas, the deltas themselves) or zero (for a ratio, what each unit adds to its error). Units are
rows, contrasts are columns, and all contrasts are measured on the same units, so that what they have in common counts.

Out come standard errors, t statistics, one critical value that makes all intervals hold together at the level asked,
and p-values adjusted by stepping down (Romano and Wolf), with Holm's beside them as a check.

With few units a bootstrap of the largest t is too narrow, because resampling does not vary the standard error as new
units would. So the draws are standardised by their own known spread, which gives a largest *normal* deviate, and an
observed t is compared with it at equal tail probability under Student's law with n - 1 degrees of freedom. Skewed
contrasts still reach further than their draws, because few units show little of a tail. So chances are moved towards
Bonferroni's bound and Holm's p-values, which do not rest on draws: by 8/n, and up to eight units all the way.
"""

import math

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from outweigh.stats.bootstrap import bootstrap_means
from outweigh.stats.distributions import normal_quantile, normal_sf, t_quantile, t_sf
from outweigh.stats.estimate import Interval
from outweigh.stats.hypothesis_tests import adjust_holm
from outweigh.stats.sample import ROUNDING_ERROR

Floats = NDArray[np.float64]

METHOD = "max-t, bootstrap over units"
FEW_UNITS_METHOD = "Bonferroni, Student t"
_FEWEST_UNITS = 2
_UNITS_WITHOUT_TAILS = 8
"""With so many units or fewer, draws show nothing of the tails."""
_SMALLEST_SCALE = 1e-300
_HALVINGS = 40


class Contrast(Struct, frozen=True, kw_only=True):
    """One contrast among several.

    `interval` holds by itself, `simultaneous` together with those of all other contrasts. `p_value` is of this contrast
    alone, `adjusted` by max-t over all, `holm` by Holm's method. What is None cannot be known, and `reason` says why.
    """

    estimate: float | None
    standard_error: float | None
    t: float | None
    interval: Interval | None
    simultaneous: Interval | None
    p_value: float | None
    adjusted: float | None
    holm: float | None
    reason: str | None = None

    @property
    def is_positive(self) -> bool:
        """Whether the estimate is known and above zero."""
        return self.estimate is not None and self.estimate > 0


class MaxT(Struct, frozen=True, kw_only=True):
    """All contrasts in the order in which they were given, and the critical value of their largest t."""

    contrasts: tuple[Contrast, ...]
    critical: float | None
    units: int
    level: float


def max_t(
    estimates: ArrayLike, influences: ArrayLike, *, level: float = 0.95, draws: int = 10_000, seed: int = 0
) -> MaxT:
    """Intervals and tests (against zero) of several contrasts that hold together.

    `estimates` has one number per contrast, `influences` has units × contrasts. A contrast whose influences do not vary
    has no standard error; it has no interval and takes no part in the largest t.
    """
    points = np.atleast_1d(np.asarray(estimates, dtype=np.float64))
    if not points.size:
        return MaxT(contrasts=(), critical=None, units=len(np.atleast_2d(influences)), level=level)
    table = np.asarray(influences, dtype=np.float64).reshape(-1, points.size)
    units = len(table)
    if not np.isfinite(table).all() or not np.isfinite(points).all():
        raise ValueError("estimates and influences are finite numbers")
    if units < _FEWEST_UNITS:
        return _without_spread(points, units, level)
    errors = table.std(axis=0, ddof=1) / math.sqrt(units)
    varies = errors > ROUNDING_ERROR * np.maximum(np.abs(table).max(axis=0), _SMALLEST_SCALE)
    if not varies.any():
        return _without_spread(points, units, level)
    t_values = points[varies] / errors[varies]
    alone = [2 * t_sf(abs(t), units - 1) for t in t_values.tolist()]
    by_holm = adjust_holm(alone).tolist()
    if units <= _UNITS_WITHOUT_TAILS:
        adjusted, method = by_holm, FEW_UNITS_METHOD
        critical = t_quantile(1 - (1 - level) / (2 * len(alone)), units - 1)
    else:
        deviates, method = _absolute_deviates(table[:, varies], draws, seed), METHOD
        critical = _critical(deviates, units, level)
        adjusted = _mixed(_step_down(t_values, deviates, units), by_holm, units)
    tested = iter(zip(t_values.tolist(), alone, np.maximum(adjusted, alone).tolist(), by_holm, strict=True))
    contrasts = []
    for point, error, known in zip(points.tolist(), errors.tolist(), varies.tolist(), strict=True):
        if not known:
            contrasts.append(_constant(point, units))
            continue
        t, p_value, together, holm = next(tested)
        contrasts.append(
            Contrast(
                estimate=point,
                standard_error=error,
                t=t,
                interval=_interval(point, error, t_quantile((1 + level) / 2, units - 1), level, "Student t"),
                simultaneous=_interval(point, error, critical, level, method),
                p_value=p_value,
                adjusted=together,
                holm=holm,
            )
        )
    return MaxT(contrasts=tuple(contrasts), critical=critical, units=units, level=level)


def _absolute_deviates(table: Floats, draws: int, seed: int) -> Floats:
    """The means of every draw as absolute deviations from the means of the data, in units of the bootstrap's spread."""
    centred = table - table.mean(axis=0)
    spread = centred.std(axis=0) / math.sqrt(len(table))
    scaled: Floats = np.abs(bootstrap_means(centred / spread, draws, seed))
    return scaled


def _mixed(by_draws: ArrayLike, by_bound: ArrayLike, units: int) -> Floats:
    """Chances by the draws and by a bound that does without them, the more of the bound the fewer units there are."""
    share = _UNITS_WITHOUT_TAILS / units
    return share * np.asarray(by_bound) + (1 - share) * np.asarray(by_draws)


def _critical(deviates: Floats, units: int, level: float) -> float:
    """The t that the largest of all contrasts exceeds with a chance of 1 - level, found by halving."""
    draws, contrasts = deviates.shape
    largest = np.sort(deviates.max(axis=1))
    low, high = 0.0, -normal_quantile((1 - level) / (2 * contrasts))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = (1 + draws - int(np.searchsorted(largest, middle))) / (1 + draws)
        if float(_mixed(reached, 2 * contrasts * normal_sf(middle), units)) > 1 - level:
            low = middle
        else:
            high = middle
    return -t_quantile(normal_sf(high), units - 1)


def _step_down(t_values: Floats, deviates: Floats, units: int) -> Floats:
    """Adjusted p-values, from the largest t down: each is compared with the largest deviate of those not yet passed."""
    observed = np.array([-normal_quantile(t_sf(abs(t), units - 1)) for t in t_values.tolist()])
    order = np.argsort(-observed, kind="stable")
    # The largest deviate of this contrast and of all with a smaller t, for every draw.
    largest = np.maximum.accumulate(deviates[:, order[::-1]], axis=1)[:, ::-1]
    reached = (largest >= observed[order]).sum(axis=0)
    steps = np.maximum.accumulate((1 + reached) / (1 + len(deviates)))
    adjusted = np.empty_like(steps)
    adjusted[order] = steps
    return adjusted


def _interval(point: float, error: float, quantile: float, level: float, method: str) -> Interval:
    return Interval(low=point - quantile * error, high=point + quantile * error, level=level, method=method)


def _without_spread(points: Floats, units: int, level: float) -> MaxT:
    contrasts = tuple(_constant(point, units) for point in points.tolist())
    return MaxT(contrasts=contrasts, critical=None, units=units, level=level)


def _constant(point: float, units: int) -> Contrast:
    few = units < _FEWEST_UNITS
    return Contrast(
        estimate=point,
        standard_error=None,
        t=None,
        interval=None,
        simultaneous=None,
        p_value=None,
        adjusted=None,
        holm=None,
        reason=(
            f"an interval needs at least {_FEWEST_UNITS} units, not {units}"
            if few
            else f"all {units} units have the same value, so the data do not show how far it could be off"
        ),
    )
