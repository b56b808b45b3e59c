"""Rows of tables that people keep: CSV, TSV, JSON Lines, a JSON array, Parquet, or a folder with one JSON file per
row.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from json import dumps
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO, NamedTuple

from outweigh.errors import EvidenceError, requires_extra
from outweigh.interop.result_files import LINE_LIMIT, open_source, read_json, read_json_lines, to_utf8, walk_files
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
_SHOWN_ARRAYS = 3


class TableRow(NamedTuple):
    """The cells of a row by column, and where it is; a file that is a single row has line 0."""

    file: Path
    line: int
    cells: Mapping[str, Any]

    @property
    def label(self) -> str:
        """What to call a row that has no name."""
        return f"row {self.line:07}" if self.line else f"{self.file.parent.name}/{self.file.name}"


def table_rows(path: Path, notes: ImportNotes) -> Iterator[TableRow]:
    """The rows of a table; a row that cannot be read becomes a note. It can be called more than once."""
    suffix = path.suffix.lower()
    if path.is_dir():
        yield from _folder_rows(path, notes)
    elif suffix in (".csv", ".tsv"):
        yield from _csv_rows(path, notes)
    elif suffix in (".jsonl", ".ndjson"):
        yield from (TableRow(path, line.number, line.value) for line in read_json_lines(path, notes))
    elif suffix == ".json":
        yield from _array_rows(path, notes)
    elif suffix == ".parquet":
        yield from _parquet_rows(path)
    else:
        raise EvidenceError(
            f"{path} is not a table that is known here: its name must end in {', '.join(TABLE_SUFFIXES)}."
        )


def sampled_columns(path: Path, notes: ImportNotes | None = None) -> dict[str, Any]:
    """The columns of the first rows, each with a value if there is one; fields of objects have dotted names.

    `notes` receives the rows that cannot be read.
    """
    found: dict[str, Any] = {}
    for row in islice(table_rows(path, notes or ImportNotes()), SAMPLED_ROWS):
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


def _folder_rows(folder: Path, notes: ImportNotes) -> Iterator[TableRow]:
    for file in walk_files(folder, lambda name: name.lower().endswith(".json")):
        try:
            value = read_json(file, notes)
        except EvidenceError as fault:
            notes.unread(file, 0, str(fault))
            continue
        if isinstance(value, dict):
            yield TableRow(file, 0, value)
        else:
            notes.unread(file, 0, "not a JSON object")


def _array_rows(path: Path, notes: ImportNotes) -> Iterator[TableRow]:
    rows = read_json(path, notes)
    if not isinstance(rows, list):
        raise EvidenceError(f"{path} is not an array of rows; {_row_array_hint(rows, path)}.")
    for number, row in enumerate(rows, start=1):
        if isinstance(row, dict):
            yield TableRow(path, number, row)
        else:
            notes.unread(path, number, "not a JSON object")


def _row_array_hint(document: Any, path: Path) -> str:
    """How to get an array of rows from this document."""
    under = [name for name, value in document.items() if _are_rows(value)] if isinstance(document, dict) else []
    if not under:
        return 'write the rows as a JSON array or as JSON Lines, in pandas by to_json(orient="records")'
    taken = [f"`jq {quote(f'.[{dumps(name)}]')} {quote(str(path))} > rows.json`" for name in under[:_SHOWN_ARRAYS]]
    return f"there is one in it, which you get by {' or '.join(taken)}"


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


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
