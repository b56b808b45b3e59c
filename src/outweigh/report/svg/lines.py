"""Line charts: series over time with limits and a band, and slopes from baseline to candidate."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct

from outweigh.report.axis import AxisScale, linear_axis
from outweigh.report.formatting import shorten_name
from outweigh.report.interval_rows import ChangeMarker
from outweigh.report.svg.elements import (
    LINE_STYLES,
    grid_element,
    stretched_canvas,
    svg_document,
    text_element,
    titled_element,
)

MOST_POINTS = 150
"""More places than this along a line no eye can tell apart."""

Item = TypeVar("Item")


def sample_evenly(items: Sequence[Item], most: int = MOST_POINTS) -> Sequence[Item]:
    """All of few; of many the first, the last, and evenly chosen ones between."""
    if len(items) <= most:
        return items
    step = (len(items) - 1) / (most - 1)
    return [items[round(number * step)] for number in range(most)]


LINES_TOP, LINES_HEIGHT, LINES_FOOT = 22, 220, 44
LEGEND_HEIGHT = 20
LEGEND_NAME_CHARACTERS = 16
LINES_LEFT, LINES_RIGHT = 12.0, 98.0

FormatNumber = Callable[[float | None], str]
Points = Sequence[tuple[float, float]]


class LineSeries(Struct, frozen=True, kw_only=True):
    """A series of (x, y), with its name and its last value as a label."""

    name: str
    places: Points
    label: str


class LineBand(Struct, frozen=True, kw_only=True):
    """A band between two lines over the same x."""

    places: Sequence[tuple[float, float, float]]
    description: str


class LimitLine(Struct, frozen=True, kw_only=True):
    """A level that matters; its description stands above the line, or below it."""

    level: float
    description: str
    below: bool = False


class LineAxes(Struct, frozen=True, kw_only=True):
    """How both axes are written, and what stands below the lower one."""

    show_x: FormatNumber
    show_y: FormatNumber
    x_title: str


def draw_lines(
    title: str,
    lines: Sequence[LineSeries],
    axes: LineAxes,
    *,
    area: LineBand | None = None,
    limits: Sequence[LimitLine] = (),
    stairs: bool = False,
) -> str:
    """Lines, each with its dashes, the legend above them; `stairs` where a value holds until the next one."""
    levels = [y for line in lines for _, y in line.places] + [limit.level for limit in limits]
    levels += [end for _, *ends in (area.places if area else ()) for end in ends]
    across = linear_axis([x for line in lines for x, _ in line.places], left=LINES_LEFT, right=LINES_RIGHT)
    up = linear_axis([0.0, *levels], most=6)
    top = LINES_TOP + LEGEND_HEIGHT * len(lines)
    parts = [*_legend(lines), *_grid(across, up, axes, top), *(_limit_line(limit, up, top) for limit in limits)]
    drawn = [_band_path(area, across, up)] if area else []
    drawn.extend(_series_path(line, number, across, up, stairs=stairs) for number, line in enumerate(lines))
    parts.append(
        stretched_canvas(
            "".join(drawn), x=f"{LINES_LEFT}%", y=top, width=f"{LINES_RIGHT - LINES_LEFT}%", height=LINES_HEIGHT
        )
    )
    return svg_document(title, top + LINES_HEIGHT + LINES_FOOT, parts)


def line_class(number: int) -> str:
    """The look of a line by its place in the list."""
    return f"ow-of-{number % LINE_STYLES + 1}"


def _legend(lines: Sequence[LineSeries]) -> list[str]:
    parts = []
    for number, line in enumerate(lines):
        y = LEGEND_HEIGHT * number + 14
        parts.append(grid_element("line", class_=f"ow-swatch {line_class(number)}", x1=0, x2=28, y1=y - 4, y2=y - 4))
        parts.append(text_element(shorten_name(line.name, LEGEND_NAME_CHARACTERS), x="36", y=y, kind="ow-name"))
        parts.append(text_element(line.label, x="100%", y=y, anchor="end"))
    return parts


def _grid(across: AxisScale, up: AxisScale, axes: LineAxes, top: float) -> list[str]:
    parts = []
    for tick in up.ticks:
        y = top + up.from_top(tick, LINES_HEIGHT)
        parts.append(grid_element("line", class_="ow-line", x1="0", x2="100%", y1=y, y2=y))
        parts.append(text_element(axes.show_y(tick), x="0", y=y - 3, kind="ow-small"))
    floor = top + LINES_HEIGHT
    for tick in across.ticks[:: 2 if len(across.ticks) > 6 else 1]:
        parts.append(
            text_element(axes.show_x(tick), x=across.position(tick), y=floor + 18, anchor="middle", kind="ow-small")
        )
    parts.append(text_element(axes.x_title, x="100%", y=floor + 36, anchor="end", kind="ow-small"))
    return parts


def _limit_line(limit: LimitLine, up: AxisScale, top: float) -> str:
    y = top + up.from_top(limit.level, LINES_HEIGHT)
    line = titled_element("line", limit.description, class_="ow-limit", x1="0", x2="100%", y1=y, y2=y)
    return line + text_element(
        limit.description, x="100%", y=y + 13 if limit.below else y - 4, anchor="end", kind="ow-small"
    )


def _series_path(line: LineSeries, number: int, across: AxisScale, up: AxisScale, *, stairs: bool) -> str:
    points = [(1000 * across.fraction(x), 1000 * (1 - up.fraction(y))) for x, y in line.places]
    step = "H{0:.1f}V{1:.1f}" if stairs else "L{0:.1f} {1:.1f}"
    path = "".join(("M{0:.1f} {1:.1f}" if place == 0 else step).format(*point) for place, point in enumerate(points))
    return titled_element(
        "path", f"{line.name}: {line.label}", class_=f"ow-path {line_class(number)}", d=path or "M0 0"
    )


def _band_path(area: LineBand, across: AxisScale, up: AxisScale) -> str:
    def point(x: float, y: float) -> str:
        return f"{1000 * across.fraction(x):.1f} {1000 * (1 - up.fraction(y)):.1f}"

    around = [point(x, low) for x, low, _ in area.places] + [point(x, high) for x, _, high in reversed(area.places)]
    return titled_element("path", area.description, class_="ow-area", d=f"M{'L'.join(around)}Z" if around else "M0 0")


SLOPES_TOP, SLOPES_HEIGHT, SLOPES_BOTTOM = 34, 240, 16
SLOPES_LEFT, SLOPES_RIGHT = "30%", "80%"
SLOPE_NAME_CHARACTERS = 14
MOST_WEIGHT = 6.0

_DASHES = {ChangeMarker.BETTER: "none", ChangeMarker.WORSE: "7 4", ChangeMarker.OPEN: "2 3"}


class Slope(Struct, frozen=True, kw_only=True):
    """Tasks that went from one figure to another; `tasks` of them took the same way."""

    before: float
    after: float
    tasks: int
    mark: ChangeMarker
    description: str


def draw_slopes(
    title: str,
    arms: tuple[str, str],
    slopes: Sequence[Slope],
    scale: AxisScale,
    format_tick: Callable[[float | None], str],
) -> str:
    """Lines from the baseline on the left to the candidate on the right; the more tasks, the thicker."""
    parts = [
        text_element(
            shorten_name(arms[0], SLOPE_NAME_CHARACTERS), x=SLOPES_LEFT, y=14, anchor="middle", kind="ow-name"
        ),
        text_element(
            shorten_name(arms[1], SLOPE_NAME_CHARACTERS), x=SLOPES_RIGHT, y=14, anchor="middle", kind="ow-name"
        ),
    ]
    for tick in scale.ticks:
        y = SLOPES_TOP + scale.from_top(tick, SLOPES_HEIGHT)
        parts.append(grid_element("line", class_="ow-line", x1="0", x2="100%", y1=y, y2=y))
        parts.append(text_element(format_tick(tick), x="0", y=y - 3, kind="ow-small"))
    most = max(slope.tasks for slope in slopes)
    # What many tasks share is drawn first, so that single ones stay visible on top.
    for slope in sorted(slopes, key=lambda one: -one.tasks):
        before, after = (SLOPES_TOP + scale.from_top(end, SLOPES_HEIGHT) for end in (slope.before, slope.after))
        parts.append(_slope_line(slope, before, after, most))
        parts.extend(_slope_dot(slope, x, y) for x, y in ((SLOPES_LEFT, before), (SLOPES_RIGHT, after)))
    return svg_document(title, SLOPES_TOP + SLOPES_HEIGHT + SLOPES_BOTTOM, parts)


def _slope_line(slope: Slope, before: float, after: float, most: int) -> str:
    return titled_element(
        "line",
        slope.description,
        class_="ow-neutral",
        x1=SLOPES_LEFT,
        x2=SLOPES_RIGHT,
        y1=before,
        y2=after,
        stroke_width=1.6 + MOST_WEIGHT * (slope.tasks - 1) / most,
        stroke_dasharray=_DASHES[slope.mark],
        stroke_opacity=0.75,
    )


def _slope_dot(slope: Slope, x: str, y: float) -> str:
    return titled_element("circle", slope.description, class_="ow-neutral", cx=x, cy=y, r=3.5)
