"""Files of lines: JSON Lines and tables, with one line or one cell wrong."""

import csv
import io
from collections.abc import Callable
from random import Random

from outweigh.testing.damage.json_damage import broken_json

WRONG_CELLS = (
    '"',
    "",
    "-1",
    "nan",
    "inf",
    "1e400",
    "9" * 30,
    "x\0y",
    "1,000",
    "0.5",
    "\ud83d",
    'a "quoted" b',
    "=1+1",
    "\n",
)
NO_FIGURES = ("", "NA", "nan", "-1", "x", "inf", "1e400", "9" * 30)


def broken_lines(content: bytes, chance: Random) -> bytes | None:
    """JSON Lines with a line gone, doubled, moved, run into the next one, or wrong inside."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return None
    number = chance.randrange(len(lines))
    match chance.randrange(6):
        case 0:
            del lines[number]
        case 1:
            lines.insert(chance.randint(0, len(lines)), lines[number])
        case 2:
            lines[number] = lines[number].rstrip(b"\r\n")
        case _:
            return in_a_line(content, chance, broken_json)
    return b"".join(lines)


def in_a_line(content: bytes, chance: Random, change: Callable[[bytes, Random], bytes | None]) -> bytes | None:
    """JSON Lines of which one is changed."""
    lines = content.splitlines(keepends=True)
    number = chance.randrange(len(lines)) if lines else 0
    changed = change(lines[number], chance) if lines else None
    if changed is None:
        return None
    return b"".join([*lines[:number], changed, b"\n", *lines[number + 1 :]])


def broken_table(content: bytes, chance: Random, delimiter: str = ",") -> bytes | None:
    """A table with a cell wrong, a row too short or too long, a column gone or there twice."""
    rows = _rows(content, delimiter)
    if len(rows) < 2:
        return None
    row = chance.choice(rows)
    column = chance.randrange(len(row)) if row else 0
    match chance.randrange(6):
        case 0 if row:
            del row[column]
        case 1:
            row.append("more")
        case 2 if row:
            row[column] = chance.choice(WRONG_CELLS)
        case 3:
            rows.insert(chance.randint(0, len(rows)), list(row))
        case 4:
            rows = [cells[:column] + cells[column + 1 :] for cells in rows]
        case _:
            return _written(rows, delimiter).replace(b'"', b"", 1) + b'"open\n'
    return _written(rows, delimiter)


def table_without_a_figure(content: bytes, chance: Random, delimiter: str = ",") -> bytes | None:
    """A table in which the number of one cell is gone."""
    rows = _rows(content, delimiter)
    places = [(row, number) for row in rows[1:] for number, cell in enumerate(row) if _is_number(cell)]
    if not places:
        return None
    row, number = chance.choice(places)
    row[number] = chance.choice(NO_FIGURES)
    return _written(rows, delimiter)


def _rows(content: bytes, delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=delimiter))
    except (ValueError, csv.Error):
        return []


def _written(rows: list[list[str]], delimiter: str) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
