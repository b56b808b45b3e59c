"""The forest plot: a point, an interval and perhaps a margin per row, no change upright, better to the right."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from outweigh.report.charts.scale import Scale, linear
from outweigh.report.charts.svg import drawing, escaped, mark, shape, shortened, text, titled

ROW_HEIGHT = 58
COMPACT_HEIGHT = 44
AXIS_HEIGHT = 44
EDGE = 1.0
"""Nothing is drawn beyond a change of 100 %: an interval that goes on ends in an arrow."""

CIRCLE = "M-6.5 0A6.5 6.5 0 1 1 6.5 0A6.5 6.5 0 1 1-6.5 0Z"
DIAMOND = "M-8 0 0-8 8 0 0 8Z"


class Mark(StrEnum):
    """How a row stands: a filled circle, a diamond, or an empty circle."""

    BETTER = "better"
    WORSE = "worse"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRow:
    """One interval, oriented so that more is better; `band` is the margin around no change, `words` tell it all."""

    name: str
    state: str
    mark: Mark
    figures: str
    point: float | None
    interval: tuple[float, float] | None
    band: tuple[float, float] | None
    words: str
    band_words: str


def interval_chart(title: str, rows: Sequence[ChartRow], *, compact: bool = False) -> str:
    """Draw the rows under each other above a common axis."""
    scale, height = change_scale(rows), COMPACT_HEIGHT if compact else ROW_HEIGHT
    drawn = [_row(row, number * height, height, scale) for number, row in enumerate(rows)]
    return drawing(title, height * len(rows) + AXIS_HEIGHT, [*drawn, _axis(scale, height * len(rows))])


def change_scale(rows: Sequence[ChartRow]) -> Scale:
    """Room for everything that is drawn, and for no change."""
    ends = [end for row in rows for end in (*(row.band or ()), *(row.interval or ()))]
    points = [row.point for row in rows if row.point is not None]
    inside = [min(EDGE, max(-EDGE, value)) for value in (*ends, *points)]
    # With all of it at 0 there is still a little room on both sides.
    least = () if any(inside) else (-0.01, 0.01)
    return linear((0.0, *inside, *least))


def _row(row: ChartRow, top: int, height: int, scale: Scale) -> str:
    roomy = height == ROW_HEIGHT
    middle, base, half = top + height - (20 if roomy else 13), top + 16, 13 if roomy else 8
    name = f'<tspan class="ow-name">{escaped(shortened(row.name))}</tspan> {escaped(row.state)}'
    parts = [
        f"<g>{titled(row.words)}",
        f'<text x="0" y="{base}">{name}</text>',
        text(row.figures, x="100%", y=base, anchor="end"),
        mark("line", row.words, class_="ow-line", x1="0", x2="100%", y1=middle, y2=middle),
    ]
    if row.band is not None:
        parts.append(_band(row, row.band, middle, half, scale))
    parts.append(_upright(0.0, middle - half, middle + half, scale, "ow-zero", f"{row.name}: no change"))
    if row.interval is not None:
        parts.append(_interval(row, row.interval, middle, scale))
    if row.point is not None:
        parts.append(_point(row, row.point, middle, scale))
    return "\n".join([*parts, "</g>"])


def _band(row: ChartRow, band: tuple[float, float], middle: int, half: int, scale: Scale) -> str:
    left, right = (scale.percent(end) for end in band)
    return mark(
        "rect",
        row.band_words,
        class_="ow-band",
        x=f"{left:.2f}%",
        y=middle - half,
        width=f"{right - left:.2f}%",
        height=2 * half,
    )


def _interval(row: ChartRow, interval: tuple[float, float], middle: int, scale: Scale) -> str:
    low, high = interval
    bar = mark(
        "line",
        row.words,
        class_=f"ow-{row.mark.value}",
        x1=scale.place(low),
        x2=scale.place(high),
        y1=middle,
        y2=middle,
        stroke_width=4,
    )
    caps = [_shape("M0-6V6", end, middle, scale, row) for end in interval if scale.shows(end)]
    return "\n".join([bar, *caps, *_arrows(row, interval, middle, scale)])


def _arrows(row: ChartRow, values: Sequence[float], middle: int, scale: Scale) -> Iterator[str]:
    """What lies beyond the chart is pointed at."""
    if min(values) < scale.low:
        yield _shape("M4-8-12 0 4 8Z", scale.low, middle, scale, row)
    if max(values) > scale.high:
        yield _shape("M-4-8 12 0-4 8Z", scale.high, middle, scale, row)


def _point(row: ChartRow, point: float, middle: int, scale: Scale) -> str:
    if not scale.shows(point):
        return "\n".join(_arrows(row, [point], middle, scale))
    return _shape(DIAMOND if row.mark is Mark.WORSE else CIRCLE, point, middle, scale, row)


def _shape(path: str, value: float, middle: int, scale: Scale, row: ChartRow) -> str:
    return shape(path, row.words, x=scale.place(value), y=middle, kind=f"ow-{row.mark.value}")


def _axis(scale: Scale, top: int) -> str:
    parts = ["<g>"]
    for tick in scale.ticks:
        words = f"{100 * abs(tick):.4g}"
        side = "no change" if words == "0" else f"{words} {'better' if tick > 0 else 'worse'}"
        parts.append(_upright(tick, top, top + 5, scale, "ow-line", side))
        parts.append(text(words, x=scale.place(tick), y=top + 19, anchor="middle", kind="ow-small"))
    parts.append(text("← worse, by points or %", x="0", y=top + 38, kind="ow-small"))
    parts.append(text("better →", x="100%", y=top + 38, anchor="end", kind="ow-small"))
    return "\n".join([*parts, "</g>"])


def _upright(value: float, top: int, bottom: int, scale: Scale, kind: str, words: str) -> str:
    place = scale.place(value)
    return mark("line", words, class_=kind, x1=place, x2=place, y1=top, y2=bottom)
