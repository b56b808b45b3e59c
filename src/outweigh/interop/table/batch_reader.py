"""Rows of JSON Lines, decoded and converted to runs many at a time, column by column.

Most tables were written by programs, so that rows fit a struct made for their columns; any other row is left to the
reader of single rows. A step for a whole column costs little more than one for a single row.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, reduce
from io import BytesIO
from itertools import chain, pairwise, repeat
from operator import iconcat
from typing import Annotated, Any, BinaryIO

import msgspec

from outweigh.interop.field_values import FIRST_SECONDS, parse_times
from outweigh.interop.imported_run import UNKNOWN_COLUMNS, outcome_check, real_agent, stable_id, structs_from_columns
from outweigh.interop.result_files import LINE_LIMIT
from outweigh.interop.table.columns import FIELD_READERS, LABEL_FIELDS, MappedColumn
from outweigh.model.base import Amount, Count, Json
from outweigh.model.run_record import AgentIdentity, RunRecord, Trial
from outweigh.model.untrusted_json import NAME_LENGTH_LIMIT
from outweigh.model.usage import Cost, CostProvenance, Usage, reported_cost

BLOCK_BYTES = 2**17
"""Large enough that the cost per block is negligible, small enough for a processor's cache."""


def read_line_blocks(stream: BinaryIO) -> Iterator[list[bytes]]:
    """All lines in order, with their line feeds; an endless line is cut at the length at which it is refused."""
    while chunk := stream.read(BLOCK_BYTES):
        end = b"" if chunk.endswith(b"\n") else stream.readline(LINE_LIMIT)
        yield BytesIO(chunk + end).readlines()
        while len(end) == LINE_LIMIT and not end.endswith(b"\n"):
            end = stream.readline(LINE_LIMIT)


_CellColumns = Mapping[str, Sequence[Any]]
"""Columns of cells by field, all in the order of rows. Fields that the table lacks are absent."""

_DIRECT_FIELDS = ("family", "duration_seconds", "step_count", "tool_call_count")
_IDENTITY = ("agent", "agent_version", "model")
_CHECKS = {passed: (outcome_check("success", passed),) for passed in (True, False, None)}


class BatchBuilder:
    """Makes runs from decoded rows. `fields` are those of a row, of which the last are the `others`."""

    def __init__(self, fields: Sequence[str], others: Sequence[str], arm: str | None) -> None:
        self._fields = fields
        self._others = _UnmappedColumns(others)
        self._own = len(fields) - len(others)
        self._arm = arm

    def runs(self, rows: Iterable[msgspec.Struct], first: int) -> list[RunRecord]:
        """A run for every row; ValueError if a row must be read by itself.

        Rows are not kept, so that each reuses the memory of the one before, which is still in the processor's cache.
        """
        flat: list[Any] = reduce(iconcat, map(msgspec.structs.astuple, rows), [])
        width = len(self._fields)
        columns = [flat[place::width] for place in range(width)]
        size = len(columns[0])
        cells: dict[str, Sequence[Any]] = dict(zip(self._fields, columns, strict=True))
        if self._arm is not None:
            cells["arm"] = [named or self._arm for named in cells.get("arm", (None,) * size)]
        known = {
            "run_id": _run_ids(cells, first),
            "trial": _trials(cells),
            "extra": self._others.extras(columns[self._own :], size),
        }
        return structs_from_columns(RunRecord, UNKNOWN_COLUMNS | dict(_field_columns(cells)) | known)


def _field_columns(cells: _CellColumns) -> Iterator[tuple[str, Iterable[Any]]]:
    """The columns of a run's fields that the table has."""
    for name in _DIRECT_FIELDS:
        if name in cells:
            yield name, cells[name]
    if any(name in cells for name in Usage.__struct_fields__):
        yield (
            "usage",
            structs_from_columns(Usage, {name: cells.get(name, repeat(None)) for name in Usage.__struct_fields__}),
        )
    if any(name in cells for name in _IDENTITY):
        yield "agent", map(_agent_identity, *(cells.get(name, repeat(None)) for name in _IDENTITY))
    if "started_at" in cells:
        yield "started_at", _time_column(cells["started_at"])
    if "cost_usd" in cells:
        yield "cost", _cost_column(cells["cost_usd"])
    if "success" in cells:
        yield "checks", map(_CHECKS.__getitem__, cells["success"])
    if "family" in cells:
        _require_trimmed(cells["family"])


