"""A page for the terminal; plain where there is none."""

import unicodedata

from outweigh.report.document import Bullets, Report, Table, Tone
from outweigh.report.wording import visible

_COLOURS = {Tone.GOOD: "32", Tone.BAD: "31", Tone.UNSURE: "33", Tone.PLAIN: "0"}
_WORDS = {"better": Tone.GOOD, "worse": Tone.BAD, "holds": Tone.GOOD, "fails": Tone.BAD, "unknown": Tone.UNSURE}


class TextReporter:
    """Aligned columns; colours only when asked for."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def render(self, report: Report) -> str:
        """Headline, then block after block."""
        parts = [self._paint(visible(report.headline), report.tone, bold=True)]
        for block in report.blocks:
            parts.append(self._table(block) if isinstance(block, Table) else self._bullets(block))
        return "\n\n".join(parts) + "\n"

    def _bullets(self, block: Bullets) -> str:
        title = self._paint(visible(block.title), block.tone)
        return "\n".join([title, *(f"  - {visible(item)}" for item in block.items)])

    def _table(self, table: Table) -> str:
        cells = [tuple(map(visible, row)) for row in (table.columns, *table.rows)]
        widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  "
            + "  ".join(
                self._cell(cell, width, first=not index)
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        return "\n".join([visible(table.title), *lines])

    def _cell(self, cell: str, width: int, *, first: bool) -> str:
        space = " " * (width - _width(cell))
        painted = self._paint(cell, _WORDS.get(cell, Tone.PLAIN))
        return painted + space if first else space + painted

    def _paint(self, text: str, tone: Tone, *, bold: bool = False) -> str:
        if not self._colour or (tone is Tone.PLAIN and not bold):
            return text
        return f"\x1b[{'1;' if bold else ''}{_COLOURS[tone]}m{text}\x1b[0m"


def _width(text: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text if not unicodedata.combining(char)
    )
