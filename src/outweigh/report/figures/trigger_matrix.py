"""Figure of which skill was asked for in each kind of trigger case: the confusion matrix of an arm's skills."""

from collections.abc import Mapping
from functools import partial

from outweigh.compare.trigger_outcomes import NO_SKILL, UNKNOWN_SKILL
from outweigh.report.document import Figure, FigureValues
from outweigh.report.formatting import pluralize
from outweigh.report.svg.heat_map import HeatCell, HeatRow, draw_heat_map

MOST_COLUMNS = 12
OTHERS = "other skills"
CAPTION = (
    "Rows are what the cases of a row expect, columns what the model asked for first. A skill whose row is dark "
    "outside its own column does not fire where it should, and the column says which skill was asked for instead."
)


def confusion_figure(arm: str, rows: Mapping[str, Mapping[str, int]]) -> Figure:
    """One arm: how many runs of each kind of case asked for which skill."""
    columns = _columns(rows)
    shown = {expected: _fold(asked, columns) for expected, asked in rows.items()}
    title = f"Which skill was asked for ({arm})"
    heat = tuple(
        HeatRow(task=expected, cells=tuple(_cell(arm, expected, column, asked) for column in columns))
        for expected, asked in shown.items()
    )
    return Figure(
        title=title,
        draw=partial(draw_heat_map, title, columns, heat),
        caption=CAPTION,
        text_lines=tuple(_text(expected, asked) for expected, asked in shown.items()),
        name=f"triggers-{arm}",
        values=FigureValues(
            columns=("expected", *columns),
            rows=tuple((expected, *(asked.get(column, 0) for column in columns)) for expected, asked in shown.items()),
        ),
    )


def _columns(rows: Mapping[str, Mapping[str, int]]) -> tuple[str, ...]:
    """The skills that cases expect, then others by how often they were asked for, then none and unknown."""
    totals: dict[str, int] = {}
    for asked in rows.values():
        for skill, runs in asked.items():
            totals[skill] = totals.get(skill, 0) + runs
    last = [name for name in (NO_SKILL, UNKNOWN_SKILL) if name in totals]
    expected = [name for name in rows if name in totals]
    others = sorted((name for name in totals if name not in (*expected, *last)), key=lambda name: (-totals[name], name))
    most = max(1, MOST_COLUMNS - len(expected) - len(last))
    kept = others if len(others) <= most else [*others[: most - 1], OTHERS]
    return (*expected, *kept, *last)


def _fold(asked: Mapping[str, int], columns: tuple[str, ...]) -> dict[str, int]:
    """The counts of a row under the columns; what has none of its own is counted as another skill."""
    folded: dict[str, int] = {}
    for skill, runs in asked.items():
        name = skill if skill in columns else OTHERS
        folded[name] = folded.get(name, 0) + runs
    return folded


def _cell(arm: str, expected: str, column: str, asked: Mapping[str, int]) -> HeatCell:
    runs, total = asked.get(column, 0), sum(asked.values())
    said = f"{arm}: of {pluralize(total, 'run')} of cases for {expected}, {runs} asked for {column}"
    return HeatCell(passes=runs, runs=total, flaky=False, description=said)


def _text(expected: str, asked: Mapping[str, int]) -> str:
    counts = ", ".join(f"{name} {runs}" for name, runs in sorted(asked.items(), key=lambda item: (-item[1], item[0])))
    return f"{expected}: {counts}"
