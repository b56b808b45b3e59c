"""A report as text for the terminal; colours only when asked for."""

import re
import shlex
import textwrap
import unicodedata
from collections.abc import Sequence

from outweigh.report.document import (
    PAIRS_TITLE,
    WORD_TONES,
    Block,
    BulletList,
    CodeBlock,
    Details,
    Figure,
    Heading,
    KeyPoints,
    Paragraph,
    Report,
    Table,
    TaskPairs,
    Tone,
)
from outweigh.report.formatting import escape_controls

_UNIT = re.compile(r"(\d) (%|s|min|h|points?)(?!\w)")
"""A number and its unit stay on one line."""
_COLOURS = {Tone.GOOD: "32", Tone.BAD: "31", Tone.UNSURE: "33", Tone.PLAIN: "0"}


SCREEN_WIDTH = 100
"""Sentences under a headline and key points are wrapped to it where the screen is not narrower; tables are not."""


class TextReporter:
    """Aligned columns; colours only when asked for."""

    def __init__(self, *, colour: bool, width: int = SCREEN_WIDTH) -> None:
        self._colour = colour
        self._width = width

    def render(self, report: Report) -> str:
        """Headline, then block after block."""
        headline = self._paint(escape_controls(report.headline), report.tone, bold=True)
        parts = [headline, self._wrap(report.lead), *map(self._block, report.blocks)]
        return "\n\n".join(filter(None, parts)) + "\n"

    def _block(self, block: Block) -> str:  # noqa: PLR0911 - one for every kind of block
        match block:
            case Heading():
                title = self._paint(escape_controls(block.title), block.tone, bold=True)
                return f"{title}\n\n{self._wrap(block.lead)}" if block.lead else title
            case Table():
                return self._table(block)
            case BulletList():
                return self._list(block.title, [f"- {item}" for item in block.items], block.tone)
            case KeyPoints():
                return self._key_points(block)
            case Figure():
                told = [*block.text_chart, *(f"- {line}" for line in block.text_lines)]
                return self._list(block.title, told, Tone.PLAIN) if told else ""
            case Paragraph():
                title = self._paint(escape_controls(block.title), Tone.PLAIN)
                return f"{title}\n{self._wrap(block.text, '  ', 2)}"
            case CodeBlock():
                return self._list(block.title, block.lines, Tone.PLAIN)
            case TaskPairs():
                commands = [pair.command for pair in block.pairs if pair is not None]
                table = f"{self._table(block.table)}\n  {self._wrap(block.note, indent=2)}"
                return table if not commands else f"{table}\n\n{self._list(PAIRS_TITLE, commands, Tone.PLAIN)}"
            case Details():
                if block.fallback is not None:
                    return self._list(block.title, [block.fallback], Tone.PLAIN)
                title = self._paint(escape_controls(block.title), block.badge.tone if block.badge else Tone.PLAIN)
                return "\n\n".join(filter(None, (title, self._wrap(block.lead), *map(self._block, block.blocks))))

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
        return "\n".join([*([escape_controls(table.title)] if table.title else []), *lines])

    def _cell(self, cell: str, width: int, *, first: bool) -> str:
        space = " " * (width - _width(cell))
        painted = self._paint(cell, WORD_TONES.get(cell, Tone.PLAIN))
        return painted + space if first else space + painted

    def _paint(self, text: str, tone: Tone, *, bold: bool = False) -> str:
        if not self._colour or (tone is Tone.PLAIN and not bold):
            return text
        return f"\x1b[{'1;' if bold else ''}{_COLOURS[tone]}m{text}\x1b[0m"

    def _wrap(self, text: str, label: str = "", indent: int = 0, lines: int | None = None) -> str:
        """Lines of at most the screen's width; names are never broken."""
        wrapped = textwrap.TextWrapper(
            self._width,
            initial_indent=f"{label:<{indent}}",
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
            max_lines=lines,
            placeholder=" …",
        )
        return wrapped.fill(_UNIT.sub("\\1\u00a0\\2", escape_controls(text))).replace("\u00a0", " ")

    def _key_points(self, block: KeyPoints) -> str:
        indent = max((len(label) for label, _ in block.rows), default=0) + 2
        parts = []
        for label, text in block.rows:
            parts.append(self._wrap(text, escape_controls(label), indent, block.most_lines.get(label)))
            parts.extend(" " * indent + line for line in self._command_lines(block.commands.get(label), indent))
        return "\n".join(parts)

    def _command_lines(self, command: str | None, indent: int) -> list[str]:
        """A command that can be pasted: a long one goes on in the next line, where a shell reads on too."""
        if command is None:
            return []
        lines: list[str] = []
        for part in _command_parts(command):
            if not lines:
                lines = [part]
            elif len(lines[-1]) + 1 + len(part) <= self._width - indent - len(" \\"):
                lines[-1] += f" {part}"
            else:
                lines[-1] += " \\"
                lines.append(f"  {part}")
        return lines


def _command_parts(command: str) -> list[str]:
    """The words of a command, each option together with its value."""
    parts: list[str] = []
    for word in shlex.split(escape_controls(command)):
        quoted = shlex.quote(word)
        if parts and parts[-1].startswith("-") and not word.startswith("-") and " " not in parts[-1]:
            parts[-1] += f" {quoted}"
        else:
            parts.append(quoted)
    return parts


def _width(text: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text if not unicodedata.combining(char)
    )
