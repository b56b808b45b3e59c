"""Rows of tables that people keep: CSV, TSV, JSON Lines, a JSON array, Parquet, or a folder with one JSON file per
row.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, takewhile
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO, NamedTuple

import msgspec

from outweigh.errors import EvidenceError, requires_extra
from outweigh.interop.result_files import (
    LINE_LIMIT,
    decode_json_document,
    open_source,
    read_bytes,
    read_json,
    read_json_lines,
    to_utf8,
    walk_files,
)
from outweigh.interop.row_places import FILE_COLUMN, are_rows, array_places, holds_result, result_places, rows_at
from outweigh.ports.importers import ImportNotes

SAMPLED_ROWS = 200
MOST_COLUMNS = 10_000
TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")

MOST_EXAMPLES = 60
"""Columns that are shown with a value; a flattened table can have hundreds."""

_DELIMITERS = ",;\t|"
"""The most frequent of these in the first line is the delimiter, unless that line names it, as Excel accepts."""

_NAMED_DELIMITER = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)
_PARQUET_BATCH = 10_000
_SHOWN_ARRAYS = 5


class TableRow(NamedTuple):
    """The cells of a row by column, and where it is; a file that is a single row has line 0."""

    file: Path
    line: int
    cells: Mapping[str, Any]

    @property
    def label(self) -> str:
        """What to call a row that has no name."""
        return f"row {self.line:07}" if self.line else f"{self.file.parent.name}/{self.file.name}"


class RowSelection(NamedTuple):
    """Which rows of a source to read: the array of a JSON document at `place`, and rows with the values of `where`.

    Parts of a place are separated by points; `*` stands for every value of an object.
    """

    place: str | None = None
    where: tuple[tuple[str, str], ...] = ()

    def has(self, cells: Mapping[str, Any]) -> bool:
        """Whether a row has all the values."""
        return all(_is_value(cell_at(cells, tuple(column.split("."))), value) for column, value in self.where)


ALL_ROWS = RowSelection()


def _is_value(cell: Any, wanted: str) -> bool:
    """Whether a cell has the value that the user wrote; programs write true and false in their own ways."""
    if isinstance(cell, bool) or wanted.lower() in ("true", "false"):
        return str(cell).strip().lower() == wanted.lower()
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return ("" if cell is None else str(cell).strip()) == wanted


def cell_at(cells: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """The cell of a column, whose name may lead into objects."""
    whole = ".".join(path)
    if whole in cells:
        return cells[whole]
    value: Any = cells
    for part in path:
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


def table_rows(path: Path, notes: ImportNotes, selection: RowSelection = ALL_ROWS) -> Iterator[TableRow]:
    """The rows of a table; a row that cannot be read becomes a note. It can be called more than once."""
    found = _all_rows(path, notes, selection.place)
    return (row for row in found if selection.has(row.cells)) if selection.where else found


def _all_rows(path: Path, notes: ImportNotes, place: str | None) -> Iterator[TableRow]:
    suffix = path.suffix.lower()
    if path.is_dir():
        yield from _folder_rows(path, notes, place)
    elif suffix in (".csv", ".tsv"):
        yield from _csv_rows(path, notes)
    elif suffix in (".jsonl", ".ndjson"):
        for line in read_json_lines(path, notes):
            if place is None:
                yield TableRow(path, line.number, line.value)
            else:
                yield from _placed_rows(line.value, place, path, notes)
    elif suffix == ".json":
        yield from _array_rows(path, notes, place)
    elif suffix == ".parquet":
        yield from _parquet_rows(path)
    else:
        raise EvidenceError(
            f"{path} is not a table that is known here: its name must end in {', '.join(TABLE_SUFFIXES)}."
        )


def sampled_columns(path: Path, notes: ImportNotes | None = None, selection: RowSelection = ALL_ROWS) -> dict[str, Any]:
    """The columns of the first rows, each with a value if there is one; fields of objects have dotted names.

    `notes` receives the rows that cannot be read.
    """
    found: dict[str, Any] = {}
    for row in islice(table_rows(path, notes or ImportNotes(), selection), SAMPLED_ROWS):
        for name, value in _flatten(row.cells):
            if found.get(name) in (None, ""):
                found[name] = value
    return found


def column_examples(sample: Mapping[str, Any]) -> Iterator[str]:
    """A line for every column, with an example of its values."""
    width = max(map(len, islice(sample, MOST_EXAMPLES)), default=0)
    for name, value in islice(sample.items(), MOST_EXAMPLES):
        shown = str(value).replace("\n", " ")
        yield f"  {name:<{width}}  {shown[:50]}{'…' if len(shown) > 50 else ''}".rstrip()
    if len(sample) > MOST_EXAMPLES:
        yield f"  and {len(sample) - MOST_EXAMPLES} more"


def _flatten(cells: Mapping[str, Any], before: str = "", depth: int = 4) -> Iterator[tuple[str, Any]]:
    for name, value in cells.items():
        if isinstance(value, dict) and value and depth:
            yield from _flatten(value, f"{before}{name}.", depth - 1)
        else:
            yield before + name, value


def _folder_rows(folder: Path, notes: ImportNotes, place: str | None) -> Iterator[TableRow]:
    """The rows of every table below a folder. The column `file` says which table it is."""
    name_of = _FileNames(folder)
    for file in _tables_below(folder):
        try:
            for row in _file_rows(file, notes, place):
                named = {} if FILE_COLUMN in row.cells else {FILE_COLUMN: name_of(file)}
                yield row._replace(cells={**row.cells, **named})
        except EvidenceError as fault:
            notes.unread(file, 0, str(fault))


def _tables_below(folder: Path) -> Iterator[Path]:
    return walk_files(folder, lambda name: name.lower().endswith(TABLE_SUFFIXES))


class _FileNames:
    """Names of the files below a folder, without the folders that all of them have first or last."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        paths = map(self._parts, _tables_below(folder))
        self._first = self._last = next(paths, ())
        for parts in paths:
            self._first = _common_start(self._first, parts)
            self._last = _common_start(self._last[::-1], parts[::-1])[::-1]

    def _parts(self, file: Path) -> tuple[str, ...]:
        return file.relative_to(self._folder).with_suffix("").parts

    def __call__(self, file: Path) -> str:
        parts = self._parts(file)
        return "/".join(parts[len(self._first) : len(parts) - len(self._last)]) or "/".join(parts)


