"""Bar charts: tiers with their grades, stacked components, and the distribution of runs with its quartiles."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from outweigh.report.axis import AxisScale, fit_axis
from outweigh.report.formatting import shorten_name
from outweigh.report.svg.elements import (
    LINE_STYLES,
    grid_element,
    rectangle,
    svg_document,
    text_element,
    titled_element,
)

ROW_NAME_CHARACTERS = 18
"""So many of a name fit beside the figures of a row, on a phone too."""

TIER_ROW_HEIGHT, TIER_BAR_HEIGHT, TIER_AXIS_HEIGHT = 52, 16, 40


class TierBar(Struct, frozen=True, kw_only=True):
    """One tier: its score from 0 to 1 (None where unknown), its mean beside, and what is written about it."""

    name: str
    score: float | None
    mean: float | None
    label: str
    description: str


def draw_tiers(title: str, tiers: Sequence[TierBar], grades: Mapping[str, float]) -> str:
    """Bars for the median, a diamond for the mean, dashed lines where a better grade begins."""
    floor = TIER_ROW_HEIGHT * len(tiers)
    parts = []
    for letter, least in grades.items():
        x = _score_position(least)
        for number in range(len(tiers)):
            top = number * TIER_ROW_HEIGHT
            parts.append(grid_element("line", class_="ow-limit", x1=x, x2=x, y1=top + 22, y2=top + TIER_ROW_HEIGHT))
        parts.append(text_element(letter, x=x, y=floor + 16, anchor="middle", kind="ow-small"))
    parts.append(text_element("0", x=_score_position(0.0), y=floor + 16, anchor="middle", kind="ow-small"))
    parts.append(text_element("composite; letters where a grade begins", x="0", y=floor + 34, kind="ow-small"))
    for number, tier in enumerate(tiers):
        parts.append(_tier_row(tier, number * TIER_ROW_HEIGHT))
    return svg_document(title, floor + TIER_AXIS_HEIGHT, parts)


def _tier_row(tier: TierBar, top: int) -> str:
    parts = [
        "<g>",
        text_element(shorten_name(tier.name, ROW_NAME_CHARACTERS), x="0", y=top + 16, kind="ow-name"),
        text_element(tier.label, x="100%", y=top + 16, anchor="end"),
    ]
    if tier.score is not None:
        size = {"left": 4.0, "top": top + 24.0, "width": 92 * tier.score, "height": float(TIER_BAR_HEIGHT)}
        parts.append(rectangle(tier.description, kind="ow-bar ow-of-2", **size))
    if tier.mean is not None:
        y = top + 24 + TIER_BAR_HEIGHT / 2
        parts.append(
            titled_element("circle", tier.description, class_="ow-ink", cx=_score_position(tier.mean), cy=y, r=4)
        )
    return "\n".join([*parts, "</g>"])


def _score_position(score: float) -> str:
    return f"{4 + 92 * min(1.0, max(0.0, score)):.2f}%"


STACK_ROW_HEIGHT, STACK_BAR_HEIGHT, STACK_LEGEND_HEIGHT = 56, 24, 20
LEAST_NUMBERED_SHARE = 0.04


class BarSegment(Struct, frozen=True, kw_only=True):
    """One part of a bar: its number in the legend, its size, and what it says."""

    number: int
    size: float
    description: str


class StackedBar(Struct, frozen=True, kw_only=True):
    """One whole."""

    name: str
    label: str
    parts: tuple[BarSegment, ...]


def draw_stacked_bars(title: str, bars: Sequence[StackedBar], legend: Sequence[str]) -> str:
    """Bars on one scale, so that their lengths compare; the legend below names the parts by number."""
    longest = max((sum(part.size for part in bar.parts) for bar in bars), default=0.0) or 1.0
    parts = [_stack_row(bar, number * STACK_ROW_HEIGHT, longest) for number, bar in enumerate(bars)]
    top = STACK_ROW_HEIGHT * len(bars) + 8
    for number, description in enumerate(legend, start=1):
        y = top + STACK_LEGEND_HEIGHT * (number - 1)
        parts.append(titled_element("rect", description, class_=_segment_class(number), x=0, y=y, width=14, height=14))
        parts.append(text_element(f"{number}  {description}", x="22", y=y + 12, kind="ow-small"))
    return svg_document(title, top + STACK_LEGEND_HEIGHT * len(legend), parts)


def _segment_class(number: int) -> str:
    return f"ow-part-{(number - 1) % LINE_STYLES + 1}"


def _stack_row(bar: StackedBar, top: int, longest: float) -> str:
    drawn = [
        "<g>",
        text_element(shorten_name(bar.name, ROW_NAME_CHARACTERS), x="0", y=top + 16, kind="ow-name"),
        text_element(bar.label, x="100%", y=top + 16, anchor="end"),
    ]
    left = 0.0
    for part in bar.parts:
        width = 100 * part.size / longest
        look = _segment_class(part.number)
        drawn.append(
            rectangle(part.description, kind=look, left=left, top=top + 22, width=width - 0.3, height=STACK_BAR_HEIGHT)
        )
        if part.size >= LEAST_NUMBERED_SHARE * longest:
            x = f"{left + width / 2:.2f}%"
            drawn.append(text_element(str(part.number), x=x, y=top + 39, anchor="middle", kind="ow-on-part"))
        left += width
    return "\n".join([*drawn, "</g>"])


DISTRIBUTION_ROW_HEIGHT, DISTRIBUTION_BAR_HEIGHT, DISTRIBUTION_AXIS_HEIGHT = 74, 34, 40
BINS = 60

FormatNumber = Callable[[float | None], str]


class Distribution(Struct, frozen=True, kw_only=True):
    """The known values of one arm, and how many of its runs do not know theirs."""

    name: str
    values: Sequence[float]
    unknown: int


class Quartiles(Struct, frozen=True, kw_only=True):
    """Where the middle half of the values lies."""

    low: float
    middle: float
    high: float


def quartiles(values: Sequence[float]) -> Quartiles:
    """By linear interpolation between neighbours; there must be a value."""
    ranked = sorted(values)
    return Quartiles(low=_quantile(ranked, 0.25), middle=_quantile(ranked, 0.5), high=_quantile(ranked, 0.75))


def distribution_axis(strips: Sequence[Distribution]) -> AxisScale:
    """One axis for all arms, logarithmic where their values need it."""
    return fit_axis([value for strip in strips for value in strip.values])


def bin_values(values: Sequence[float], scale: AxisScale, bins: int = BINS) -> list[list[float]]:
    """The values of every stretch of the axis."""
    found: list[list[float]] = [[] for _ in range(bins)]
    for value in values:
        found[min(bins - 1, int(scale.fraction(value) * bins))].append(value)
    return found


def draw_distributions(
    title: str, strips: Sequence[Distribution], show: FormatNumber, format_tick: FormatNumber
) -> str:
    """One row per arm: bars as high as there are runs, a box around the middle half, a line at the median."""
    scale = distribution_axis(strips)
    parts = []
    for number, strip in enumerate(strips):
        parts.append(_distribution_row(strip, number, scale, show))
    top = DISTRIBUTION_ROW_HEIGHT * len(strips)
    for tick in scale.ticks[:: 2 if len(scale.ticks) > 6 else 1]:
        x = scale.position(tick)
        for number in range(len(strips)):
            floor = DISTRIBUTION_ROW_HEIGHT * number + 22 + DISTRIBUTION_BAR_HEIGHT
            parts.append(
                grid_element("line", class_="ow-line", x1=x, x2=x, y1=floor - DISTRIBUTION_BAR_HEIGHT, y2=floor + 14)
            )
        parts.append(text_element(format_tick(tick), x=x, y=top + 19, anchor="middle", kind="ow-small"))
    if scale.log:
        parts.append(text_element("logarithmic", x="100%", y=top + 36, anchor="end", kind="ow-small"))
    return svg_document(title, top + DISTRIBUTION_AXIS_HEIGHT, parts)


def _distribution_row(strip: Distribution, number: int, scale: AxisScale, show: FormatNumber) -> str:
    top, floor = number * DISTRIBUTION_ROW_HEIGHT, number * DISTRIBUTION_ROW_HEIGHT + 22 + DISTRIBUTION_BAR_HEIGHT
    parts = [f"<g>{text_element(shorten_name(strip.name, ROW_NAME_CHARACTERS), x='0', y=top + 15, kind='ow-name')}"]
    if not strip.values:
        return "".join([*parts, text_element("unknown", x="100%", y=top + 15, anchor="end"), "</g>"])
    middle = quartiles(strip.values)
    unknown = f"; {strip.unknown} unknown" if strip.unknown else ""
    label = f"median {show(middle.middle)}, {len(strip.values)} runs{unknown}"
    description = f"{strip.name}: {label}; the middle half lies between {show(middle.low)} and {show(middle.high)}"
    parts.append(text_element(label, x="100%", y=top + 15, anchor="end"))
    parts.extend(_histogram(strip, scale, floor, "ow-bar" if number == 0 else "ow-bar ow-of-2", show))
    left, right = scale.percent(middle.low), scale.percent(middle.high)
    parts.append(rectangle(description, kind="ow-box", left=left, top=floor + 3, width=right - left, height=8))
    x = scale.position(middle.middle)
    parts.append(
        titled_element("line", description, class_="ow-zero", x1=x, x2=x, y1=floor - 2, y2=floor + 14, stroke_width=3)
    )
    return "\n".join([*parts, "</g>"])


def _histogram(strip: Distribution, scale: AxisScale, floor: float, kind: str, show: FormatNumber) -> list[str]:
    bins = bin_values(strip.values, scale)
    most, width = max(map(len, bins)), (scale.right - scale.left) / BINS
    parts = []
    for place, values in enumerate(bins):
        if values:
            height = max(2.0, DISTRIBUTION_BAR_HEIGHT * len(values) / most)
            span = show(min(values)) if len(values) == 1 else f"{show(min(values))} to {show(max(values))}"
            description = f"{strip.name}: {len(values)} of {len(strip.values)} runs, {span}"
            left = scale.left + place * width
            parts.append(
                rectangle(description, kind=kind, left=left, top=floor - height, width=0.8 * width, height=height)
            )
    return parts


def _quantile(ranked: Sequence[float], share: float) -> float:
    place = share * (len(ranked) - 1)
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (place - below) * (ranked[above] - ranked[below])
