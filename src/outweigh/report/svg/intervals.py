"""Interval charts: a point with its interval per row, as a forest plot against no change or as agreement of judges."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from outweigh.report.axis import AxisScale, linear_axis
from outweigh.report.formatting import shorten_name
from outweigh.report.interval_rows import ChangeMarker, IntervalRow, change_axis
from outweigh.report.svg.elements import (
    CIRCLE,
    DIAMOND,
    escape_text,
    grid_element,
    placed_path,
    svg_document,
    text_element,
    title_element,
    titled_element,
)

ROW_HEIGHT = 58
COMPACT_HEIGHT = 44
AXIS_HEIGHT = 44


def draw_intervals(title: str, rows: Sequence[IntervalRow], *, compact: bool = False) -> str:
    """Draw the rows under each other above a common axis."""
    scale, height = change_axis(rows), COMPACT_HEIGHT if compact else ROW_HEIGHT
    drawn = [_interval_row(row, number * height, height, scale) for number, row in enumerate(rows)]
    return svg_document(title, height * len(rows) + AXIS_HEIGHT, [*drawn, _axis(scale, height * len(rows))])


def _interval_row(row: IntervalRow, top: int, height: int, scale: AxisScale) -> str:
    roomy = height == ROW_HEIGHT
    middle, base, half = top + height - (20 if roomy else 13), top + 16, 13 if roomy else 8
    name = f'<tspan class="ow-name">{escape_text(shorten_name(row.name))}</tspan>'
    state = f' <tspan class="ow-word-{row.mark.value}">{escape_text(row.state)}</tspan>' if row.state else ""
    parts = [
        f"<g>{title_element(row.description)}",
        f'<text x="0" y="{base}">{name}{state}</text>',
        text_element(row.label, x="100%", y=base, anchor="end"),
        titled_element("line", row.description, class_="ow-line", x1="0", x2="100%", y1=middle, y2=middle),
    ]
    if row.band is not None:
        parts.append(_band(row, row.band, middle, half, scale))
    parts.append(_vertical_line(0.0, middle - half, middle + half, scale, "ow-zero", f"{row.name}: no change"))
    if row.interval is not None:
        parts.append(_interval_bar(row, row.interval, middle, scale))
    if row.point is not None:
        parts.append(_point(row, row.point, middle, scale))
    return "\n".join([*parts, "</g>"])


def _band(row: IntervalRow, band: tuple[float, float], middle: int, half: int, scale: AxisScale) -> str:
    left, right = (scale.percent(end) for end in band)
    return titled_element(
        "rect",
        row.band_description,
        class_="ow-band",
        x=f"{left:.2f}%",
        y=middle - half,
        width=f"{right - left:.2f}%",
        height=2 * half,
    )


def _interval_bar(row: IntervalRow, interval: tuple[float, float], middle: int, scale: AxisScale) -> str:
    low, high = interval
    bar = titled_element(
        "line",
        row.description,
        class_=f"ow-{row.mark.value}",
        x1=scale.position(low),
        x2=scale.position(high),
        y1=middle,
        y2=middle,
        stroke_width=4,
    )
    caps = [_marker("M0-6V6", end, middle, scale, row) for end in interval if scale.contains(end)]
    return "\n".join([bar, *caps, *_arrows(row, interval, middle, scale)])


def _arrows(row: IntervalRow, values: Sequence[float], middle: int, scale: AxisScale) -> Iterator[str]:
    """What lies beyond the chart is pointed at."""
    if min(values) < scale.low:
        yield _marker("M4-8-12 0 4 8Z", scale.low, middle, scale, row)
    if max(values) > scale.high:
        yield _marker("M-4-8 12 0-4 8Z", scale.high, middle, scale, row)


def _point(row: IntervalRow, point: float, middle: int, scale: AxisScale) -> str:
    if not scale.contains(point):
        return "\n".join(_arrows(row, [point], middle, scale))
    return _marker(DIAMOND if row.mark is ChangeMarker.WORSE else CIRCLE, point, middle, scale, row)


def _marker(path: str, value: float, middle: int, scale: AxisScale, row: IntervalRow) -> str:
    return placed_path(path, row.description, x=scale.position(value), y=middle, kind=f"ow-{row.mark.value}")


def _axis(scale: AxisScale, top: int) -> str:
    parts = ["<g>"]
    for tick in scale.ticks:
        description = f"{100 * abs(tick):.4g}"
        side = "no change" if description == "0" else f"{description} {'better' if tick > 0 else 'worse'}"
        parts.append(_vertical_line(tick, top, top + 5, scale, "ow-line", side))
        parts.append(text_element(description, x=scale.position(tick), y=top + 19, anchor="middle", kind="ow-small"))
    parts.append(text_element("← worse, by points or %", x="0", y=top + 38, kind="ow-small"))
    parts.append(text_element("better →", x="100%", y=top + 38, anchor="end", kind="ow-small"))
    return "\n".join([*parts, "</g>"])


def _vertical_line(value: float, top: int, bottom: int, scale: AxisScale, kind: str, description: str) -> str:
    place = scale.position(value)
    return titled_element("line", description, class_=kind, x1=place, x2=place, y1=top, y2=bottom)


AGREEMENT_ROW_HEIGHT, AGREEMENT_AXIS_HEIGHT = 46, 44
TENTATIVE, RELIABLE = 0.667, 0.8
"""Krippendorff's customary levels: below the first no conclusion, from the second on reliable ones."""


