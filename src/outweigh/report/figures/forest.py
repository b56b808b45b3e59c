"""Figures of effects: a forest of estimates against no change, and the matrix of interactions of parts."""

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from outweigh.report.document import Figure, FigureValues
from outweigh.report.figures.text_charts import text_intervals
from outweigh.report.formatting import UNKNOWN, format_change
from outweigh.report.interval_rows import ChangeMarker, IntervalRow
from outweigh.report.svg.intervals import draw_intervals
from outweigh.report.svg.matrix import MatrixCell, draw_matrix

EFFECT_COLUMNS = ("name", "effect", "low", "high", "state")
INTERACTION_COLUMNS = ("part", "other_part", *EFFECT_COLUMNS[1:])


class ForestEffect(Struct, frozen=True, kw_only=True):
    """One effect as a share of one, more being better: its estimate, its interval, and the word for its state.

    `state` is empty where chance can explain the effect. `reason` is why the estimate is unknown; `band` is the margin
    within which an effect counts as none.
    """

    name: str
    value: float | None
    interval: tuple[float, float] | None
    mark: ChangeMarker
    state: str = ""
    reason: str = ""
    band: tuple[float, float] | None = None


def forest_figure(
    name: str, title: str, caption: str, effects: Sequence[ForestEffect], *, unit: str = "points"
) -> Figure:
    """One row for each effect, in the order given; `unit` is what the numbers of the labels are."""
    rows = [_forest_row(effect, unit) for effect in effects]
    return Figure(
        title=title,
        draw=partial(draw_intervals, title, rows, compact=True),
        caption=caption,
        text_lines=(),
        text_chart=text_intervals(rows),
        name=name,
        values=FigureValues(
            columns=EFFECT_COLUMNS, rows=tuple((effect.name, *_effect_values(effect)) for effect in effects)
        ),
    )


def _forest_row(effect: ForestEffect, unit: str) -> IntervalRow:
    return IntervalRow(
        name=effect.name,
        state=effect.state,
        mark=effect.mark,
        label=effect_label(effect),
        point=effect.value,
        interval=effect.interval,
        band=effect.band,
        description=_describe(effect, unit),
        band_description=f"{effect.name}: the margin within which an effect counts as none",
    )


def _describe(effect: ForestEffect, unit: str) -> str:
    state = f" {effect.state}" if effect.state else ""
    reason = f"; {effect.reason}" if effect.reason else ""
    return f"{effect.name}{state}: {effect_label(effect)} {unit}{reason}"


def effect_label(effect: ForestEffect) -> str:
    """An effect with its interval, in points or percent: `+13 (-2 to +28)`."""
    if effect.value is None:
        return UNKNOWN
    shown = format_change(effect.value)
    if effect.interval is None:
        return f"{shown}, no interval"
    low, high = map(format_change, effect.interval)
    return f"{shown} ({low} to {high})"


def _effect_values(effect: ForestEffect) -> tuple[str | float | None, ...]:
    low, high = effect.interval or (None, None)
    return effect.value, low, high, effect.state or effect.mark.value


MATRIX_CAPTION = (
    "Each cell is the interaction of two parts in points: half of what the effect of one gains when the other is "
    "there. Stronger shades are larger ones. ▲ and ▼ mark those that chance hardly explains. Point at one for its "
    "interval."
)


def interaction_figure(
    title: str, parts: Sequence[str], effects: Mapping[tuple[str, str], ForestEffect], *, name: str = "interactions"
) -> Figure:
    """A cell for every two parts; one whose interaction is unknown has a dashed frame."""
    cells = {
        _place(parts, one, other): MatrixCell(
            value=effect.value,
            label=format_change(effect.value),
            mark=effect.mark,
            description=_describe(replace(effect, name=f"{one} and {other}"), "points"),
        )
        for (one, other), effect in effects.items()
        if effect.value is not None
    }
    return Figure(
        title=title,
        draw=partial(draw_matrix, title, parts, cells),
        caption=MATRIX_CAPTION,
        text_lines=tuple(f"{one} and {other}: {effect_label(effect)}" for (one, other), effect in effects.items()),
        name=name,
        values=FigureValues(
            columns=INTERACTION_COLUMNS,
            rows=tuple((one, other, *_effect_values(effect)) for (one, other), effect in effects.items()),
        ),
    )


def _place(parts: Sequence[str], one: str, other: str) -> tuple[int, int]:
    places = sorted((parts.index(one), parts.index(other)))
    return places[1], places[0]
