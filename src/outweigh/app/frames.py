"""Data frames of any library, in and out, through the Arrow C interface. Needs pyarrow, and nothing else.

A frame holds whole records in a column `record`, as `outweigh store export -o FILE.parquet` and a `Store` give them, or
one run per row in columns that are mapped as `outweigh import table` maps them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec

from outweigh.errors import EvidenceError, UsageError, install_command, quote_names
from outweigh.interop.imported_run import number_rows
from outweigh.interop.table.columns import MappedColumn, make_row_run, map_columns
from outweigh.interop.table_rows import SAMPLED_ROWS, TableRow
from outweigh.model.codec import InvalidLine, LocatedRecord, OnInvalid, decode_lines
from outweigh.model.run_record import RunRecord
from outweigh.store.parquet import RECORD

FRAME_NAME = "<data frame>"


@runtime_checkable
class ArrowFrame(Protocol):
    """Anything with the Arrow C interface: a frame of pandas or polars, a table of pyarrow, a store."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of Arrow."""


class FrameRecords:
    """The records of a data frame. A row that cannot be read is treated like a line of a file that cannot be read."""

    def __init__(self, frame: ArrowFrame, columns: Mapping[str, str]) -> None:
        # Copied at once: a stream can be taken only once, and records may be read more often.
        self._table: Any = _pyarrow().table(frame)
        self._columns = columns

    def records(self, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:
        """Row by row; the number of a row, from 1, is its line."""
        if not self._table.num_rows:
            raise EvidenceError(f"{FRAME_NAME} has no rows.")
        if RECORD in self._table.column_names:
            return decode_lines(self._lines(), FRAME_NAME, on_invalid)
        return self._runs(on_invalid)

    def _lines(self) -> Iterator[bytes]:
        for value in self._values(RECORD):
            line = value if isinstance(value, bytes) else str(value).encode()
            # An empty line of a file is no record; an empty cell is a record that is missing.
            yield line if line.strip() else b"null"

    def _values(self, column: str) -> Iterator[Any]:
        for chunk in self._table.column(column).chunks:
            yield from chunk.to_pylist()

    def _runs(self, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:
        columns = self._mapped_columns()
        rows = [(row.line, run) for row in self._rows() if (run := _read_row(row, columns, on_invalid)) is not None]
        numbered = any(column.field == "repeat" for column in columns)
        numbers = () if numbered else tuple(number_rows(run for _, run in rows))
        for place, (line, run) in enumerate(rows):
            if numbered:
                yield LocatedRecord(run, FRAME_NAME, line)
                continue
            number = numbers[place]
            trial = msgspec.structs.replace(run.trial, repeat=number.repeat)
            extra = run.extra | number.extra()
            yield LocatedRecord(msgspec.structs.replace(run, trial=trial, extra=extra), FRAME_NAME, line)

    def _mapped_columns(self) -> Sequence[MappedColumn]:
        sample: dict[str, Any] = {}
        for row in islice(self._rows(), SAMPLED_ROWS):
            for name, value in row.cells.items():
                if sample.get(name) in (None, ""):
                    sample[name] = value
        columns = map_columns(self._columns, sample)
        missing = {"task_id", "arm", "success"} - {column.field for column in columns}
        if missing:
            raise UsageError(
                f"{FRAME_NAME} has no column for the {quote_names(sorted(missing))} of a run; it has "
                f'{quote_names(sample, 30)}. Name them by columns={{"task_id": …, "arm": …, "success": …}}.'
            )
        return columns

    def _rows(self) -> Iterator[TableRow]:
        number = 0
        for batch in self._table.to_batches(max_chunksize=10_000):
            for cells in batch.to_pylist():
                number += 1
                yield TableRow(Path(FRAME_NAME), number, cells)


def _read_row(row: TableRow, columns: Sequence[MappedColumn], on_invalid: OnInvalid) -> RunRecord | None:
    try:
        return make_row_run(row, columns, None)
    except ValueError as fault:
        on_invalid(InvalidLine(FRAME_NAME, row.line, str(fault)))
        return None


def stream_rows(rows: Sequence[Mapping[str, object]], requested_schema: object) -> object:
    """Rows as a stream of Arrow."""
    table: Any = _pyarrow().Table.from_pylist([dict(row) for row in rows])
    stream: object = table.__arrow_c_stream__(requested_schema)
    return stream


def _pyarrow() -> Any:
    try:
        import pyarrow  # noqa: PLC0415 - heavy, and an extra
    except ImportError as fault:
        raise UsageError(f"data frames need pyarrow: {install_command('parquet')}.") from fault
    return pyarrow
