"""Paired slopes: every task before and after."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from outweigh.report.charts.interval import Mark
from outweigh.report.charts.scale import Scale
from outweigh.report.charts.svg import drawing, mark, rule, shortened, text

TOP, HEIGHT, BOTTOM = 34, 240, 16
LEFT, RIGHT = "30%", "84%"
MOST_WEIGHT = 6.0

_DASHES = {Mark.BETTER: "none", Mark.WORSE: "7 4", Mark.OPEN: "2 3"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """Tasks that went from one figure to another; `tasks` of them took the same way."""

    before: float
    after: float
    tasks: int
    mark: Mark
    words: str


def slope_chart(
    title: str, arms: tuple[str, str], slopes: Sequence[Slope], scale: Scale, tick_words: Callable[[float | None], str]
) -> str:
    """Lines from the baseline on the left to the candidate on the right; the more tasks, the thicker."""
    parts = [
        text(shortened(arms[0], 20), x=LEFT, y=14, anchor="middle", kind="ow-name"),
        text(shortened(arms[1], 20), x=RIGHT, y=14, anchor="middle", kind="ow-name"),
    ]
    for tick in scale.ticks:
        y = TOP + scale.down(tick, HEIGHT)
        parts.append(rule("line", class_="ow-line", x1="0", x2="100%", y1=y, y2=y))
        parts.append(text(tick_words(tick), x="0", y=y - 3, kind="ow-small"))
    most = max(slope.tasks for slope in slopes)
    # What many tasks share is drawn first, so that single ones stay visible on top.
    for slope in sorted(slopes, key=lambda one: -one.tasks):
        before, after = (TOP + scale.down(end, HEIGHT) for end in (slope.before, slope.after))
        parts.append(_line(slope, before, after, most))
        parts.extend(_dot(slope, x, y) for x, y in ((LEFT, before), (RIGHT, after)))
    return drawing(title, TOP + HEIGHT + BOTTOM, parts)


def _line(slope: Slope, before: float, after: float, most: int) -> str:
    return mark(
        "line",
        slope.words,
        class_=f"ow-{slope.mark.value}",
        x1=LEFT,
        x2=RIGHT,
        y1=before,
        y2=after,
        stroke_width=1.6 + MOST_WEIGHT * (slope.tasks - 1) / most,
        stroke_dasharray=_DASHES[slope.mark],
        stroke_opacity=0.75,
    )


def _dot(slope: Slope, x: str, y: float) -> str:
    return mark("circle", slope.words, class_=f"ow-{slope.mark.value}", cx=x, cy=y, r=3.5)
