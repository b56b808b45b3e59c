"""Rows of JSON Lines, decoded and converted to runs many at a time, column by column.

Most tables were written by programs, so that rows fit a struct made for their columns; any other row is left to the
reader of single rows. A step for a whole column costs little more than one for a single row.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, reduce
from io import BytesIO
from itertools import count, pairwise, repeat
from operator import attrgetter, iconcat
from typing import Annotated, Any, BinaryIO, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from outweigh.interop.field_values import FIRST_SECONDS, parse_times
from outweigh.interop.imported_run import imported_run, outcome_check, real_agent, stable_id
from outweigh.interop.result_files import LINE_LIMIT
from outweigh.model.base import Amount, Count, Json
from outweigh.model.run_columns import RunColumns
from outweigh.model.run_record import REUSED_LABEL, AgentIdentity, RunRecord
from outweigh.model.untrusted_json import NAME_LENGTH_LIMIT
from outweigh.model.usage import Usage, reported_cost

BLOCK_BYTES = 2**18
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
_PLAIN = imported_run(run_id="", task_id="", arm="", repeat=0)
_CHECK = (outcome_check("success", None),)


TrialSizes = Counter[tuple[str, str]]
"""How many runs each task and arm has."""


class BatchBuilder:
    """Makes runs from columns of cells. `fields` are those of a row, of which the last are the `others`."""

    def __init__(self, fields: Sequence[str], others: Sequence[str], arm: str | None, unknown: tuple[Any, ...]) -> None:
        self._fields = fields
        self._unknown = unknown
        self._others = others
        self._own = len(fields) - len(others)
        self._arm = arm

    def runs_of_rows(self, rows: Iterable[msgspec.Struct], first: int) -> RunColumns | Sequence[RunRecord]:
        """A run for every row; ValueError if a row must be read by itself.

        Rows are not kept, so that each reuses the memory of the one before, which is still in the processor's cache.
        """
        flat: list[Any] = reduce(iconcat, map(msgspec.structs.astuple, rows), [])
        width = len(self._fields)
        return self.runs([flat[place::width] for place in range(width)], first)

    @property
    def names_by_place(self) -> bool:
        """Whether rows have neither names nor times, so that the runs of a task and arm are in the order of rows."""
        return not {"run_id", "started_at"} & {*self._fields}

    def trials_of_rows(self, rows: Iterable[msgspec.Struct], last: int) -> TrialSizes:
        """How many rows each task and arm has; ValueError if a row must be read by itself."""
        if "arm" in self._fields:
            sizes = Counter(map(attrgetter("task_id", "arm"), rows))
        else:
            sizes = Counter({(task, None): size for task, size in Counter(map(attrgetter("task_id"), rows)).items()})
        if self._arm is not None:
            for task, arm in [trial for trial in sizes if not trial[1]]:
                sizes[task, self._arm] += sizes.pop((task, arm))
        _require_trimmed({task for task, _ in sizes})
        _require_trimmed({arm for _, arm in sizes})
        if max(len(task) + len(arm) for task, arm in sizes) + len(f"//row {last:07}") > NAME_LENGTH_LIMIT:
            raise ValueError("a name that has to be cut")
        return sizes

    def runs(self, columns: Sequence[Sequence[Any]], first: int) -> RunColumns | Sequence[RunRecord]:
        """A run for every row of these columns; rows without a name are called by their place from `first` on.

        They are single records where cells hold arrays or objects, which may be nested too deeply to be read again.
        """
        size = len(columns[0])
        cells: dict[str, Sequence[Any]] = dict(zip(self._fields, columns, strict=True))
        if self._arm is not None:
            cells["arm"] = [named or self._arm for named in cells.get("arm", (None,) * size)]
        _require_trimmed({*cells["task_id"]})
        _require_trimmed({*cells["arm"]})
        found: dict[str, Sequence[Any]] = {
            "run_id": _run_ids(cells, first),
            "trial.task_id": cells["task_id"],
            "trial.arm": cells["arm"],
            "trial.repeat": cells.get("repeat", (0,) * size),
            **dict(_field_columns(cells)),
        }
        alike = _PLAIN
        if "checks.passed" in found:
            alike = replace(alike, checks=_CHECK)
        if "cost.usd" in found:
            alike = replace(alike, cost=reported_cost(0.0))
        others = columns[self._own :]
        own, whole = _unmapped_columns(self._others, others, self._unknown)
        runs = RunColumns(alike, found if whole is None else found | {"extra": whole}, own)
        return runs.records() if any(_holds_objects(column) for column in others) else runs


def _field_columns(cells: _CellColumns) -> Iterator[tuple[str, Sequence[Any]]]:
    """The columns of a run's fields that the table has, by their places in a record."""
    for name in _DIRECT_FIELDS:
        if name in cells:
            yield name, cells[name]
    for name in Usage.__struct_fields__:
        if name in cells:
            yield f"usage.{name}", cells[name]
    if any(name in cells for name in _IDENTITY):
        yield "agent", [*map(_agent_identity, *(cells.get(name, repeat(None)) for name in _IDENTITY))]
    if "started_at" in cells:
        yield "started_at", _time_column(cells["started_at"])
    if "cost_usd" in cells:
        usd = cells["cost_usd"]
        yield ("cost", [*map(reported_cost, usd)]) if None in usd else ("cost.usd", usd)
    if "success" in cells:
        yield "checks.passed", cells["success"]
    if "family" in cells:
        _require_trimmed(cells["family"])


