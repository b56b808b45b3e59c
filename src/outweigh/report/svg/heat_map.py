"""The heat map: tasks down, arms across, a stronger shade where more runs passed, flaky tasks marked."""

from collections.abc import Sequence

from msgspec import Struct

from outweigh.report.formatting import shorten_name
from outweigh.report.svg.elements import rectangle, svg_document, text_element

ROW_HEIGHT, HEAD_HEIGHT = 24, 26
NAMES_PERCENT = 34.0
"""The names' part of the width, in percent."""

STRONGEST_SHADE = 0.35
"""Cells have the colour of the text, so that more always stands out more from the page, by day and by night. They stay
faint enough for the figures in them."""


class HeatCell(Struct, frozen=True, kw_only=True):
    """One task in one arm: passes of counted runs; `flaky` where some passed and some did not."""

    passes: int
    runs: int
    flaky: bool
    description: str


class HeatRow(Struct, frozen=True, kw_only=True):
    """A task and its cells, None where an arm has no counted run of it."""

    task: str
    cells: tuple[HeatCell | None, ...]


def draw_heat_map(title: str, arms: Sequence[str], rows: Sequence[HeatRow]) -> str:
    """Every cell says how many runs passed; `~` marks a flaky one, a dashed frame one without a run."""
    width = (100 - NAMES_PERCENT) / len(arms)
    letters = max(4, int(30 / len(arms)))
    parts = [
        text_element(
            shorten_name(arm, letters),
            x=f"{NAMES_PERCENT + (number + 0.5) * width:.2f}%",
            y=16,
            anchor="middle",
            kind="ow-name",
        )
        for number, arm in enumerate(arms)
    ]
    for place, row in enumerate(rows):
        top = HEAD_HEIGHT + place * ROW_HEIGHT
        parts.append(text_element(shorten_name(row.task, 18), x="0", y=top + 16, kind="ow-small"))
        for number, cell in enumerate(row.cells):
            parts.append(_cell(row.task, cell, NAMES_PERCENT + number * width, top, width))
    return svg_document(title, HEAD_HEIGHT + ROW_HEIGHT * len(rows) + 4, parts)


def _cell(task: str, cell: HeatCell | None, left: float, top: float, width: float) -> str:
    box = {"left": left + 0.3, "top": top + 1, "width": width - 0.6, "height": ROW_HEIGHT - 2.0}
    if cell is None:
        return rectangle(f"{task}: no counted run", kind="ow-empty", **box)
    share = cell.passes / cell.runs
    label = f"{cell.passes}/{cell.runs}{' ~' if cell.flaky else ''}"
    drawn = rectangle(cell.description, kind="ow-cell", shade=STRONGEST_SHADE * share, **box)
    return drawn + text_element(label, x=f"{left + width / 2:.2f}%", y=top + 16, anchor="middle", kind="ow-figure")
