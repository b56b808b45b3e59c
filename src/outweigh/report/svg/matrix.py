"""The matrix of interactions: every two parts, by how much both together differ from the sum of their effects."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from outweigh.report.formatting import shorten_name
from outweigh.report.interval_rows import ChangeMarker
from outweigh.report.svg.elements import rectangle, svg_document, text_element

CELL_HEIGHT, HEAD_HEIGHT, FOOT_HEIGHT = 28, 22, 30
NAMES_PERCENT = 34.0
MOST_FIGURES = 7
"""With more columns a figure is wider than its cell, and the cell has only its mark."""
STRONGEST_SHADE = 0.35

_SIGNS = {ChangeMarker.BETTER: "▲", ChangeMarker.WORSE: "▼"}


class MatrixCell(Struct, frozen=True, kw_only=True):
    """One pair: the value is drawn as a shade, the mark says whether chance can explain it."""

    value: float
    label: str
    mark: ChangeMarker
    description: str


def draw_matrix(title: str, names: Sequence[str], cells: Mapping[tuple[int, int], MatrixCell]) -> str:
    """Rows and columns are the names, numbered; the cell of two names is below the diagonal, by (larger, smaller)."""
    columns = max(1, len(names) - 1)
    width = (100 - NAMES_PERCENT) / columns
    largest = max((abs(cell.value) for cell in cells.values()), default=0.0) or 1.0
    parts = [
        text_element(
            str(number + 1), x=f"{NAMES_PERCENT + (number + 0.5) * width:.2f}%", y=14, anchor="middle", kind="ow-small"
        )
        for number in range(columns)
    ]
    for row, name in enumerate(names):
        top = HEAD_HEIGHT + row * CELL_HEIGHT
        parts.append(text_element(f"{row + 1}  {shorten_name(name, 15)}", x="0", y=top + 18, kind="ow-small"))
        for column in range(row):
            box = {
                "left": NAMES_PERCENT + column * width + 0.3,
                "top": top + 1.0,
                "width": width - 0.6,
                "height": CELL_HEIGHT - 2.0,
            }
            pair = f"{names[column]} and {name}"
            parts.append(_cell(cells.get((row, column)), pair, box, largest, figures=columns <= MOST_FIGURES))
    floor = HEAD_HEIGHT + CELL_HEIGHT * len(names)
    parts.append(text_element("▲ more, ▼ less than the sum of both effects", x="0", y=floor + 18, kind="ow-small"))
    return svg_document(title, floor + FOOT_HEIGHT, parts)


def _cell(cell: MatrixCell | None, pair: str, box: Mapping[str, float], largest: float, *, figures: bool) -> str:
    if cell is None:
        return rectangle(f"{pair}: unknown", kind="ow-empty", **box)
    drawn = rectangle(cell.description, kind="ow-cell", shade=STRONGEST_SHADE * abs(cell.value) / largest, **box)
    sign = _SIGNS.get(cell.mark, "")
    label = " ".join(filter(None, (sign, cell.label if figures else "")))
    if not label:
        return drawn
    x = f"{box['left'] + box['width'] / 2:.2f}%"
    return drawn + text_element(label, x=x, y=box["top"] + 17, anchor="middle", kind="ow-figure")