def _run_ids(cells: _CellColumns, first: int) -> Sequence[str]:
    """The rows' own ids, or their positions."""
    given = cells.get("run_id")
    if given is not None and None not in given:
        _require_trimmed(given)
        return given
    tasks, arms, repeats = cells["task_id"], cells["arm"], cells.get("repeat")
    if repeats is None:
        made = [f"{task}/{arm}/row {number:07}" for number, task, arm in zip(count(first), tasks, arms, strict=False)]
    else:
        made = [f"{task}/{arm}/{number}" for task, arm, number in zip(tasks, arms, repeats, strict=True)]
    if max(map(len, {*tasks})) + max(map(len, {*arms})) + len("//row ") + 20 > NAME_LENGTH_LIMIT < max(map(len, made)):
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


def _unmapped_columns(
    names: Sequence[str], columns: Sequence[Sequence[Any]], unknown: tuple[Any, ...]
) -> tuple[Mapping[str, Sequence[Any]], list[Json] | None]:
    """The columns that are not mapped to a field; where some cells are unknown, what each row has instead."""
    if not any(value in column for column in columns for value in unknown):
        return dict(zip(names, columns, strict=True)), None
    return {}, [
        {name: cell for name, cell in zip(names, row, strict=True) if cell not in unknown}
        for row in zip(*columns, strict=True)
    ]


def _holds_objects(column: Sequence[Any]) -> bool:
    return not {list, dict}.isdisjoint(map(type, column))


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

_LABELS = ("task_id", "arm", "run_id", "model", "agent", "agent_version", "family")
_COUNTS = ("repeat", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_TYPES: dict[str, Any] = {
    **dict.fromkeys(_LABELS, Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_LENGTH_LIMIT)]),
    **dict.fromkeys((*_COUNTS, "step_count", "tool_call_count"), Count),
    **dict.fromkeys(("duration_seconds", "cost_usd"), Amount),
    "success": bool,
    "started_at": Any,
}
FIELDS = _TYPES.keys()
"""The fields whose columns can be read many rows at a time."""

SingleLineReader = Callable[[bytes, int], Sequence[RunRecord]]
"""Reads one line, given with its number, cell by cell."""

_KEY_END = b'":'
_DECODE_ERRORS = (ValueError, msgspec.MsgspecError, RecursionError)
_ESCAPED_CHARACTERS = re.compile(r'["\\\x00-\x1f]')


_FoundT = TypeVar("_FoundT")


