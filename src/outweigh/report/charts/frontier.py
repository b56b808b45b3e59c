"""What arms cost against what they achieve, with how sure both are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from outweigh.report.charts.scale import Scale, fitting, linear
from outweigh.report.charts.svg import drawing, mark, rule, shortened, text

TOP, HEIGHT, BOTTOM = 36, 250, 46

Span = tuple[float, float]
Show = Callable[[float | None], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """One arm; `on_frontier` where nobody is both cheaper and at least as good."""

    name: str
    cost: float
    quality: float
    cost_interval: Span | None
    quality_interval: Span | None
    on_frontier: bool
    words: str


def frontier_chart(title: str, spots: Sequence[Spot], show_cost: Show, show_quality: Show) -> str:
    """Cheaper to the left, better to the top: the upper left corner is where everybody wants to be."""
    across = fitting([end for spot in spots for end in (spot.cost, *(spot.cost_interval or ())) if end > 0])
    up = linear([end for spot in spots for end in (spot.quality, *(spot.quality_interval or ()))], most=6)
    parts = [*_grid(across, up, show_cost, show_quality), *_steps(spots, across, up)]
    for spot in spots:
        parts.extend(_cross(spot, across, up))
    parts.extend(_names(spots, across, up))
    return drawing(title, TOP + HEIGHT + BOTTOM, parts)


def _grid(across: Scale, up: Scale, show_cost: Show, show_quality: Show) -> list[str]:
    parts = [text("pass rate ↑", x="0", y=12, kind="ow-small")]
    for tick in up.ticks:
        y = TOP + up.down(tick, HEIGHT)
        parts.append(rule("line", class_="ow-line", x1="0", x2="100%", y1=y, y2=y))
        parts.append(text(show_quality(tick), x="0", y=y - 3, kind="ow-small"))
    floor = TOP + HEIGHT
    # On a narrow screen every second figure is room enough.
    for tick in across.ticks[:: 2 if len(across.ticks) > 6 else 1]:
        x = across.place(tick)
        parts.append(rule("line", class_="ow-line", x1=x, x2=x, y1=floor, y2=floor + 5))
        parts.append(text(show_cost(tick), x=x, y=floor + 19, anchor="middle", kind="ow-small"))
    scale = ", logarithmic" if across.log else ""
    parts.append(text(f"mean cost of a run{scale} →", x="100%", y=floor + 38, anchor="end", kind="ow-small"))
    return parts


def _steps(spots: Sequence[Spot], across: Scale, up: Scale) -> list[str]:
    """The frontier as stairs: to get further up, that much has to be paid."""
    best = sorted((spot for spot in spots if spot.on_frontier), key=lambda spot: spot.cost)
    parts = []
    for here, there in pairwise(best):
        words = f"the frontier, from {here.name} to {there.name}"
        x1, x2 = across.place(here.cost), across.place(there.cost)
        y1, y2 = (TOP + up.down(spot.quality, HEIGHT) for spot in (here, there))
        parts.append(mark("line", words, class_="ow-limit", x1=x1, x2=x2, y1=y1, y2=y1))
        parts.append(mark("line", words, class_="ow-limit", x1=x2, x2=x2, y1=y1, y2=y2))
    return parts


def _cross(spot: Spot, across: Scale, up: Scale) -> list[str]:
    x, y = across.place(spot.cost), TOP + up.down(spot.quality, HEIGHT)
    kind, parts = "ow-better" if spot.on_frontier else "ow-open", []
    if spot.cost_interval is not None:
        low, high = (across.place(end) for end in spot.cost_interval)
        parts.append(mark("line", spot.words, class_=kind, x1=low, x2=high, y1=y, y2=y, stroke_width=2))
    if spot.quality_interval is not None:
        low_y, high_y = (TOP + up.down(end, HEIGHT) for end in spot.quality_interval)
        parts.append(mark("line", spot.words, class_=kind, x1=x, x2=x, y1=low_y, y2=high_y, stroke_width=2))
    parts.append(mark("circle", spot.words, class_=kind, cx=x, cy=y, r=6.5, stroke_width=2))
    return parts


def _names(spots: Sequence[Spot], across: Scale, up: Scale) -> list[str]:
    """Beside their lines, on the side where there is room; spots that lie close have their names moved apart."""
    parts, taken = [], list[tuple[float, float]]()
    for spot in sorted(spots, key=lambda one: one.quality, reverse=True):
        x, y = across.percent(spot.cost), TOP + up.down(spot.quality, HEIGHT) + 4
        while any(abs(x - other_x) < 35 and abs(y - other_y) < 15 for other_x, other_y in taken):
            y += 15
        taken.append((x, y))
        low, high = spot.cost_interval or (spot.cost, spot.cost)
        right = x < 55
        beside = max(across.percent(high), x + 1.5) + 1 if right else min(across.percent(low), x - 1.5) - 1
        anchor = "start" if right else "end"
        parts.append(text(shortened(spot.name, 20), x=f"{beside:.2f}%", y=y, anchor=anchor, kind="ow-name"))
    return parts
