"""The step chart: tiers under each other, each with its interval, its sub-arms, and the step from the tier before."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from msgspec import Struct

from outweigh.report.axis import AxisScale, fit_axis
from outweigh.report.formatting import shorten_name
from outweigh.report.interval_rows import ChangeMarker
from outweigh.report.svg.elements import (
    CIRCLE,
    DIAMOND,
    escape_text,
    grid_element,
    placed_path,
    svg_document,
    text_element,
    titled_element,
)

ROW_HEIGHT, AXIS_HEIGHT = 52, 40
NAME_CHARACTERS = 20

Span = tuple[float, float]
FormatNumber = Callable[[float | None], str]


class SubArmTick(Struct, frozen=True, kw_only=True):
    """One sub-arm of a tier."""

    value: float
    description: str


class TierStep(Struct, frozen=True, kw_only=True):
    """One tier; `mark` and `state` say how it compares with the first, beyond what chance explains."""

    name: str
    value: float | None
    interval: Span | None
    members: tuple[SubArmTick, ...]
    mark: ChangeMarker
    state: str
    label: str
    description: str


def draw_steps(title: str, steps: Sequence[TierStep], show: FormatNumber, axis_title: str) -> str:
    """A row for each tier; a line leads from each point to the next, and ticks are the sub-arms."""
    values = [value for step in steps for value in _values(step)]
    scale, floor = fit_axis(values), ROW_HEIGHT * len(steps)
    parts = [*_axis(scale, floor, show, axis_title), *_connections(steps, scale)]
    parts.extend(_row(step, number * ROW_HEIGHT, scale) for number, step in enumerate(steps))
    return svg_document(title, floor + AXIS_HEIGHT, parts)


def _values(step: TierStep) -> list[float]:
    point = [] if step.value is None else [step.value]
    return [*point, *(max(0.0, end) for end in step.interval or ()), *(member.value for member in step.members)]


def _axis(scale: AxisScale, floor: float, show: FormatNumber, axis_title: str) -> list[str]:
    parts = []
    for tick in scale.ticks[:: 2 if len(scale.ticks) > 6 else 1]:
        x = scale.position(tick)
        parts.append(grid_element("line", class_="ow-line", x1=x, x2=x, y1=floor, y2=floor + 5))
        parts.append(text_element(show(tick), x=x, y=floor + 19, anchor="middle", kind="ow-small"))
    log = ", logarithmic" if scale.log else ""
    parts.append(text_element(f"{axis_title}{log}", x="0", y=floor + 36, kind="ow-small"))
    return parts


def _connections(steps: Sequence[TierStep], scale: AxisScale) -> list[str]:
    known = [(number, step.value) for number, step in enumerate(steps) if step.value is not None]
    return [
        grid_element(
            "line",
            class_="ow-limit",
            x1=scale.position(here),
            x2=scale.position(there),
            y1=_middle(above),
            y2=_middle(below),
        )
        for (above, here), (below, there) in pairwise(known)
    ]


def _middle(number: int) -> int:
    return number * ROW_HEIGHT + 36


def _row(step: TierStep, top: int, scale: AxisScale) -> str:
    y, kind = top + 36, f"ow-{step.mark.value}"
    name = f'<tspan class="ow-name">{escape_text(shorten_name(step.name, NAME_CHARACTERS))}</tspan>'
    state = f' <tspan class="ow-word-{step.mark.value}">{escape_text(step.state)}</tspan>' if step.state else ""
    parts = [
        "<g>",
        grid_element("line", class_="ow-line", x1="0", x2="100%", y1=y, y2=y),
        f'<text x="0" y="{top + 16}">{name}{state}</text>',
        text_element(step.label, x="100%", y=top + 16, anchor="end"),
    ]
    for member in step.members:
        x = scale.position(member.value)
        parts.append(titled_element("line", member.description, class_="ow-zero", x1=x, x2=x, y1=y + 3, y2=y + 10))
    if step.interval is not None:
        low, high = (scale.position(end) for end in step.interval)
        parts.append(titled_element("line", step.description, class_=kind, x1=low, x2=high, y1=y, y2=y, stroke_width=4))
    if step.value is not None:
        shape = DIAMOND if step.mark is ChangeMarker.WORSE else CIRCLE
        parts.append(placed_path(shape, step.description, x=scale.position(step.value), y=y, kind=kind))
    return "\n".join([*parts, "</g>"])
