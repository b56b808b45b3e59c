"""Distribution strips: every run of every arm along one axis, with the median and the middle half."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from outweigh.report.charts.scale import Scale, fitting
from outweigh.report.charts.svg import block, drawing, mark, rule, shortened, text

ROW_HEIGHT, BAR_HEIGHT, AXIS_HEIGHT = 74, 34, 40
BINS = 60

Show = Callable[[float | None], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """The known values of one arm, and how many of its runs do not know theirs."""

    name: str
    values: Sequence[float]
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quartiles:
    """Where the middle half of the values lies."""

    low: float
    middle: float
    high: float


def quartiles(values: Sequence[float]) -> Quartiles:
    """By linear interpolation between neighbours; there must be a value."""
    ranked = sorted(values)
    return Quartiles(low=_quantile(ranked, 0.25), middle=_quantile(ranked, 0.5), high=_quantile(ranked, 0.75))


def strip_scale(strips: Sequence[Strip]) -> Scale:
    """One axis for all arms, logarithmic where their values need it."""
    return fitting([value for strip in strips for value in strip.values])


def binned(values: Sequence[float], scale: Scale, bins: int = BINS) -> list[list[float]]:
    """The values of every stretch of the axis."""
    found: list[list[float]] = [[] for _ in range(bins)]
    for value in values:
        found[min(bins - 1, int(scale.share(value) * bins))].append(value)
    return found


def strip_chart(title: str, strips: Sequence[Strip], show: Show, tick_words: Show) -> str:
    """One row per arm: bars as high as there are runs, a box around the middle half, a line at the median."""
    scale = strip_scale(strips)
    parts = []
    for number, strip in enumerate(strips):
        parts.append(_row(strip, number, scale, show))
    top = ROW_HEIGHT * len(strips)
    for tick in scale.ticks[:: 2 if len(scale.ticks) > 6 else 1]:
        x = scale.place(tick)
        for number in range(len(strips)):
            floor = ROW_HEIGHT * number + 22 + BAR_HEIGHT
            parts.append(rule("line", class_="ow-line", x1=x, x2=x, y1=floor - BAR_HEIGHT, y2=floor + 14))
        parts.append(text(tick_words(tick), x=x, y=top + 19, anchor="middle", kind="ow-small"))
    if scale.log:
        parts.append(text("logarithmic", x="100%", y=top + 36, anchor="end", kind="ow-small"))
    return drawing(title, top + AXIS_HEIGHT, parts)


def _row(strip: Strip, number: int, scale: Scale, show: Show) -> str:
    top, floor = number * ROW_HEIGHT, number * ROW_HEIGHT + 22 + BAR_HEIGHT
    parts = [f"<g>{text(shortened(strip.name), x='0', y=top + 15, kind='ow-name')}"]
    if not strip.values:
        return "".join([*parts, text("unknown", x="100%", y=top + 15, anchor="end"), "</g>"])
    middle = quartiles(strip.values)
    unknown = f"; {strip.unknown} unknown" if strip.unknown else ""
    figures = f"median {show(middle.middle)}, {len(strip.values)} runs{unknown}"
    words = f"{strip.name}: {figures}; the middle half lies between {show(middle.low)} and {show(middle.high)}"
    parts.append(text(figures, x="100%", y=top + 15, anchor="end"))
    parts.extend(_bars(strip, scale, floor, "ow-bar" if number == 0 else "ow-bar ow-of-2", show))
    left, right = scale.percent(middle.low), scale.percent(middle.high)
    parts.append(block(words, kind="ow-box", left=left, top=floor + 3, width=right - left, height=8))
    x = scale.place(middle.middle)
    parts.append(mark("line", words, class_="ow-zero", x1=x, x2=x, y1=floor - 2, y2=floor + 14, stroke_width=3))
    return "\n".join([*parts, "</g>"])


def _bars(strip: Strip, scale: Scale, floor: float, kind: str, show: Show) -> list[str]:
    bins = binned(strip.values, scale)
    most, width = max(map(len, bins)), (scale.right - scale.left) / BINS
    parts = []
    for place, values in enumerate(bins):
        if values:
            height = max(2.0, BAR_HEIGHT * len(values) / most)
            span = show(min(values)) if len(values) == 1 else f"{show(min(values))} to {show(max(values))}"
            words = f"{strip.name}: {len(values)} of {len(strip.values)} runs, {span}"
            left = scale.left + place * width
            parts.append(block(words, kind=kind, left=left, top=floor - height, width=0.8 * width, height=height))
    return parts


def _quantile(ranked: Sequence[float], share: float) -> float:
    place = share * (len(ranked) - 1)
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (place - below) * (ranked[above] - ranked[below])