def _trials(cells: _CellColumns) -> list[Trial]:
    _require_trimmed({*cells["task_id"]})
    _require_trimmed({*cells["arm"]})
    repeats = cells.get("repeat", repeat(0))
    return structs_from_columns(
        Trial, {"task_id": cells["task_id"], "arm": cells["arm"], "repeat": repeats, "seed": repeat(None)}
    )


def _run_ids(cells: _CellColumns, first: int) -> Sequence[str]:
    """The rows' own ids, or their positions."""
    given = cells.get("run_id")
    if given is not None and None not in given:
        _require_trimmed(given)
        return given
    tasks, arms, repeats = cells["task_id"], cells["arm"], cells.get("repeat")
    places = [f"row {number:07}" for number in range(first, first + len(tasks))] if repeats is None else repeats
    made = [f"{task}/{arm}/{place}" for task, arm, place in zip(tasks, arms, places, strict=True)]
    if max(map(len, made)) > NAME_LENGTH_LIMIT:
        raise ValueError("a name that has to be cut")
    if given is None:
        return made
    _require_trimmed(given)
    return [own or place for own, place in zip(given, made, strict=True)]


def _time_column(column: Sequence[Any]) -> Sequence[datetime | None]:
    if any(value < FIRST_SECONDS for value in column if isinstance(value, int | float)):
        raise ValueError("a number that is no moment")
    found = parse_times(column)
    if None in found and any(read is None and value is not None for value, read in zip(column, found, strict=True)):
        raise ValueError("no moment")
    return found


def _cost_column(column: Sequence[float | None]) -> list[Cost]:
    if None in column:
        return [*map(reported_cost, column)]
    others = dict.fromkeys(("price_table", "low_usd", "high_usd"), repeat(None))
    return structs_from_columns(Cost, {"usd": column, "provenance": repeat(CostProvenance.REPORTED), **others})


