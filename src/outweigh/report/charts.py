"""Drawings as SVG: pure functions, everything from outside escaped.

Places along the chart are percentages, so a chart fills any width while its letters keep their size. Colours are Okabe
and Ito's, safe for colour-blind eyes; shapes and words say the same. Ink is the colour of the text around the chart.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from math import ceil, floor

from outweigh.report.wording import visible

ROW_HEIGHT = 58
AXIS_HEIGHT = 44
EDGE = 1.0
"""Nothing is drawn beyond a change of 100 %: an interval that goes on ends in an arrow."""

_STEPS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
_MOST_TICKS = 8

STYLE = """
.ow-chart { --ow-holds: #0072B2; --ow-fails: #B34700; font: 14px system-ui, sans-serif; overflow: visible; }
@media (prefers-color-scheme: dark) { .ow-chart { --ow-holds: #56B4E9; --ow-fails: #E69F00; } }
@media (max-width: 30rem) { .ow-chart { font-size: 12px; } }
.ow-chart text { fill: currentColor; }
.ow-chart .ow-small { font-size: 12px; opacity: 0.8; }
.ow-chart .ow-name { font-weight: 600; }
.ow-chart .ow-band { fill: currentColor; opacity: 0.13; }
.ow-chart .ow-line { stroke: currentColor; opacity: 0.25; }
.ow-chart .ow-zero { stroke: currentColor; stroke-width: 1.5; }
.ow-chart .ow-holds { fill: var(--ow-holds); stroke: var(--ow-holds); }
.ow-chart .ow-fails { fill: var(--ow-fails); stroke: var(--ow-fails); }
.ow-chart .ow-unknown { fill: none; stroke: currentColor; }
"""


class Mark(StrEnum):
    """How a row stands: a filled circle, a diamond, or an empty circle."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRow:
    """One interval, oriented so that more is better; `band` is the margin around no change, `words` tell it all."""

    name: str
    mark: Mark
    figures: str
    point: float | None
    interval: tuple[float, float] | None
    band: tuple[float, float]
    words: str
    band_words: str


def interval_chart(title: str, rows: Sequence[ChartRow]) -> str:
    """A forest plot: a point, an interval and a margin per row, no change in the middle, better to the right."""
    scale = _Scale.around(rows)
    height = ROW_HEIGHT * len(rows) + AXIS_HEIGHT
    drawn = [_row(row, number * ROW_HEIGHT, scale) for number, row in enumerate(rows)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="ow-chart" role="img" width="100%" height="{height}">',
            _title(title),
            f"<style>{STYLE}</style>",
            *drawn,
            _axis(scale, ROW_HEIGHT * len(rows)),
            "</svg>",
        ]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """From a change to its place, in percent of the width."""

    low: float
    high: float
    step: float

    @classmethod
    def around(cls, rows: Sequence[ChartRow]) -> "_Scale":
        """Room for everything that is drawn, on round numbers."""
        ends = [end for row in rows for end in (*row.band, *(row.interval or ()))]
        points = [row.point for row in rows if row.point is not None]
        inside = [min(EDGE, max(-EDGE, value)) for value in (0.0, *ends, *points)]
        span = max(inside) - min(inside)
        step = next((step for step in _STEPS if span / step <= _MOST_TICKS - 1), _STEPS[-1])
        # A little less than a whole step over is no reason for another one: 0.1 / 0.05 may be 2.0000000000000004.
        low, high = floor(min(inside) / step + 1e-9), ceil(max(inside) / step - 1e-9)
        return cls(low=low * step, high=max(high, low + 1) * step, step=step)

    def shows(self, value: float) -> bool:
        return self.low <= value <= self.high

    def place(self, value: float) -> str:
        return f"{self.percent(value):.2f}%"

    def percent(self, value: float) -> float:
        clipped = min(self.high, max(self.low, value))
        return 4 + 92 * (clipped - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        return [self.low + number * self.step for number in range(round((self.high - self.low) / self.step) + 1)]


def _row(row: ChartRow, top: int, scale: _Scale) -> str:
    middle, name = top + 38, _escape(row.name)
    parts = [
        f"<g>{_title(row.words)}",
        f'<text x="0" y="{top + 16}"><tspan class="ow-name">{name}</tspan> {row.mark.value}</text>',
        f'<text x="100%" y="{top + 16}" text-anchor="end">{_escape(row.figures)}</text>',
        f'<line class="ow-line" x1="0" x2="100%" y1="{middle}" y2="{middle}"/>',
        _band(row, middle, scale),
        _upright(0.0, middle - 13, middle + 13, scale, "ow-zero", f"{row.name}: no change"),
    ]
    if row.interval is not None:
        parts.append(_interval(row, row.interval, middle, scale))
    if row.point is not None:
        parts.append(_point(row, row.point, middle, scale))
    return "\n".join([*parts, "</g>"])


def _band(row: ChartRow, middle: int, scale: _Scale) -> str:
    left, right = (scale.percent(end) for end in row.band)
    return (
        f'<rect class="ow-band" x="{left:.2f}%" y="{middle - 13}" width="{right - left:.2f}%" height="26">'
        f"{_title(row.band_words)}</rect>"
    )


def _interval(row: ChartRow, interval: tuple[float, float], middle: int, scale: _Scale) -> str:
    low, high = interval
    bar = (
        f'<line class="ow-{row.mark.value}" x1="{scale.place(low)}" x2="{scale.place(high)}" y1="{middle}" '
        f'y2="{middle}" stroke-width="4">{_title(row.words)}</line>'
    )
    caps = [_shape("M0-6V6", end, middle, scale, row) for end in interval if scale.shows(end)]
    return "\n".join([bar, *caps, *_arrows(row, interval, middle, scale)])


def _arrows(row: ChartRow, values: Sequence[float], middle: int, scale: _Scale) -> Iterator[str]:
    """What lies beyond the chart is pointed at."""
    if min(values) < scale.low:
        yield _shape("M4-8-12 0 4 8Z", scale.low, middle, scale, row)
    if max(values) > scale.high:
        yield _shape("M-4-8 12 0-4 8Z", scale.high, middle, scale, row)


def _point(row: ChartRow, point: float, middle: int, scale: _Scale) -> str:
    if not scale.shows(point):
        return "\n".join(_arrows(row, [point], middle, scale))
    shape = "M-8 0 0-8 8 0 0 8Z" if row.mark is Mark.FAILS else "M-6.5 0A6.5 6.5 0 1 1 6.5 0A6.5 6.5 0 1 1-6.5 0Z"
    return _shape(shape, point, middle, scale, row)


def _shape(path: str, value: float, middle: int, scale: _Scale, row: ChartRow) -> str:
    """A path cannot be placed in percent, so that a drawing of its own carries it there."""
    return (
        f'<svg x="{scale.place(value)}" y="{middle}" overflow="visible"><path class="ow-{row.mark.value}" '
        f'stroke-width="2" d="{path}">{_title(row.words)}</path></svg>'
    )


def _axis(scale: _Scale, top: int) -> str:
    parts = ["<g>"]
    for tick in scale.ticks():
        words = f"{100 * abs(tick):g}"
        side = "no change" if words == "0" else f"{words} {'better' if tick > 0 else 'worse'}"
        parts.append(_upright(tick, top, top + 5, scale, "ow-line", side))
        parts.append(_small(scale.place(tick), top + 19, "middle", words))
    parts.append(_small("0", top + 38, "start", "← worse, by points or %"))
    parts.append(_small("100%", top + 38, "end", "better →"))
    return "\n".join([*parts, "</g>"])


def _small(place: str, bottom: int, anchor: str, words: str) -> str:
    return f'<text class="ow-small" x="{place}" y="{bottom}" text-anchor="{anchor}">{words}</text>'


def _upright(value: float, top: int, bottom: int, scale: _Scale, kind: str, words: str) -> str:
    place = scale.place(value)
    return f'<line class="{kind}" x1="{place}" x2="{place}" y1="{top}" y2="{bottom}">{_title(words)}</line>'


def _title(words: str) -> str:
    return f"<title>{_escape(words)}</title>"


def _escape(text: str) -> str:
    return escape(visible(text))
