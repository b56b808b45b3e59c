"""What the columns of a table hold: their different values, labels row by row, and whether two say the same."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

from outweigh.interop.field_values import FIRST_SECONDS, CellReader, read_label
from outweigh.interop.table.columns import COLUMN_JOINER
from outweigh.interop.table_rows import ALL_ROWS, RowSelection, cell_at, table_rows
from outweigh.ports.importers import ImportNotes

MOST_VALUES = 5_000
"""Different values of a column that are looked at; the reader of rows looks at all."""


class ColumnValues:
    """The values of some columns of a table, read once; other questions read the table again."""

    def __init__(self, path: Path, columns: set[str], selection: RowSelection = ALL_ROWS) -> None:
        self._path, self._selection = path, selection
        found: dict[str, dict[str, Any]] = {column: {} for column in columns}
        places = {column: tuple(column.split(".")) for column in columns}
        for row in self._cells():
            for column, place in places.items():
                value, values = cell_at(row, place), found[column]
                if len(values) < MOST_VALUES and label(value) is not None:
                    values.setdefault(repr(value), value)
        self._distinct = {column: list(values.values()) for column, values in found.items()}

    def of(self, column: str) -> list[Any]:
        """The values of a column that are not empty, each once, in order."""
        return self._distinct[column]

    def rows(self, specs: Sequence[str], columns: Mapping[str, Any]) -> Iterator[tuple[str | None, ...]]:
        """The labels in these columns, row by row; columns that are joined form one label."""
        places = [
            [tuple(part.split(".")) for part in ([spec] if spec in columns else spec.split(COLUMN_JOINER))]
            for spec in specs
        ]
        for cells in self._cells():
            yield tuple(_join_labels([label(cell_at(cells, place)) for place in parts]) for parts in places)

    def are_equal(self, columns: Sequence[str], read: CellReader) -> bool:
        """Whether the columns mean the same in every row, so that it does not matter which is taken."""
        places = [tuple(column.split(".")) for column in columns]
        meanings = ({read_or_keep(read, cell_at(cells, place)) for place in places} for cells in self._cells())
        return all(len(each) == 1 for each in meanings)

    def are_one_to_one(self, columns: Sequence[str]) -> bool:
        """Whether the columns tell the same rows apart, so that it does not matter which is taken for a name."""
        rows = set(self.rows(columns, dict.fromkeys(columns)))
        return all(len({row[place] for row in rows}) == len(rows) for place in range(len(columns)))

    def is_implied(self, column: str, others: Sequence[str]) -> bool:
        """Whether the other columns together say what this one has."""
        rows = set(self.rows((*others, column), dict.fromkeys((*others, column))))
        return len({row[:-1] for row in rows}) == len(rows)

    def is_unique(self, column: str) -> bool:
        """Whether no value occurs twice, in as many rows as are looked at."""
        return len(self.of(column)) == sum(1 for _ in islice(self._cells(), MOST_VALUES))

    def hold_moments(self, column: str) -> bool:
        """Whether most values are no numbers that are too small for a moment since 1970."""
        small = sum(map(_is_small_number, self.of(column)))
        return 2 * small < max(len(self.of(column)), 1)

    def _cells(self) -> Iterator[Mapping[str, Any]]:
        return (row.cells for row in table_rows(self._path, ImportNotes(), self._selection))


def label(value: Any) -> str | None:
    """A cell as part of a name; None where it is empty."""
    try:
        return read_label(value)
    except ValueError:  # a list, an object or a moment
        return repr(value)


def is_readable(read: CellReader, value: Any) -> bool:
    """Whether a field can have this value."""
    try:
        read(value)
    except ValueError:
        return False
    return True


def read_or_keep(read: CellReader, value: Any) -> Any:
    """What a cell means; the text of one that cannot be read."""
    try:
        return read(value)
    except ValueError:
        return str(value)


def _join_labels(labels: Sequence[str | None]) -> str | None:
    known = [each for each in labels if each is not None]
    return "/".join(known) if len(known) == len(labels) else None


def _is_small_number(value: Any) -> bool:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    return isfinite(number) and number < FIRST_SECONDS