class _UnmappedColumns:
    """The columns that are not mapped to a field."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        plain = all(name.isidentifier() and not name.startswith("_") for name in names)
        self._kind = msgspec.defstruct("Others", names) if names and plain else None

    def extras(self, columns: Sequence[Sequence[Any]], size: int) -> list[Json]:
        """The values of these columns in each row, without unknown ones."""
        if not columns:
            return [{} for _ in range(size)]
        if self._kind is not None and not any(None in column or "" in column for column in columns):
            return [*map(msgspec.structs.asdict, map(self._kind, *columns))]
        return [
            {name: cell for name, cell in zip(self._names, row, strict=True) if cell is not None and cell != ""}
            for row in zip(*columns, strict=True)
        ]


def _require_trimmed(labels: Iterable[str | None]) -> None:
    given = [*filter(None, labels)]
    if [*map(str.strip, given)] != given:
        raise ValueError("a name that has to be trimmed")


@lru_cache(maxsize=1000)
def _agent_identity(name: str | None, version: str | None, model: str | None) -> AgentIdentity:
    """The agent; cached, because a table has few."""
    _require_trimmed((name, version, model))
    return real_agent(name, version, model)


LONGEST_LINE = 10_000
"""In a shorter line, all unmapped columns fit into `extra`."""

_COUNTS = ("repeat", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_TYPES: dict[str, Any] = {
    **dict.fromkeys(LABEL_FIELDS, Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_LENGTH_LIMIT)]),
    **dict.fromkeys((*_COUNTS, "step_count", "tool_call_count"), Count),
    **dict.fromkeys(("duration_seconds", "cost_usd"), Amount),
    "success": bool,
    "started_at": Any,
}
SingleLineReader = Callable[[bytes, int], Sequence[RunRecord]]
"""Reads one line, given with its number, cell by cell."""

_DECODE_ERRORS = (ValueError, msgspec.MsgspecError, RecursionError)
_ESCAPED_CHARACTERS = re.compile(r'["\\\x00-\x1f]')


class BatchReader:
    """Reads blocks of lines as runs; lines that do not fit are read one by one."""

    def __init__(self, row_type: type[msgspec.Struct], blocks: BatchBuilder) -> None:
        self._decode = msgspec.json.Decoder(row_type).decode
        self._blocks = blocks

    def read(self, blocks: Iterable[Sequence[bytes]], read_line: SingleLineReader) -> Iterator[list[RunRecord]]:
        """The runs of each block, in the order of their lines."""
        number = 1
        for lines in blocks:
            yield self._runs(lines, number, read_line)
            number += len(lines)

    def _runs(self, lines: Sequence[bytes], first: int, read_line: SingleLineReader) -> list[RunRecord]:
        """The runs of all lines at once or, if some do not fit, of the parts between them and of each by itself."""
        try:
            return self._plain_runs(lines, first)
        except _DECODE_ERRORS:
            if len(lines) == 1:
                return [*read_line(lines[0], first)]
        found: list[RunRecord] = []
        for start, end in pairwise((0, *self._cuts(lines), len(lines))):
            found += self._runs(lines[start:end], first + start, read_line)
        return found

    def _cuts(self, lines: Sequence[bytes]) -> Sequence[int]:
        """Positions before and after each line that cannot be decoded; in the middle if all can, but some cells are
        unusual.
        """
        odd = [place for place, line in enumerate(lines) if not self._is_decodable(line)]
        cuts = {cut for place in odd for cut in (place, place + 1)} - {0, len(lines)}
        return sorted(cuts) or [len(lines) // 2]

    def _is_decodable(self, line: bytes) -> bool:
        try:
            self._decode(line)
        except _DECODE_ERRORS:
            return False
        return len(line) < LONGEST_LINE

    def _plain_runs(self, lines: Sequence[bytes], first: int) -> list[RunRecord]:
        if max(map(len, lines)) >= LONGEST_LINE:
            raise ValueError("a long line")
        return self._blocks.runs(map(self._decode, lines), first)


def make_batch_reader(columns: Sequence[MappedColumn], names: Collection[str], arm: str | None) -> BatchReader | None:
    """A reader for such rows. `names` are all columns that may occur, `arm` is for rows that name none.

    None if a field consists of several columns or must be computed, such as a pass from a score.
    """
    mapped = {column.field: column.paths for column in columns}
    if any(column.reading is not FIELD_READERS[column.field] for column in columns):
        return None
    if not mapped.keys() <= _TYPES.keys() or any(len(paths) > 1 or len(paths[0]) > 1 for paths in mapped.values()):
        return None
    others = sorted(set(names) - {paths[0][0] for paths in mapped.values()})
    needed = {"task_id", "repeat"} if arm else {"task_id", "repeat", "arm"}
    row_type = _row_type({field: paths[0][0] for field, paths in mapped.items()}, others, needed)
    if row_type is None:
        return None
    return BatchReader(row_type, BatchBuilder(row_type.__struct_fields__, others, arm and stable_id(arm)))


def _row_type(mapped: dict[str, str], others: Sequence[str], needed: Collection[str]) -> type[msgspec.Struct] | None:
    """A struct with these columns and no others, unmapped ones last; columns that are not needed may be missing or
    null.

    None if one column is two fields, or a name has characters that JSON may escape.
    """
    called = mapped | {f"other_{number}": name for number, name in enumerate(others)}
    if len(set(called.values())) < len(called) or any(_ESCAPED_CHARACTERS.search(name) for name in called.values()):
        return None
    given: Iterable[Any] = ((field, _TYPES[field]) for field in mapped if field in needed)
    open_: Iterable[Any] = ((field, _TYPES.get(field, Any) | None, None) for field in called if field not in needed)
    return msgspec.defstruct(
        "Row", chain(given, open_), rename=called, forbid_unknown_fields=True, frozen=True, gc=False
    )
