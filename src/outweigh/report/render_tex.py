"""A report as LaTeX: its sentences and tables, without any package. Everything from the records is escaped.

The file is a document of its own, and can be read into another one with `\\input`.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from outweigh.report.document import BulletList, KeyPoints, Paragraph, Report, Table, TaskPairs, unfolded
from outweigh.report.formatting import escape_controls

MOST_ROWS = 40
"""So many rows fit on a page; a longer table becomes several."""
NARROW_COLUMNS = 6
"""A table with more columns is set in smaller type."""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\ttfamily\char34}",
    "`": r"{\ttfamily\char96}",
    # After the end of a row, these would be read as options of it.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    # Two of them would become a dash.
    "-": "{-}",
    "−": "$-$",
    "–": "--",
    "…": r"\ldots{}",
    "→": r"$\to$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "’": "'",
    "ß": r"\ss{}",
    "\u00a0": "~",
}
_ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"', "\u0327": "c", "\u030c": "v"}
_NEGATIVE = re.compile(r"(?<![\w.])-(?=[$\d])")

_HEAD = r"""\expandafter\ifx\csname @nodocument\endcsname\relax
\def\outweighend{}
\else
\documentclass{article}
\begin{document}
\def\outweighend{\end{document}}
\fi"""
r"""LaTeX sets `\@nodocument` to `\relax` where a document begins, so that this begins one only where there is none."""


class TexReporter:
    """Sentences as paragraphs, every table as `tabular`; figures are left to the files that they are written to."""

    def render(self, report: Report) -> str:
        """The whole file."""
        parts = [f"% {_ascii(report.headline)}", _HEAD, *_body(report), r"\outweighend"]
        return "\n\n".join(parts) + "\n"


def _body(report: Report) -> Iterator[str]:
    if report.lead:
        yield escape_tex(report.lead)
    for block in unfolded(report.blocks):
        match block:
            case Table():
                yield from _tables(block)
            case TaskPairs():
                yield from _tables(block.table)
            case BulletList():
                items = "\n".join(f"\\item {escape_tex(item)}" for item in block.items)
                yield f"\\paragraph{{{escape_tex(block.title)}}}\n\\begin{{itemize}}\n{items}\n\\end{{itemize}}"
            case Paragraph():
                yield f"\\paragraph{{{escape_tex(block.title)}}} {escape_tex(block.text)}"
            case KeyPoints():
                yield from (f"\\paragraph{{{escape_tex(label)}}} {escape_tex(text)}" for label, text in block.rows)


def _tables(table: Table) -> Iterator[str]:
    """One table, or several where it is long."""
    count = max(1, -(-len(table.rows) // MOST_ROWS))
    for number in range(count):
        rows = table.rows[number * MOST_ROWS : (number + 1) * MOST_ROWS]
        yield _table(table, rows, f" ({number + 1} of {count})" if count > 1 else "")


def _table(table: Table, rows: Sequence[tuple[str, ...]], part: str) -> str:
    small = r"\small" if len(table.columns) <= NARROW_COLUMNS else r"\scriptsize\setlength{\tabcolsep}{3pt}"
    lines = [
        r"\begin{table}[htbp]",
        r"\centering",
        f"\\caption{{{escape_tex(f'{table.title}{part}')}}}",
        small,
        f"\\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
        r"\hline",
        _row(table.columns),
        r"\hline",
        *map(_row, rows),
        r"\hline",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    first, *others = cells
    # A hyphen before a number is a minus sign; in a name it is a hyphen.
    numbers = [_NEGATIVE.sub("−", cell) for cell in others]
    return " & ".join(map(escape_tex, (first, *numbers))) + r" \\"


def escape_tex(text: str) -> str:
    """Text from a file as LaTeX may have it: ASCII without commands; what TeX has no name for is shown by its code."""
    return "".join(_SPECIAL.get(char) or _letter(char) for char in escape_controls(text))


def _letter(char: str) -> str:
    if char.isascii():
        return char
    plain, *accents = list(unicodedata.normalize("NFD", char))
    if plain.isascii() and plain.isalpha() and len(accents) == 1 and accents[0] in _ACCENTS:
        # An accent stands on an i or a j without its dot.
        letter = f"\\{plain}{{}}" if plain in "ij" else plain
        return f"\\{_ACCENTS[accents[0]]}{{{letter}}}"
    return f"{{[}}U+{ord(char):04X}{{]}}"


def _ascii(text: str) -> str:
    """One line of a comment."""
    return escape_controls(" ".join(text.split())).encode("ascii", "replace").decode()
