"""What every statistic returns: a number with its uncertainty, or the reason why it is unknown. Needs no numpy, so
that records and scores can use it cheaply.
"""

from enum import StrEnum

from msgspec import Struct


class Quantity(Struct, frozen=True, gc=False):
    """Either a value or the reason why there is none; never both, never neither."""

    value: float | None
    reason: str | None


def known(value: float) -> Quantity:
    """Wrap a number that was measured or computed."""
    return Quantity(value, None)


def unknown(reason: str) -> Quantity:
    """Stand in for a number that cannot be known."""
    return Quantity(None, reason)


class Unit(StrEnum):
    """What was counted as one independent observation."""

    TASK = "task"
    RUN = "run"
    PAIR = "pair"
    CLUSTER = "cluster"
    ITEM = "item"


class Interval(Struct, frozen=True, kw_only=True):
    """A confidence interval; an infinite end means that the data cannot bound that side."""

    low: float
    high: float
    level: float
    method: str


def excludes(interval: Interval | None, value: float) -> bool:
    """Whether the interval lies wholly on one side of the value; an unknown interval or a NaN excludes nothing."""
    return interval is not None and (interval.low > value or interval.high < value)


class Estimate(Struct, frozen=True, kw_only=True):
    """A point with its interval. `None` means it cannot be known, and `warnings` says why."""

    point: float | None
    interval: Interval | None
    standard_error: float | None
    n: int
    unit: Unit
    method: str
    warnings: tuple[str, ...]


class Significance(Struct, frozen=True, kw_only=True):
    """A p-value with what it was computed from. `None` means it cannot be known, and `warnings` says why."""

    p_value: float | None
    statistic: float | None
    n: int
    unit: Unit
    method: str
    warnings: tuple[str, ...]


def unknown_estimate(reason: str, *, n: int, unit: Unit, method: str, point: float | None) -> Estimate:
    """An estimate without an interval; `point` is given where the data at least show one."""
    return Estimate(point=point, interval=None, standard_error=None, n=n, unit=unit, method=method, warnings=(reason,))


def unknown_significance(reason: str, *, n: int, unit: Unit, method: str) -> Significance:
    """A test that could not be made; its missing p-value is not evidence of anything."""
    return Significance(p_value=None, statistic=None, n=n, unit=unit, method=method, warnings=(reason,))


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