class AgreementRow(Struct, frozen=True, kw_only=True):
    """How far some answers agree: 1 is perfectly, 0 is as by chance; None where it cannot be told."""

    name: str
    alpha: float | None
    interval: tuple[float, float] | None
    label: str
    description: str


def draw_agreement(title: str, rows: Sequence[AgreementRow]) -> str:
    """One row per judge with itself, and one for all judges with each other."""
    known = [end for row in rows for end in (*(row.interval or ()), *(() if row.alpha is None else (row.alpha,)))]
    scale = linear_axis((0.0, 1.0, *known), most=6)
    floor = AGREEMENT_ROW_HEIGHT * len(rows)
    parts = []
    for level, description in ((TENTATIVE, "tentative"), (RELIABLE, "reliable")):
        x = scale.position(level)
        parts.append(
            titled_element("line", f"{description} from {level:g} on", class_="ow-limit", x1=x, x2=x, y1=22, y2=floor)
        )
    parts.extend(_agreement_row(row, number * AGREEMENT_ROW_HEIGHT, scale) for number, row in enumerate(rows))
    for tick in scale.ticks:
        x = scale.position(tick)
        parts.append(grid_element("line", class_="ow-line", x1=x, x2=x, y1=floor, y2=floor + 5))
        parts.append(text_element(f"{tick:g}", x=x, y=floor + 19, anchor="middle", kind="ow-small"))
    levels = f"dashed: tentative {TENTATIVE:g}, reliable {RELIABLE:g}"
    parts.append(text_element(levels, x="0", y=floor + 38, kind="ow-small"))
    return svg_document(title, floor + AGREEMENT_AXIS_HEIGHT, parts)


def _agreement_row(row: AgreementRow, top: int, scale: AxisScale) -> str:
    y = top + 32
    parts = [
        "<g>",
        text_element(shorten_name(row.name), x="0", y=top + 16, kind="ow-name"),
        text_element(row.label, x="100%", y=top + 16, anchor="end"),
    ]
    kind = "ow-neutral" if row.alpha is not None and row.alpha >= RELIABLE else "ow-open"
    if row.interval is not None:
        low, high = (scale.position(end) for end in row.interval)
        parts.append(titled_element("line", row.description, class_=kind, x1=low, x2=high, y1=y, y2=y, stroke_width=4))
    if row.alpha is not None:
        parts.append(
            titled_element(
                "circle", row.description, class_=kind, cx=scale.position(row.alpha), cy=y, r=6.5, stroke_width=2
            )
        )
    return "\n".join([*parts, "</g>"])
