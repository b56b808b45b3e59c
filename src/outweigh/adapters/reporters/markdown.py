"""A page for pull requests and notebooks."""

import re

from outweigh.report.document import Bullets, Report, Table
from outweigh.report.wording import visible

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&$])")
_LINKED = re.compile(r"([@#])")
_ZERO_WIDTH_SPACE = "\u200b"


class MarkdownReporter:
    """GitHub-flavoured Markdown; whatever comes from the records stays text."""

    def render(self, report: Report) -> str:
        """Headline, then block after block."""
        parts = [f"## {_escape(report.headline)}"]
        parts.extend(_table(block) if isinstance(block, Table) else _bullets(block) for block in report.blocks)
        return "\n\n".join(parts) + "\n"


def _table(table: Table) -> str:
    ruler = "|".join([" :-- ", *[" --: "] * (len(table.columns) - 1)])
    lines = [_row(table.columns), f"|{ruler}|", *map(_row, table.rows)]
    return "\n".join([f"### {_escape(table.title)}", "", *lines])


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(map(_escape, cells)) + " |"


def _bullets(block: Bullets) -> str:
    return "\n".join([f"### {_escape(block.title)}", "", *(f"- {_escape(item)}" for item in block.items)])


def _escape(text: str) -> str:
    """Neutralise markup; a line break would end a table row."""
    escaped = _SPECIAL.sub(r"\\\1", visible(" ".join(text.split())))
    # Forges link @names and #numbers after unescaping; only something in between stops them.
    return _LINKED.sub(f"\\1{_ZERO_WIDTH_SPACE}", escaped)