class BatchReader:
    """Reads blocks of lines as runs; lines that do not fit are read one by one."""

    def __init__(self, row_type: type[msgspec.Struct], blocks: BatchBuilder, keys: int) -> None:
        self._decode = msgspec.json.Decoder(row_type).decode
        self._blocks = blocks
        self._keys = keys
        """How many keys each row has, where all of them are needed; with one twice, there would be more."""

    @property
    def names_by_place(self) -> bool:
        """Whether rows have neither names nor times, so that the runs of a task and arm are in the order of rows."""
        return self._blocks.names_by_place

    def read(
        self, blocks: Iterable[Sequence[bytes]], read_line: SingleLineReader
    ) -> Iterator[RunColumns | Sequence[RunRecord]]:
        """The runs of each block, in the order of their lines."""
        return self._parts(blocks, self._plain_runs, read_line)

    def count_trials(self, blocks: Iterable[Sequence[bytes]], read_line: SingleLineReader) -> TrialSizes | None:
        """How many runs each task and arm has; None if a name was cut, and the order of names is not that of rows."""
        sizes = TrialSizes()
        for found in self._parts(blocks, self._plain_trials, read_line):
            if isinstance(found, Counter):
                sizes.update(found)
                continue
            trials = [(run.trial.task_id, run.trial.arm) for run in found]
            if any(not run.run_id.startswith("/".join((*key, "row "))) for key, run in zip(trials, found, strict=True)):
                return None
            sizes.update(trials)
        return sizes

    def _parts(
        self,
        blocks: Iterable[Sequence[bytes]],
        read_all: Callable[[Sequence[bytes], int], _FoundT],
        read_line: SingleLineReader,
    ) -> Iterator[_FoundT | Sequence[RunRecord]]:
        number = 1
        for lines in blocks:
            yield from self._parts_of(lines, number, read_all, read_line)
            number += len(lines)

    def _parts_of(
        self,
        lines: Sequence[bytes],
        first: int,
        read_all: Callable[[Sequence[bytes], int], _FoundT],
        read_line: SingleLineReader,
    ) -> Iterator[_FoundT | Sequence[RunRecord]]:
        """What is in all lines at once or, if some do not fit, in the parts between them and in each by itself."""
        try:
            yield read_all(lines, first)
        except _DECODE_ERRORS:
            if len(lines) == 1:
                yield read_line(lines[0], first)
                return
            for start, end in pairwise((0, *self._cuts(lines), len(lines))):
                yield from self._parts_of(lines[start:end], first + start, read_all, read_line)

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

    def _plain_runs(self, lines: Sequence[bytes], first: int) -> RunColumns | Sequence[RunRecord]:
        return self._blocks.runs_of_rows(self._plain_rows(lines), first)

    def _plain_trials(self, lines: Sequence[bytes], first: int) -> TrialSizes:
        return self._blocks.trials_of_rows(self._plain_rows(lines), first + len(lines) - 1)

    def _plain_rows(self, lines: Sequence[bytes]) -> Iterator[msgspec.Struct]:
        if max(map(len, lines)) >= LONGEST_LINE:
            raise ValueError("a long line")
        if self._keys and sum(line.count(_KEY_END) for line in lines) != self._keys * len(lines):
            raise ValueError("a key that may stand there twice")
        return map(self._decode, lines)


PLAIN_CELL: Any = None | bool | Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | float | str
"""No array, no object, and no number that has to be rounded."""


class RowRules(NamedTuple):
    """What rows must be like to be read many at once: the type of cells in columns that are no field, which of them say
    nothing, and the columns that every row must have exactly once.
    """

    cell: Any = Any
    unknown: tuple[Any, ...] = (None, "")
    once: frozenset[str] = frozenset()


LOOSE = RowRules()


def make_row_reader(
    mapped: Mapping[str, str], names: Collection[str], arm: str | None, rules: RowRules = LOOSE
) -> BatchReader | None:
    """A reader for rows whose fields have these columns. `names` are all columns that may occur, `arm` is for rows that
    name none.

    None if a column of others says that runs were paid for elsewhere.
    """
    others = sorted({*names} - {*mapped.values()})
    needed = {"task_id", "repeat"} if arm else {"task_id", "repeat", "arm"}
    row_type = None if REUSED_LABEL in others else _row_type(mapped, others, needed, rules)
    if row_type is None:
        return None
    builder = BatchBuilder(row_type.__struct_fields__, others, arm and stable_id(arm), rules.unknown)
    return BatchReader(row_type, builder, len(rules.once))


def _row_type(
    mapped: Mapping[str, str], others: Sequence[str], needed: Collection[str], rules: RowRules
) -> type[msgspec.Struct] | None:
    """A struct with these columns and no others, unmapped ones last; columns that are not needed may be missing or
    null.

    None if one column is two fields, or a name has characters that JSON may escape.
    """
    called = {**mapped} | {f"other_{number}": name for number, name in enumerate(others)}
    if len(set(called.values())) < len(called) or any(_ESCAPED_CHARACTERS.search(name) for name in called.values()):
        return None

    def described(field: str, column: str) -> Any:
        if field in needed:
            return field, _TYPES[field]
        cell = _TYPES.get(field, rules.cell) | None
        return (field, cell) if column in rules.once else (field, cell, None)

    return msgspec.defstruct(
        "Row",
        [described(*each) for each in called.items()],
        rename=called,
        forbid_unknown_fields=True,
        frozen=True,
        gc=False,
        kw_only=True,
    )
