"""From a figure to its place on a chart: round ticks, linear or logarithmic."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

LEFT, RIGHT = 4.0, 96.0
WIDE = 20.0
"""Figures that differ by such a factor are shown on a logarithmic axis."""

_MOST_TICKS = 8
_ROUND = (1.0, 2.0, 5.0, 10.0)
# A little less than a whole step over is no reason for another one: 0.1 / 0.05 may be 2.0000000000000004.
_DUST = 1e-9
# Below this, a step of the axis could not be told from 0.
_NOTHING = 1e-290


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """An axis. What lies beyond its ends is placed at them."""

    ticks: tuple[float, ...]
    log: bool = False
    left: float = LEFT
    right: float = RIGHT

    @property
    def low(self) -> float:
        """The first tick."""
        return self.ticks[0]

    @property
    def high(self) -> float:
        """The last tick."""
        return self.ticks[-1]

    def shows(self, value: float) -> bool:
        """Whether the value is on the axis."""
        return self.low <= value <= self.high

    def share(self, value: float) -> float:
        """How far along the axis the value lies, from 0 to 1."""
        clipped = min(self.high, max(self.low, value))
        if self.log:
            return log10(clipped / self.low) / log10(self.high / self.low)
        return (clipped - self.low) / (self.high - self.low)

    def percent(self, value: float) -> float:
        """Its place in percent of the width."""
        return self.left + (self.right - self.left) * self.share(value)

    def place(self, value: float) -> str:
        """Its place as SVG has it."""
        return f"{self.percent(value):.2f}%"

    def down(self, value: float, height: float) -> float:
        """Its place on an axis that points upwards, counted from the top."""
        return height * (1 - self.share(value))


def fitting(values: Sequence[float], *, left: float = LEFT, right: float = RIGHT) -> Scale:
    """Logarithmic where the values need it, linear from 0 else; for amounts, which are never negative."""
    if is_wide(values):
        return logarithmic(values, left=left, right=right)
    return linear((0.0, *values), left=left, right=right)


def is_wide(values: Sequence[float]) -> bool:
    """Whether the values lie so far apart that a linear axis would press most of them together."""
    return bool(values) and min(values) > 0 and max(values) / min(values) >= WIDE


def linear(values: Sequence[float], *, left: float = LEFT, right: float = RIGHT, most: int = _MOST_TICKS) -> Scale:
    """Room for all values on round numbers."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    size = max(abs(low), abs(high))
    if size < _NOTHING:
        low, high = 0.0, 1.0
    elif high - low <= _DUST * size:
        low, high = low - size / 10, high + size / 10
    step = _step((high - low) / (most - 1))
    first, last = floor(low / step + _DUST), ceil(high / step - _DUST)
    last = max(last, first + 1)
    return Scale(ticks=tuple(number * step for number in range(first, last + 1)), left=left, right=right)


def logarithmic(values: Sequence[float], *, left: float = LEFT, right: float = RIGHT) -> Scale:
    """Room for all values, which are above 0, on powers of ten with 2 and 5 between where there is room."""
    low, high = min(values), max(values)
    first, last = floor(log10(low) + _DUST), ceil(log10(high) - _DUST)
    last = max(last, first + 1)
    fine = (1.0, 2.0, 5.0) if last - first <= 2 else (1.0, 3.0) if last - first <= 3 else (1.0,)
    ticks = [number * 10.0**power for power in range(first, last + 1) for number in fine]
    start = max((tick for tick in ticks if tick <= low * (1 + _DUST)), default=ticks[0])
    end = min((tick for tick in ticks if tick >= high * (1 - _DUST) and tick > start), default=ticks[-1])
    return Scale(ticks=tuple(tick for tick in ticks if start <= tick <= end), log=True, left=left, right=right)


def _step(least: float) -> float:
    power: float = 10.0 ** floor(log10(least))
    return next(number * power for number in _ROUND if number * power >= least * (1 - _DUST))
