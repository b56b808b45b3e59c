"""Records in Parquet: columns for data frames, and each whole record as JSON beside them, so that nothing is lost."""

import io
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from outweigh.errors import EvidenceError, MissingExtraError, requires_extra
from outweigh.model.choice import ChoiceRecord
from outweigh.model.codec import LocatedRecord, OnInvalid, Record, decode_lines, encode
from outweigh.model.judgment import Judgment, Preference
from outweigh.model.run_record import CheckResult
from outweigh.score.objective import passed

SUFFIX = ".parquet"
RECORD = "record"
BATCH_ROWS = 10_000
CHECKS = "checks"
_NAMES = ("kind", "run_id", "task_id", "arm", "status", "agent", "agent_version", "model", "cost_provenance", "judge")
_COUNTS = ("repeat", "attempt", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_MORE_COUNTS = ("step_count", "tool_call_count")
_AMOUNTS = ("passed", "duration_seconds", "cost_usd")
_DICTIONARIES = (*_NAMES, f"{CHECKS}.list.element.name")


def parquet_chunks(records: Iterable[Record]) -> Iterator[bytes]:
    """The bytes of a file, batch by batch. Names are dictionary-encoded: few arms and tasks, many runs."""
    pyarrow, parquet = _pyarrow()
    sink = _Sink()
    schema = _schema(pyarrow)
    with parquet.ParquetWriter(
        pyarrow.PythonFile(sink, mode="w"), schema, use_dictionary=list(_DICTIONARIES), compression="zstd"
    ) as writer:
        rest = iter(records)
        while batch := list(islice(rest, BATCH_ROWS)):
            writer.write_table(pyarrow.Table.from_pylist([_row(record) for record in batch], schema=schema))
            yield sink.taken()
    yield sink.taken()


def arrow_stream(records: Iterable[Record], requested_schema: object) -> object:
    """Records as an Arrow stream with the columns of a Parquet file, for data frames of any library.

    All are read before it begins: whoever takes the stream would hide what is wrong with a record.
    """
    pyarrow, _ = _pyarrow()
    schema, rest, batches = _schema(pyarrow), iter(records), []
    while batch := list(islice(rest, BATCH_ROWS)):
        batches.append(pyarrow.RecordBatch.from_pylist([_row(record) for record in batch], schema=schema))
    reader: Any = pyarrow.RecordBatchReader.from_batches(schema, batches)
    stream: object = reader.__arrow_c_stream__(requested_schema)
    return stream


def parquet_records(path: Path, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:
    """Every record of a file that we wrote, with the number of its row; a table of others' is for `import`."""
    pyarrow, parquet = _pyarrow()
    try:
        file = parquet.ParquetFile(path)
        if RECORD not in file.schema_arrow.names:
            raise EvidenceError(
                f"{path} is a table that `outweigh store export` did not write. "
                f"`outweigh import table {path}` reads it."
            )
        if not file.metadata.num_rows:
            raise EvidenceError(f"{path} holds no run record; is it the right file?")
        yield from decode_lines(_lines(file), str(path), on_invalid)
    except (pyarrow.ArrowException, OSError, ValueError) as fault:
        raise EvidenceError(f"{path} cannot be read as Parquet: {fault}.") from fault


def is_own_parquet(path: Path) -> bool:
    """Whether we wrote it; where it cannot be told, nobody says so."""
    try:
        pyarrow, parquet = _pyarrow()
    except MissingExtraError:
        return False
    try:
        names: list[str] = parquet.read_schema(path).names
    except (pyarrow.ArrowException, OSError, ValueError):
        return False
    return names == [str(name) for name in _schema(pyarrow).names]


def _lines(file: Any) -> Iterator[bytes]:
    for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=[RECORD]):
        for value in batch.column(0).to_pylist():
            yield value if isinstance(value, bytes) else str(value).encode()


def _schema(pyarrow: Any) -> Any:
    return pyarrow.schema(
        [
            *((name, pyarrow.string()) for name in _NAMES),
            *((name, pyarrow.int64()) for name in (*_COUNTS, *_MORE_COUNTS)),
            *((name, pyarrow.float64()) for name in _AMOUNTS),
            ("started_at", pyarrow.timestamp("us", tz="UTC")),
            (CHECKS, pyarrow.list_(pyarrow.struct(_check_fields(pyarrow)))),
            # Large, because the records of a batch together may be longer than a short offset reaches.
            (RECORD, pyarrow.large_string()),
        ]
    )


def _check_fields(pyarrow: Any) -> list[tuple[str, Any]]:
    counts = [("cases_passed", pyarrow.int64()), ("cases_total", pyarrow.int64())]
    return [("name", pyarrow.string()), ("required", pyarrow.bool_()), ("passed", pyarrow.bool_()), *counts]


def _row(record: Record) -> dict[str, Any]:
    """What is unknown, or no part of a record of this kind, is null."""
    row: dict[str, Any] = {
        "kind": type(record).__name__.removesuffix("Record").lower(),
        RECORD: encode(record).decode(),
    }
    if isinstance(record, Judgment):
        return row | {"run_id": record.run_id, "judge": record.judge.name}
    if isinstance(record, ChoiceRecord):
        return row | {"arm": record.arm}
    if isinstance(record, Preference):
        return row | {"task_id": record.task_id, "repeat": record.repeat, "judge": record.judge.name}
    usage = record.usage
    return row | {
        "run_id": record.run_id,
        "task_id": record.trial.task_id,
        "arm": record.trial.arm,
        "repeat": record.trial.repeat,
        "attempt": record.attempt,
        "status": record.status.value,
        "agent": record.agent.name,
        "agent_version": record.agent.version,
        "model": record.agent.model,
        "passed": passed(record).value,
        "started_at": record.started_at,
        "duration_seconds": record.duration_seconds,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "cost_usd": record.cost.usd,
        "cost_provenance": record.cost.provenance.value,
        "step_count": record.step_count,
        "tool_call_count": record.tool_call_count,
        CHECKS: None if record.checks is None else [_check(check) for check in record.checks],
    }


def _check(check: CheckResult) -> dict[str, Any]:
    return {
        "name": check.name,
        "required": check.required,
        "passed": check.passed,
        "cases_passed": check.cases_passed,
        "cases_total": check.cases_total,
    }


class _Sink(io.RawIOBase):
    """Collects what is written until somebody takes it."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        """It is there to be written to."""
        return True

    def write(self, piece: Any) -> int:
        """Keep a copy: the caller may use its buffer again."""
        content = bytes(piece)
        self._pieces.append(content)
        self._size += len(content)
        return len(content)

    def tell(self) -> int:
        """How much was written so far."""
        return self._size

    def taken(self) -> bytes:
        """What was written since this was asked last."""
        content = b"".join(self._pieces)
        self._pieces.clear()
        return content


def _pyarrow() -> tuple[Any, Any]:
    with requires_extra("Parquet", "parquet"):
        import pyarrow  # noqa: PLC0415 - heavy, and rarely used
        import pyarrow.parquet  # noqa: PLC0415
    return pyarrow, pyarrow.parquet