def _common_start(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for part, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _file_rows(file: Path, notes: ImportNotes, place: str | None) -> Iterator[TableRow]:
    """The rows of a file; a JSON object is one row, unless it is none and holds rows in one place."""
    if file.suffix.lower() != ".json" or place is not None:
        yield from _all_rows(file, notes, place)
        return
    value = read_json(file, notes)
    if isinstance(value, dict):
        places = [] if holds_result(value) else result_places(value)
        if len(places) == 1:
            yield from _placed_rows(value, places[0], file, notes)
        else:
            yield TableRow(file, 0, value)
    elif are_rows(value):
        yield from (TableRow(file, number, row) for number, row in enumerate(value, start=1))
    else:
        notes.unread(file, 0, "not a JSON object")


def array_texts(path: Path, notes: ImportNotes) -> Sequence[msgspec.Raw] | None:
    """The rows of a JSON array as text, which takes a fraction of the memory; None where the file is no JSON array."""
    try:
        return msgspec.json.decode(to_utf8(read_bytes(path), path, notes), type=list[msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError):
        return None


def decode_array_row(text: bytes, number: int, path: Path, notes: ImportNotes) -> TableRow | None:
    """A row of a JSON array; None with a note for what is no row."""
    row = decode_json_document(text, path, notes)
    if isinstance(row, dict):
        return TableRow(path, number, row)
    notes.unread(path, number, "not a JSON object")
    return None


def _array_rows(path: Path, notes: ImportNotes, place: str | None) -> Iterator[TableRow]:
    texts = array_texts(path, notes) if place is None else None
    if texts is not None:
        found = (decode_array_row(bytes(text), number, path, notes) for number, text in enumerate(texts, start=1))
        yield from (row for row in found if row is not None)
        return
    rows = read_json(path, notes)
    if place is None and isinstance(rows, dict):
        place = _only_place(rows, path)
    if place is not None:
        yield from _placed_rows(rows, place, path, notes)
        return
    if not isinstance(rows, list):
        raise EvidenceError(f"{path} is not an array of rows; {_row_array_hint([], path)}.")
    for number, row in enumerate(rows, start=1):
        if isinstance(row, dict):
            yield TableRow(path, number, row)
        else:
            notes.unread(path, number, "not a JSON object")


def _only_place(document: Mapping[str, Any], path: Path) -> str:
    """Where the rows of a document are: the only place with results, or its only array."""
    results, arrays = result_places(document), array_places(document)
    for found in (results, arrays):
        if len(found) == 1:
            return found[0]
    raise EvidenceError(f"{path} is not an array of rows; {_row_array_hint(results or arrays, path)}.")


def _placed_rows(document: Any, place: str, path: Path, notes: ImportNotes) -> Iterator[TableRow]:
    """The rows in an array of a document, each with the plain values of the objects around it."""
    number = 0
    for number, row in enumerate(rows_at(document, place), start=1):
        if row is None:
            notes.unread(path, number, f"what is at {place} is no object")
        else:
            yield TableRow(path, number, row)
    if not number:
        found = array_places(document)
        raise EvidenceError(f"{path} has no rows at {place!r}; {_row_array_hint(found, path)}.")


def _row_array_hint(places: list[str], path: Path) -> str:
    """How to read an array of rows of this document."""
    if not places:
        return 'write the rows as a JSON array or as JSON Lines, in pandas by to_json(orient="records")'
    ways = [f"`outweigh import table {quote(str(path))} -o RUNS --rows {quote(place)}`" for place in places]
    return f"name the array with the runs: {' or '.join(ways[:_SHOWN_ARRAYS])}"


def _csv_rows(path: Path, notes: ImportNotes) -> Iterator[TableRow]:
    with open_source(path) as stream:
        lines = _text_lines(stream, path, notes)
        first = next(lines, "")
        named = _NAMED_DELIMITER.fullmatch(first)
        delimiter = max(_DELIMITERS, key=first.count) if named is None else named[1]
        before = 0 if named is None else 1
        reader = csv.reader(lines if named else chain([first], lines), delimiter=delimiter, strict=True)
        try:
            header = _header(next(reader, []), path)
            for row in reader:
                if not any(map(str.strip, row)):
                    # Spreadsheets save emptied rows as separators alone.
                    continue
                line = before + reader.line_num
                if len(row) == len(header):
                    yield TableRow(path, line, dict(zip(header, row, strict=True)))
                else:
                    notes.unread(path, line, f"{len(row)} cells under {len(header)} columns")
        except csv.Error as fault:
            raise EvidenceError(
                f"{path}:{before + reader.line_num} is not a CSV file that can be read: {fault}."
            ) from None


def _text_lines(stream: BinaryIO, path: Path, notes: ImportNotes) -> Iterator[str]:
    while line := stream.readline(LINE_LIMIT):
        if len(line) == LINE_LIMIT:
            raise EvidenceError(f"{path} has a line of {LINE_LIMIT:,} bytes or more; is it a CSV file?")
        yield to_utf8(line, path, notes).decode()


def _header(names: list[str], path: Path) -> list[str]:
    if len(names) > MOST_COLUMNS:
        raise EvidenceError(f"{path} has {len(names):,} columns, which is more than {MOST_COLUMNS:,}; is it a table?")
    header = [name.strip() or f"column {number}" for number, name in enumerate(names, start=1)]
    name, times = Counter(header).most_common(1)[0] if header else ("", 0)
    if times > 1:
        raise EvidenceError(
            f"{path} has more than one column {name!r}; rename one, so that it is clear which is meant."
        )
    return header


def _parquet_rows(path: Path) -> Iterator[TableRow]:
    with requires_extra(f"{path} is a Parquet file; reading it", "parquet"):
        from pyarrow import ArrowException  # noqa: PLC0415 - heavy, and an extra
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415
    try:
        with ParquetFile(path) as table:
            number = 0
            for batch in table.iter_batches(batch_size=_PARQUET_BATCH):
                for cells in batch.to_pylist():
                    number += 1
                    yield TableRow(path, number, cells)
    except (ArrowException, OSError, UnicodeDecodeError) as fault:
        raise EvidenceError(f"{path} is not a Parquet file that can be read: {fault}.") from None
