"""Lines over time: what was spent, or how the evidence grew, with limits to hold it against."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from outweigh.report.charts.scale import Scale, linear
from outweigh.report.charts.style import LINES
from outweigh.report.charts.svg import drawing, mark, rule, shortened, stretched, text

TOP, HEIGHT, FOOT = 22, 220, 44
LEGEND_HEIGHT = 20
LEFT, RIGHT = 12.0, 98.0

Show = Callable[[float | None], str]
Places = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A series of (x, y), with its name and its last figure in words."""

    name: str
    places: Places
    figures: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A band between two lines over the same x."""

    places: Sequence[tuple[float, float, float]]
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A level that matters; its words stand above the line, or below it."""

    level: float
    words: str
    below: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """How both axes are written, and what stands below the lower one."""

    show_x: Show
    show_y: Show
    x_words: str


def line_chart(
    title: str,
    lines: Sequence[Line],
    axes: Axes,
    *,
    area: Area | None = None,
    limits: Sequence[Limit] = (),
    stairs: bool = False,
) -> str:
    """Lines, each with its dashes, the legend above them; `stairs` where a value holds until the next one."""
    levels = [y for line in lines for _, y in line.places] + [limit.level for limit in limits]
    levels += [end for _, *ends in (area.places if area else ()) for end in ends]
    across = linear([x for line in lines for x, _ in line.places], left=LEFT, right=RIGHT)
    up = linear([0.0, *levels], most=6)
    top = TOP + LEGEND_HEIGHT * len(lines)
    parts = [*_legend(lines), *_grid(across, up, axes, top), *(_limit(limit, up, top) for limit in limits)]
    drawn = [_area(area, across, up)] if area else []
    drawn.extend(_line(line, number, across, up, stairs=stairs) for number, line in enumerate(lines))
    parts.append(stretched("".join(drawn), x=f"{LEFT}%", y=top, width=f"{RIGHT - LEFT}%", height=HEIGHT))
    return drawing(title, top + HEIGHT + FOOT, parts)


def kind_of(number: int) -> str:
    """The look of a line by its place in the list."""
    return f"ow-of-{number % LINES + 1}"


def _legend(lines: Sequence[Line]) -> list[str]:
    parts = []
    for number, line in enumerate(lines):
        y = LEGEND_HEIGHT * number + 14
        parts.append(rule("line", class_=f"ow-swatch {kind_of(number)}", x1=0, x2=28, y1=y - 4, y2=y - 4))
        parts.append(text(shortened(line.name), x="36", y=y, kind="ow-name"))
        parts.append(text(line.figures, x="100%", y=y, anchor="end"))
    return parts


def _grid(across: Scale, up: Scale, axes: Axes, top: float) -> list[str]:
    parts = []
    for tick in up.ticks:
        y = top + up.down(tick, HEIGHT)
        parts.append(rule("line", class_="ow-line", x1="0", x2="100%", y1=y, y2=y))
        parts.append(text(axes.show_y(tick), x="0", y=y - 3, kind="ow-small"))
    floor = top + HEIGHT
    for tick in across.ticks[:: 2 if len(across.ticks) > 6 else 1]:
        parts.append(text(axes.show_x(tick), x=across.place(tick), y=floor + 18, anchor="middle", kind="ow-small"))
    parts.append(text(axes.x_words, x="100%", y=floor + 36, anchor="end", kind="ow-small"))
    return parts


def _limit(limit: Limit, up: Scale, top: float) -> str:
    y = top + up.down(limit.level, HEIGHT)
    line = mark("line", limit.words, class_="ow-limit", x1="0", x2="100%", y1=y, y2=y)
    return line + text(limit.words, x="100%", y=y + 13 if limit.below else y - 4, anchor="end", kind="ow-small")


def _line(line: Line, number: int, across: Scale, up: Scale, *, stairs: bool) -> str:
    points = [(1000 * across.share(x), 1000 * (1 - up.share(y))) for x, y in line.places]
    step = "H{0:.1f}V{1:.1f}" if stairs else "L{0:.1f} {1:.1f}"
    path = "".join(("M{0:.1f} {1:.1f}" if place == 0 else step).format(*point) for place, point in enumerate(points))
    return mark("path", f"{line.name}: {line.figures}", class_=f"ow-path {kind_of(number)}", d=path or "M0 0")


def _area(area: Area, across: Scale, up: Scale) -> str:
    def point(x: float, y: float) -> str:
        return f"{1000 * across.share(x):.1f} {1000 * (1 - up.share(y)):.1f}"

    around = [point(x, low) for x, low, _ in area.places] + [point(x, high) for x, _, high in reversed(area.places)]
    return mark("path", area.words, class_="ow-area", d=f"M{'L'.join(around)}Z" if around else "M0 0")
