"""Axes: round ticks on a linear or logarithmic scale, positions on it, and tick labels."""

from collections.abc import Callable, Sequence
from math import ceil, floor, log10

from msgspec import Struct

from outweigh.score.metrics import MetricUnit

AXIS_LEFT, AXIS_RIGHT = 4.0, 96.0
LOG_RATIO = 20.0
"""Figures that differ by such a factor are shown on a logarithmic axis."""

_MOST_TICKS = 8
_ROUND_STEPS = (1.0, 2.0, 5.0, 10.0)
# A little less than a whole step over is no reason for another one: 0.1 / 0.05 may be 2.0000000000000004.
_TOLERANCE = 1e-9
# Below this, a step of the axis could not be told from 0.
_SMALLEST_SIZE = 1e-290


class AxisScale(Struct, frozen=True, kw_only=True):
    """An axis. What lies beyond its ends is placed at them."""

    ticks: tuple[float, ...]
    log: bool = False
    left: float = AXIS_LEFT
    right: float = AXIS_RIGHT

    @property
    def low(self) -> float:
        """The first tick."""
        return self.ticks[0]

    @property
    def high(self) -> float:
        """The last tick."""
        return self.ticks[-1]

    def contains(self, value: float) -> bool:
        """Whether the value is on the axis."""
        return self.low <= value <= self.high

    def fraction(self, value: float) -> float:
        """How far along the axis the value lies, from 0 to 1."""
        clipped = min(self.high, max(self.low, value))
        if self.log:
            return log10(clipped / self.low) / log10(self.high / self.low)
        return (clipped - self.low) / (self.high - self.low)

    def percent(self, value: float) -> float:
        """Its place in percent of the width."""
        return self.left + (self.right - self.left) * self.fraction(value)

    def position(self, value: float) -> str:
        """Its place as SVG has it."""
        return f"{self.percent(value):.2f}%"

    def from_top(self, value: float, height: float) -> float:
        """Its place on an axis that points upwards, counted from the top."""
        return height * (1 - self.fraction(value))


def fit_axis(values: Sequence[float], *, left: float = AXIS_LEFT, right: float = AXIS_RIGHT) -> AxisScale:
    """Logarithmic where the values need it, linear from 0 else; for amounts, which are never negative."""
    if needs_log_axis(values):
        return log_axis(values, left=left, right=right)
    return linear_axis((0.0, *values), left=left, right=right)


def needs_log_axis(values: Sequence[float]) -> bool:
    """Whether the values lie so far apart that a linear axis would press most of them together."""
    return bool(values) and min(values) > 0 and max(values) / min(values) >= LOG_RATIO


def linear_axis(
    values: Sequence[float], *, left: float = AXIS_LEFT, right: float = AXIS_RIGHT, most: int = _MOST_TICKS
) -> AxisScale:
    """A linear axis that holds all values, with round ticks."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    size = max(abs(low), abs(high))
    if size < _SMALLEST_SIZE:
        low, high = 0.0, 1.0
    elif high - low <= _TOLERANCE * size:
        low, high = low - size / 10, high + size / 10
    step = _round_step((high - low) / (most - 1))
    first, last = floor(low / step + _TOLERANCE), ceil(high / step - _TOLERANCE)
    last = max(last, first + 1)
    return AxisScale(ticks=tuple(number * step for number in range(first, last + 1)), left=left, right=right)


def log_axis(values: Sequence[float], *, left: float = AXIS_LEFT, right: float = AXIS_RIGHT) -> AxisScale:
    """A logarithmic axis that holds all values, all above 0: powers of ten, with 2 and 5 between where they fit."""
    low, high = min(values), max(values)
    first, last = floor(log10(low) + _TOLERANCE), ceil(log10(high) - _TOLERANCE)
    last = max(last, first + 1)
    fine = (1.0, 2.0, 5.0) if last - first <= 2 else (1.0, 3.0) if last - first <= 3 else (1.0,)
    ticks = [number * 10.0**power for power in range(first, last + 1) for number in fine]
    start = max((tick for tick in ticks if tick <= low * (1 + _TOLERANCE)), default=ticks[0])
    end = min((tick for tick in ticks if tick >= high * (1 - _TOLERANCE) and tick > start), default=ticks[-1])
    return AxisScale(ticks=tuple(tick for tick in ticks if start <= tick <= end), log=True, left=left, right=right)


def _round_step(least: float) -> float:
    power: float = 10.0 ** floor(log10(least))
    return next(number * power for number in _ROUND_STEPS if number * power >= least * (1 - _TOLERANCE))


def percent_tick(value: float | None) -> str:
    """A share of one."""
    return f"{100 * (value or 0.0):.4g} %"


def dollar_tick(value: float | None) -> str:
    """An amount of money."""
    return f"${value or 0.0:,.4g}" if (value or 0.0) < 1e4 else f"${value:,.0f}"


def second_tick(value: float | None) -> str:
    """A duration."""
    return f"{plain_tick(value)} s"


def plain_tick(value: float | None) -> str:
    """Any other number, large ones by the thousand or the million."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value or 0.0) >= size:
            unit = 1e3 if letter == "k" else size
            return f"{(value or 0.0) / unit:.4g}{letter}"
    return f"{value or 0.0:,.4g}"


UNIT_TICKS: dict[MetricUnit, Callable[[float | None], str]] = {
    "share": percent_tick,
    "score": plain_tick,
    "dollars": dollar_tick,
    "seconds": second_tick,
    "count": plain_tick,
}
"""How the numbers along an axis are written."""
