"""A report as Markdown, for pull requests and notebooks; everything from the records is escaped."""

import re
import textwrap
from html import escape

from outweigh.report.document import (
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
)
from outweigh.report.formatting import escape_controls
from outweigh.report.stamp import markdown_stamp

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&$])")
_LINKED = re.compile(r"([@#])")
_FENCE = re.compile(r"`{3,}")
_ZERO_WIDTH_SPACE = "\u200b"


class MarkdownReporter:
    """GitHub-flavoured Markdown; whatever comes from the records stays text."""

    def render(self, report: Report) -> str:
        """Headline, then block after block."""
        parts = [f"## {_escape(report.headline)}", _escape(report.lead), *map(_block, report.blocks)]
        return "\n\n".join(filter(None, (*parts, markdown_stamp(report.payload)))) + "\n"


def _block(block: Block) -> str:  # noqa: PLR0911 - one for every kind of block
    match block:
        case Heading():
            return "\n\n".join(filter(None, (f"## {_escape(block.title)}", _escape(block.lead))))
        case Table():
            return _table(block)
        case BulletList():
            return _list(block.title, block.items)
        case KeyPoints():
            return "\n".join(_key_point(label, text, block.commands.get(label)) for label, text in block.rows)
        case Figure():
            return _figure(block)
        case Paragraph():
            return f"### {_escape(block.title)}\n\n{_escape(block.text)}"
        case CodeBlock():
            return _listing(block)
        case TaskPairs():
            commands = tuple(pair.command for pair in block.pairs if pair is not None)
            return "\n\n".join(
                filter(None, (_table(block.table), _escape(block.note), _fenced(commands) if commands else ""))
            )
        case Details():
            if block.fallback is not None:
                return f"### {_escape(block.title)}\n\n{_escape(block.fallback)}"
            title = _LINKED.sub(f"\\1{_ZERO_WIDTH_SPACE}", escape(escape_controls(block.title)))
            inner = filter(None, (_escape(block.lead), *map(_block, block.blocks)))
            # A forge shows it folded; elsewhere it is a part under its title.
            return "\n\n".join([f"<details><summary>{title}</summary>", *inner, "</details>"])


def _key_point(label: str, text: str, command: str | None) -> str:
    said = f"- **{_escape(label)}:** {_escape(text)}"
    return said if command is None else f"{said}\n\n{textwrap.indent(_fenced((command,)), '  ')}\n"


def _table(table: Table) -> str:
    ruler = "|".join([" :-- ", *[" --: "] * (len(table.columns) - 1)])
    lines = [_row(table.columns), f"|{ruler}|", *map(_row, table.rows)]
    title = [f"### {_escape(table.title)}", ""] if table.title else []
    return "\n".join([*title, *lines])


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(map(_escape, cells)) + " |"


def _list(title: str, items: tuple[str, ...]) -> str:
    return "\n".join([f"### {_escape(title)}", "", *(f"- {_escape(item)}" for item in items)])


def _figure(figure: Figure) -> str:
    """Drawn in letters, and told in words; what has neither is left to pages with figures."""
    if not (figure.text_lines or figure.text_chart):
        return ""
    told = "\n".join(f"- {_escape(item)}" for item in figure.text_lines)
    drawn = _fenced(figure.text_chart) if figure.text_chart else ""
    return "\n\n".join(part for part in (f"### {_escape(figure.title)}", drawn, told) if part)


def _listing(block: CodeBlock) -> str:
    return f"### {_escape(block.title)}\n\n{_fenced(block.lines)}"


def _fenced(lines: tuple[str, ...]) -> str:
    """The fence is longer than any in the lines, so that none of them can end it."""
    shown = [escape_controls(line) for line in lines]
    longest = max((len(found) for line in shown for found in _FENCE.findall(line)), default=2)
    fence = "`" * (longest + 1)
    return "\n".join([fence, *shown, fence])


def _escape(text: str) -> str:
    """Neutralise markup; a line break would end a table row."""
    escaped = _SPECIAL.sub(r"\\\1", escape_controls(" ".join(text.split())))
    # Forges link @names and #numbers after unescaping; only something in between stops them.
    return _LINKED.sub(f"\\1{_ZERO_WIDTH_SPACE}", escaped)
