"""A page for pull requests and notebooks."""

import re

from outweigh.report.document import Block, Bullets, Heading, Listing, Picture, Report, Table
from outweigh.report.wording import visible

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&$])")
_LINKED = re.compile(r"([@#])")
_FENCE = re.compile(r"`{3,}")
_ZERO_WIDTH_SPACE = "\u200b"


class MarkdownReporter:
    """GitHub-flavoured Markdown; whatever comes from the records stays text."""

    def render(self, report: Report) -> str:
        """Headline, then block after block."""
        parts = [f"## {_escape(report.headline)}", *map(_block, report.blocks)]
        return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading():
            return f"## {_escape(block.title)}"
        case Table():
            return _table(block)
        case Bullets():
            return _list(block.title, block.items)
        case Picture():
            return _list(block.title, block.words)
        case Listing():
            return _listing(block)


def _table(table: Table) -> str:
    ruler = "|".join([" :-- ", *[" --: "] * (len(table.columns) - 1)])
    lines = [_row(table.columns), f"|{ruler}|", *map(_row, table.rows)]
    return "\n".join([f"### {_escape(table.title)}", "", *lines])


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(map(_escape, cells)) + " |"


def _list(title: str, items: tuple[str, ...]) -> str:
    return "\n".join([f"### {_escape(title)}", "", *(f"- {_escape(item)}" for item in items)])


def _listing(block: Listing) -> str:
    """A fenced block; its fence is longer than any in the lines, so that none of them can end it."""
    lines = [visible(line) for line in block.lines]
    longest = max((len(found) for line in lines for found in _FENCE.findall(line)), default=2)
    fence = "`" * (longest + 1)
    return "\n".join([f"### {_escape(block.title)}", "", fence, *lines, fence])


def _escape(text: str) -> str:
    """Neutralise markup; a line break would end a table row."""
    escaped = _SPECIAL.sub(r"\\\1", visible(" ".join(text.split())))
    # Forges link @names and #numbers after unescaping; only something in between stops them.
    return _LINKED.sub(f"\\1{_ZERO_WIDTH_SPACE}", escaped)
