"""Scatter charts of cost against quality: few arms by name with the Pareto frontier, and many with their chances of
being on it.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from msgspec import Struct

from outweigh.report.axis import AxisScale, fit_axis, linear_axis
from outweigh.report.formatting import shorten_name
from outweigh.report.interval_rows import ChangeMarker
from outweigh.report.svg.elements import (
    CIRCLE,
    DIAMOND,
    grid_element,
    placed_path,
    svg_document,
    text_element,
    titled_element,
)

TOP, HEIGHT, BOTTOM = 36, 160, 46

Span = tuple[float, float]
FormatNumber = Callable[[float | None], str]


class FrontierPoint(Struct, frozen=True, kw_only=True):
    """One arm; `on_frontier` where no other is both cheaper and at least as good. `mark` says whether it is better."""

    name: str
    cost: float
    quality: float
    cost_interval: Span | None
    quality_interval: Span | None
    on_frontier: bool
    mark: ChangeMarker
    description: str


class FrontierChance(Struct, frozen=True, kw_only=True):
    """A tier or a sub-arm, and the probability that it is on the frontier; a `minor` one is a small dot."""

    cost: float
    quality: float
    cost_interval: Span | None
    quality_interval: Span | None
    chance: float | None
    minor: bool
    legend: str
    description: str


def draw_frontier(
    title: str, spots: Sequence[FrontierPoint], show_cost: FormatNumber, show_quality: FormatNumber, cost_title: str
) -> str:
    """Cheaper to the left, better to the top: the upper left corner is best."""
    across = fit_axis([end for spot in spots for end in (spot.cost, *(spot.cost_interval or ())) if end > 0])
    up = linear_axis([end for spot in spots for end in (spot.quality, *(spot.quality_interval or ()))], most=6)
    parts = [*_grid(across, up, show_cost, show_quality, cost_title), *_frontier_steps(spots, across, up)]
    for spot in spots:
        parts.extend(_point_with_intervals(spot, across, up))
    parts.extend(_names(spots, across, up))
    return svg_document(title, TOP + HEIGHT + BOTTOM, parts)


LEGEND_HEIGHT, LEGEND_CHARACTERS = 20, 46
_NARROW_CHART = 3.4
"""Pixels per percent of the width on a phone, where numbers come closest to each other."""
_PLACES = ((0, -11), (0, 21), (12, 5), (-12, 5), (14, -9), (-14, -9), (14, 18), (-14, 18))
"""Where a number may stand, in pixels from its point."""


def draw_frontier_chances(
    title: str,
    points: Sequence[FrontierChance],
    show_cost: FormatNumber,
    show_quality: FormatNumber,
    titles: tuple[str, str],
) -> str:
    """Points are filled as far as they are probably on the frontier, and numbered; the legend below has their names.

    `titles` are those of the axes, cost first.
    """
    across = fit_axis([end for point in points for end in (point.cost, *(point.cost_interval or ())) if end > 0])
    up = linear_axis([end for point in points for end in (point.quality, *(point.quality_interval or ()))], most=6)
    parts = _grid(across, up, show_cost, show_quality, titles[0], titles[1])
    for point in sorted(points, key=lambda one: not one.minor):
        parts.extend(_chance_mark(point, across, up))
    listed = [point for point in points if point.legend]
    parts.extend(_numbers(listed, across, up))
    top = TOP + HEIGHT + BOTTOM + 8
    for number, point in enumerate(listed):
        label = f"{number + 1}  {shorten_name(point.legend, LEGEND_CHARACTERS)}"
        parts.append(text_element(label, x="0", y=top + LEGEND_HEIGHT * number + 12, kind="ow-small"))
    return svg_document(title, top + LEGEND_HEIGHT * len(listed), parts)


def _chance_mark(point: FrontierChance, across: AxisScale, up: AxisScale) -> list[str]:
    x, y = across.position(point.cost), TOP + up.from_top(point.quality, HEIGHT)
    parts = []
    if point.cost_interval is not None:
        low, high = (across.position(end) for end in point.cost_interval)
        parts.append(
            titled_element(
                "line", point.description, class_="ow-neutral", x1=low, x2=high, y1=y, y2=y, stroke_width=1.5
            )
        )
    if point.quality_interval is not None:
        low_y, high_y = (TOP + up.from_top(end, HEIGHT) for end in point.quality_interval)
        parts.append(
            titled_element(
                "line", point.description, class_="ow-neutral", x1=x, x2=x, y1=low_y, y2=high_y, stroke_width=1.5
            )
        )
    filled = round(point.chance or 0.0, 2)
    for kind, strength in (("ow-open", 1.0), ("ow-ink", filled)):
        if strength:
            parts.append(
                titled_element(
                    "circle",
                    point.description,
                    class_=kind,
                    cx=x,
                    cy=y,
                    r=3 if point.minor else 6,
                    stroke_width=1 if point.minor else 2,
                    fill_opacity=strength,
                )
            )
    return parts


def _numbers(points: Sequence[FrontierChance], across: AxisScale, up: AxisScale) -> list[str]:
    """Each at the first free place beside its point; where none is free, the point has its description."""
    parts, taken = [], list[tuple[float, float]]()
    for number, point in enumerate(points, start=1):
        x, y = across.percent(point.cost), TOP + up.from_top(point.quality, HEIGHT)
        for right, down in _PLACES:
            here = (x * _NARROW_CHART + right, y + down)
            if all(abs(here[0] - there[0]) > 20 or abs(here[1] - there[1]) > 15 for there in taken):
                taken.append(here)
                placed = text_element(str(number), x="0", y=0, anchor="middle", kind="ow-name")
                parts.append(
                    f'<svg x="{x:.2f}%" y="{y + down:.2f}" overflow="visible"><g transform="translate({right:g} 0)">'
                    f"{placed}</g></svg>"
                )
                break
    return parts


def _grid(
    across: AxisScale,
    up: AxisScale,
    show_cost: FormatNumber,
    show_quality: FormatNumber,
    cost_title: str,
    quality_title: str = "pass rate",
) -> list[str]:
    parts = [text_element(f"{quality_title} ↑", x="0", y=12, kind="ow-small")]
    for tick in up.ticks:
        y = TOP + up.from_top(tick, HEIGHT)
        parts.append(grid_element("line", class_="ow-line", x1="0", x2="100%", y1=y, y2=y))
        parts.append(text_element(show_quality(tick), x="0", y=y - 3, kind="ow-small"))
    floor = TOP + HEIGHT
    # On a narrow screen every second figure is room enough.
    for tick in across.ticks[:: 2 if len(across.ticks) > 6 else 1]:
        x = across.position(tick)
        parts.append(grid_element("line", class_="ow-line", x1=x, x2=x, y1=floor, y2=floor + 5))
        parts.append(text_element(show_cost(tick), x=x, y=floor + 19, anchor="middle", kind="ow-small"))
    scale = ", logarithmic" if across.log else ""
    parts.append(text_element(f"{cost_title}{scale} →", x="100%", y=floor + 38, anchor="end", kind="ow-small"))
    return parts


def _frontier_steps(spots: Sequence[FrontierPoint], across: AxisScale, up: AxisScale) -> list[str]:
    """The frontier as stairs: to get further up, that much has to be paid."""
    best = sorted((spot for spot in spots if spot.on_frontier), key=lambda spot: spot.cost)
    parts = []
    for here, there in pairwise(best):
        description = f"the frontier, from {here.name} to {there.name}"
        x1, x2 = across.position(here.cost), across.position(there.cost)
        y1, y2 = (TOP + up.from_top(spot.quality, HEIGHT) for spot in (here, there))
        parts.append(titled_element("line", description, class_="ow-limit", x1=x1, x2=x2, y1=y1, y2=y1))
        parts.append(titled_element("line", description, class_="ow-limit", x1=x2, x2=x2, y1=y1, y2=y2))
    return parts


def _point_with_intervals(spot: FrontierPoint, across: AxisScale, up: AxisScale) -> list[str]:
    x, y = across.position(spot.cost), TOP + up.from_top(spot.quality, HEIGHT)
    kind, parts = f"ow-{spot.mark.value}", []
    if spot.cost_interval is not None:
        low, high = (across.position(end) for end in spot.cost_interval)
        parts.append(titled_element("line", spot.description, class_=kind, x1=low, x2=high, y1=y, y2=y, stroke_width=2))
    if spot.quality_interval is not None:
        low_y, high_y = (TOP + up.from_top(end, HEIGHT) for end in spot.quality_interval)
        parts.append(
            titled_element("line", spot.description, class_=kind, x1=x, x2=x, y1=low_y, y2=high_y, stroke_width=2)
        )
    shape = DIAMOND if spot.mark is ChangeMarker.WORSE else CIRCLE
    parts.append(placed_path(shape, spot.description, x=x, y=y, kind=kind))
    return parts


def _names(spots: Sequence[FrontierPoint], across: AxisScale, up: AxisScale) -> list[str]:
    """Beside their lines, on the side where there is room; spots that lie close have their names moved apart."""
    parts, taken = [], list[tuple[float, float]]()
    for spot in sorted(spots, key=lambda one: one.quality, reverse=True):
        x, y = across.percent(spot.cost), TOP + up.from_top(spot.quality, HEIGHT) + 4
        while any(abs(x - other_x) < 35 and abs(y - other_y) < 15 for other_x, other_y in taken):
            y += 15
        if y > TOP + HEIGHT:
            # No room is left; the mark says its name when you point at it.
            continue
        taken.append((x, y))
        low, high = spot.cost_interval or (spot.cost, spot.cost)
        right = x < 55
        beside = max(across.percent(high), x + 1.5) + 1 if right else min(across.percent(low), x - 1.5) - 1
        anchor = "start" if right else "end"
        parts.append(text_element(shorten_name(spot.name, 20), x=f"{beside:.2f}%", y=y, anchor=anchor, kind="ow-name"))
    return parts
