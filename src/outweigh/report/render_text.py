"""A report as text for the terminal; colours only when asked for."""

import textwrap
import unicodedata
from collections.abc import Sequence

from outweigh.report.document import (
    WORD_TONES,
    Block,
    BulletList,
    CodeBlock,
    Details,
    Figure,
    Heading,
    KeyPoints,
    Report,
    Table,
    Tone,
)
from outweigh.report.formatting import escape_controls

_COLOURS = {Tone.GOOD: "32", Tone.BAD: "31", Tone.UNSURE: "33", Tone.PLAIN: "0"}


SCREEN_WIDTH = 100
"""Sentences under a headline and key points are wrapped to it; tables, charts and lists are not."""


class TextReporter:
    """Aligned columns; colours only when asked for."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def render(self, report: Report) -> str:
        """Headline, then block after block."""
        headline = self._paint(escape_controls(report.headline), report.tone, bold=True)
        parts = [headline, _wrap(report.lead), *map(self._block, report.blocks)]
        return "\n\n".join(filter(None, parts)) + "\n"

    def _block(self, block: Block) -> str:  # noqa: PLR0911 - one for every kind of block
        match block:
            case Heading():
                title = self._paint(escape_controls(block.title), block.tone, bold=True)
                return f"{title}\n\n{_wrap(block.lead)}" if block.lead else title
            case Table():
                return self._table(block)
            case BulletList():
                return self._list(block.title, [f"- {item}" for item in block.items], block.tone)
            case KeyPoints():
                return _key_points(block)
            case Figure():
                told = [*block.text_chart, *(f"- {line}" for line in block.text_lines)]
                return self._list(block.title, told, Tone.PLAIN) if told else ""
            case CodeBlock():
                return self._list(block.title, block.lines, Tone.PLAIN)
            case Details():
                return self._list(block.title, [block.fallback], Tone.PLAIN)

    def _list(self, title: str, lines: Sequence[str], tone: Tone) -> str:
        return "\n".join([self._paint(escape_controls(title), tone), *(f"  {escape_controls(line)}" for line in lines)])

    def _table(self, table: Table) -> str:
        cells = [tuple(map(escape_controls, row)) for row in (table.columns, *table.rows)]
        widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  "
            + "  ".join(
                self._cell(cell, width, first=not index)
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        return "\n".join([escape_controls(table.title), *lines])

    def _cell(self, cell: str, width: int, *, first: bool) -> str:
        space = " " * (width - _width(cell))
        painted = self._paint(cell, WORD_TONES.get(cell, Tone.PLAIN))
        return painted + space if first else space + painted

    def _paint(self, text: str, tone: Tone, *, bold: bool = False) -> str:
        if not self._colour or (tone is Tone.PLAIN and not bold):
            return text
        return f"\x1b[{'1;' if bold else ''}{_COLOURS[tone]}m{text}\x1b[0m"


def _wrap(text: str, label: str = "", indent: int = 0) -> str:
    """Lines of at most the screen's width; names and commands are never broken."""
    return textwrap.fill(
        escape_controls(text),
        SCREEN_WIDTH,
        initial_indent=f"{label:<{indent}}",
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _key_points(block: KeyPoints) -> str:
    widest = max((len(label) for label, _ in block.rows), default=0)
    return "\n".join(_wrap(text, escape_controls(label), widest + 2) for label, text in block.rows)


def _width(text: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text if not unicodedata.combining(char)
    )
