"""Importer of any table with one row per run: the user says which column is which field.

If the columns are not mapped, the error shows them and a command with a proposed mapping by their names.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple, NoReturn

from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.interop.column_names import NO_UNIT, match_name, says_more_than_collected
from outweigh.interop.imported_run import field_origins
from outweigh.interop.result_files import decode_json_line, open_source, read_head
from outweigh.interop.row_batch import BatchReader, RowRules, SingleLineReader, TrialSizes, read_line_blocks
from outweigh.interop.table.column_values import is_readable
from outweigh.interop.table.columns import (
    FIELD_READERS,
    MappedColumn,
    columns_of,
    looks_like_milliseconds,
    make_batch_reader,
    make_row_run,
    map_columns,
    resolve_fields,
    undecided_outcome,
    unread_times,
)
from outweigh.interop.table.guess_columns import UnclearColumnsError, describe_left_out, guess_columns
from outweigh.interop.table.outcome_columns import describe_arms_by_column
from outweigh.interop.table.row_repeats import NumbersByPlace, RowNumbers, Runs
from outweigh.interop.table_rows import (
    ALL_ROWS,
    RowSelection,
    TableRow,
    array_texts,
    column_examples,
    decode_array_row,
    sampled_columns,
    table_rows,
)
from outweigh.model.run_columns import RunColumns
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest


def mapping_help(
    path: str, sample: Mapping[str, Any], arm: str | None, asked: Mapping[str, str], more: Sequence[str] = ()
) -> str:
    """The columns with an example each, and the command with the mapping that their names suggest.

    The options that the user gave already, `arm`, `asked` and `more`, are part of it.
    """
    likely = {
        field: column for field, column in propose_mapping(sample).items() if column not in asked.values()
    } | dict(asked)
    if arm is not None and "arm" not in asked:
        likely.pop("arm", None)
    likely = {field: likely[field] for field in FIELD_READERS if field in likely}
    open_ = [field for field in ("task_id", "success") if field not in likely]
    one_arm = "NAME" if "arm" not in likely and arm is None else arm
    options = [f"--map {quote(f'{field}={column}')}" for field, column in likely.items() if field != column]
    options += [f"--map {field}=COLUMN" for field in open_] + ([f"--arm {quote(one_arm)}"] if one_arm else [])
    is_result = open_ == ["success"] and one_arm is None
    asked_for = "column says whether a run passed" if is_result else "columns are the task and the arm"
    lines = [f"{path}: which {asked_for}? It has", *column_examples(sample)]
    lines += [
        "Going by their names, this might be meant; check it, units too, and run it:" if likely else "Say it by:",
        f"  {' '.join(['outweigh import table', quote(path), '-o RUNS', *more, *options])}",
    ]
    if open_:
        lines.append("COLUMN: yours to choose from these; leave success out where nothing says it.")
    if "success" in open_:
        lines.append("Of a score, say where a pass begins, in its own unit: --map 'success=COLUMN>=0.8'.")
    if one_arm == "NAME":
        column = likely.get("model", "COLUMN")
        lines.append(
            f"NAME: what to call the one arm of all these rows; where a column tells arms apart, --map arm={column}."
        )
    return "\n".join(lines)


def propose_mapping(sample: Mapping[str, Any]) -> dict[str, str]:
    """The likely column of each field, by its name alone; a proposal is never applied without the user."""
    matches: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for column in sample:
        for field, rank in match_name(column):
            matches[field].append((rank, column))
    found: dict[str, str] = {}
    for field in FIELD_READERS:
        open_ = [(rank, column) for rank, column in matches[field] if column not in found.values()]
        rank, column = min(open_, key=lambda match: match[0], default=(_WEAK_RANK, ""))
        if rank < _WEAK_RANK:
            found[field] = column
    if "input_tokens_with_cache" in found and "cache_read_tokens" not in found:
        found.setdefault("input_tokens", found.pop("input_tokens_with_cache"))
    if matches[NO_UNIT] and not found.keys() & {"duration_seconds", "duration_ms"}:
        found["duration_seconds"] = matches[NO_UNIT][0][1]
    if "duration_ms" in found:
        found.pop("duration_seconds", None)
    elif looks_like_milliseconds(found, sample):
        found["duration_ms"] = found.pop("duration_seconds")
    return found


_WEAK_RANK = 2
_REQUIRED_NAMES = frozenset({"task_id", "arm", "success"})
_JSON_LINE_SUFFIXES = frozenset({".jsonl", ".ndjson"})
_LINE_SUFFIXES = _JSON_LINE_SUFFIXES | {".csv", ".tsv"}
_BLOCK_ROWS = 2000
"""Of a JSON array; about as much text as a block of lines."""

_ARRAY = re.compile(rb"^(\xef\xbb\xbf)?\s*\[\s*\{")


class TableImporter:
    """Reads a row as a run. Columns that are neither mapped nor named like a field are kept in `extra`."""

    name = "table"
    takes = frozenset({"columns", "rows", "where"})
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status agent family started_at duration_seconds usage cost step_count tool_call_count checks",
        derived="extra",
    )

    def recognises(self, path: Path) -> bool:
        """Whether there are columns task_id, arm and success; for any other table the user must map them."""
        suffix = path.suffix.lower()
        start = read_head(path)
        if suffix == ".json":
            return _ARRAY.match(start) is not None and all(f'"{name}"'.encode() in start for name in _REQUIRED_NAMES)
        if suffix not in _LINE_SUFFIXES or not start:
            return False
        try:
            names = sampled_columns(path).keys()
        except EvidenceError:
            return False
        # JSON Lines with a column for repeats are the format `collected`, unless that would miss what they say.
        is_collected = suffix == ".jsonl" and "repeat" in names and not says_more_than_collected(names)
        return names >= _REQUIRED_NAMES and not is_collected

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read row by row. Repeats without a number get them in order of time; the table may be read twice for that."""
        for runs in self._read(request, notes):
            yield from runs

    def read_blocks(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunColumns | RunRecord]:
        """The same runs, those of plain rows as columns."""
        for runs in self._read(request, notes):
            yield from (runs,) if isinstance(runs, RunColumns) else runs

    def _read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[Runs]:
        first_rows = ImportNotes()
        selection = RowSelection(request.rows, tuple(request.where))
        sample = sampled_columns(request.path, first_rows, selection)
        if first_rows.unreadable and not sample:
            raise EvidenceError(f"{first_rows.unreadable[0]}. None of the first rows can be read; is it a table?")
        if not sample:
            _refuse_empty(request)
        columns = _choose_columns(request, sample, notes)
        fields = {column.field for column in columns}
        _warn(fields, propose_mapping(sample), notes)
        if looks_like_milliseconds({column.field: column.shown for column in columns}, sample):
            notes.warn("duration_seconds is a thousand times the time from start to end; map it as duration_ms.")
        batch_reader = None
        if selection == ALL_ROWS and request.path.is_file() and not first_rows.unreadable:
            batch_reader = _batch_reader(request, columns, sample)
        source = _TableSource(request, selection, columns, batch_reader)
        if "repeat" in fields:
            yield from _runs(source, notes)
            return
        for numbered in source.numbered(_runs(source, notes)):
            if numbered is None:
                raise EvidenceError(f"{request.path} grew while it was read; import it again when it is complete.")
            yield numbered


def _batch_reader(
    request: ImportRequest, columns: Sequence[MappedColumn], sample: Mapping[str, Any]
) -> BatchReader | None:
    """A reader of many rows at once, where the table's format allows one.

    A key that stands twice in an object makes a JSON array unreadable, so each row must have all columns, once.
    """
    names = {name.partition(".")[0] for name in sample}
    suffix = request.path.suffix.lower()
    if suffix in _JSON_LINE_SUFFIXES:
        return make_batch_reader(columns, names, request.arm)
    if suffix == ".json" and names == sample.keys() and array_texts(request.path, ImportNotes()) is not None:
        return make_batch_reader(columns, names, request.arm, RowRules(once=frozenset(names)))
    return None


def _refuse_empty(request: ImportRequest) -> NoReturn:
    if not request.where:
        raise EvidenceError(f"{request.path} has no rows.")
    columns = sampled_columns(request.path, None, RowSelection(request.rows))
    for column, _ in request.where:
        if not any(each == column or each.startswith(f"{column}.") for each in columns):
            near = get_close_matches(column, columns, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UsageError(
                f"--where {column}: there is no column {column!r}; there is {quote_names(columns, 30)}.{hint}"
            )
    shown = " and ".join(f"{column} is {value!r}" for column, value in request.where)
    raise EvidenceError(f"{request.path} has no row where {shown}.")


def _choose_columns(request: ImportRequest, sample: Mapping[str, Any], notes: ImportNotes) -> list[MappedColumn]:
    """The columns that the user names, or that are named like fields; where they are not enough, those that are
    clear by their names and values.
    """
    asked = resolve_fields(request.columns)
    columns = map_columns(asked, sample)
    fields = {column.field for column in columns}
    is_told = "task_id" in fields and ("arm" in fields or request.arm is not None)
    if is_told and {"task_id", "success"} <= asked.keys():
        return columns
    if is_told and ("success" in fields or "success" in asked):
        return [*columns, *_clear_measures(columns, asked, sample, notes)]
    more = [] if request.rows is None else [f"--rows {quote(request.rows)}"]
    more += [f"--where {quote(f'{column}={value}')}" for column, value in request.where]
    said = [f"--map {quote(f'{field}={column}')}" for field, column in request.columns.items()]
    said += [] if request.arm is None else [f"--arm {quote(request.arm)}"]
    command = " ".join(["outweigh import table", quote(str(request.path)), "-o RUNS", *more, *said])
    try:
        one_arm = {} if request.arm is None else {"arm": ""}
        selection = RowSelection(request.rows, tuple(request.where))
        guessed = guess_columns(request.path, asked | one_arm, command, selection, is_import=True)
    except UsageError as fault:
        if is_told:
            return [*columns, *_clear_measures(columns, asked, sample, notes)]
        if isinstance(fault, UnclearColumnsError) and fault.missing:
            guide = mapping_help(str(request.path), sample, request.arm, {**asked, **fault.found}, more)
            by_column = None if said else describe_arms_by_column(request.path, sample, more, selection)
            raise EvidenceError(guide if by_column is None else f"{guide}\n{by_column}") from None
        raise
    _note_choice(guessed.fields, notes)
    for remark in guessed.remarks:
        notes.warn(remark)
    return map_columns(guessed.mapping, sample)


def _clear_measures(
    columns: Sequence[MappedColumn], asked: Mapping[str, str], sample: Mapping[str, Any], notes: ImportNotes
) -> list[MappedColumn]:
    """Columns of times, costs and counts that the user did not name and whose names are clear."""
    used = {part for column in columns for part in (column.shown, *columns_of(column.shown, sample))}
    free = {name: value for name, value in sample.items() if name not in used}
    known = {column.field for column in columns} | asked.keys()
    found: dict[str, str] = {}
    for field in _MEASURES:
        named = [name for name in free if any(match == (field, 1) for match in match_name(name))]
        if field not in known and len(named) == 1 and is_readable(FIELD_READERS[field], free[named[0]]):
            found[field] = named[0]
        elif field not in known and len(named) > 1:
            notes.warn(describe_left_out(field, named))
    if not known & {"duration_seconds", "duration_ms"} and {"duration_seconds", "duration_ms"} <= found.keys():
        notes.warn(describe_left_out("duration_seconds", [found["duration_seconds"], found["duration_ms"]]))
    if known & {"duration_seconds", "duration_ms"} or {"duration_seconds", "duration_ms"} <= found.keys():
        found = {field: column for field, column in found.items() if not field.startswith("duration_")}
    if "input_tokens" in known | found.keys() or "cache_read_tokens" not in known | found.keys():
        found.pop("input_tokens_with_cache", None)
    if found:
        _note_choice(found, notes)
    return map_columns(found, {column: sample[column] for column in found.values()})


def _note_choice(fields: Mapping[str, str], notes: ImportNotes) -> None:
    taken = ", ".join(f"{field}={column}" for field, column in fields.items())
    notes.warn(f"columns were chosen by their names and values: {taken}. --map FIELD=COLUMN chooses another.")


_MEASURES = (
    *("duration_seconds", "duration_ms", "cost_usd", "step_count", "tool_call_count", "started_at", "finished_at"),
    *("input_tokens", "input_tokens_with_cache", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
)


class _TableSource(NamedTuple):
    """A table and its mapped columns. `batch_reader` is None if rows must be read one by one.

    That is so if one of the first rows cannot be read: a program that writes a key twice does so in most rows, and only
    the reader of single rows notices.
    """

    request: ImportRequest
    selection: RowSelection
    columns: Sequence[MappedColumn]
    batch_reader: BatchReader | None

    def blocks(self, notes: ImportNotes) -> Iterator[Runs]:
        """The runs in blocks; rows that the batch reader cannot read are read cell by cell."""
        path = self.request.path
        if self.batch_reader is None:
            yield from (self._read_row(row, notes) for row in table_rows(path, notes, self.selection))
            return

        yield from self.batch_reader.read(self._text_blocks(notes), self._line_reader(notes))

    def numbered(self, blocks: Iterable[Runs]) -> Iterator[Runs | None]:
        """These runs with numbers of repeats; None if the table grew while it was read."""

        def number_all() -> RowNumbers:
            return RowNumbers(lambda: self.blocks(ImportNotes()))

        if self.batch_reader is None or not self.batch_reader.names_by_place:
            return map(number_all().give, blocks)
        return NumbersByPlace(partial(self._count_trials, self.batch_reader), number_all).give(blocks)

    def _count_trials(self, reader: BatchReader) -> TrialSizes | None:
        """How many runs each task and arm has; None where their order is not that of the rows."""
        notes = ImportNotes()
        return reader.count_trials(self._text_blocks(notes), self._line_reader(notes))

    def _text_blocks(self, notes: ImportNotes) -> Iterator[Sequence[bytes]]:
        """The rows as text, many at once."""
        path = self.request.path
        if path.suffix.lower() == ".json":
            texts = array_texts(path, notes) or ()
            for start in range(0, len(texts), _BLOCK_ROWS):
                yield [*map(bytes, texts[start : start + _BLOCK_ROWS])]
            return
        with open_source(path) as stream:
            yield from read_line_blocks(stream)

    def _line_reader(self, notes: ImportNotes) -> SingleLineReader:
        path = self.request.path

        def read_line(line: bytes, number: int) -> Sequence[RunRecord]:
            found = decode_json_line(line, number, path, notes)
            return () if found is None else self._read_row(TableRow(path, number, found.value), notes)

        def read_element(text: bytes, number: int) -> Sequence[RunRecord]:
            row = decode_array_row(text, number, path, notes)
            return () if row is None else self._read_row(row, notes)

        return read_element if path.suffix.lower() == ".json" else read_line

    def _read_row(self, row: TableRow, notes: ImportNotes) -> Sequence[RunRecord]:
        try:
            run = make_row_run(row, self.columns, self.request.arm)
        except ValueError as fault:
            notes.unread(row.file, row.line, str(fault))
            return ()
        if (word := undecided_outcome(run, row.cells, self.columns)) is not None:
            said = f"{str(word)[:60]!r} does not say whether a run passed, or whose fault it was; unknown there."
            notes.warn(said, topic=f"no outcome: {word}")
        if run.started_at is None or run.duration_seconds is None:
            for column, value in unread_times(row.cells, self.columns):
                said = f"{column} has values that are no time, such as {str(value)[:60]!r}; it is unknown there."
                notes.warn(said, topic=f"no time: {column}")
        return (run,)


def _runs(source: _TableSource, notes: ImportNotes) -> Iterator[Runs]:
    free: set[str] = set()
    paid: set[str] = set()
    for runs in source.blocks(notes):
        if not paid.issuperset(_arms(runs)):
            for arm, is_free in {*zip(_arms(runs), _are_free(runs), strict=True)}:
                (free if is_free else paid).add(arm)
        yield runs
    for arm in sorted(free - paid):
        notes.warn(f"every run of {arm!r} cost 0. If that means unknown, leave cost_usd out of the map.")


def _arms(runs: Runs) -> Sequence[str]:
    return runs.columns["trial.arm"] if isinstance(runs, RunColumns) else [run.trial.arm for run in runs]


def _are_free(runs: Runs) -> Sequence[bool]:
    if not isinstance(runs, RunColumns):
        return [run.cost.usd == 0 for run in runs]
    if "cost.usd" in runs.columns:
        return [usd == 0 for usd in runs.columns["cost.usd"]]
    return [cost.usd == 0 for cost in runs.columns.get("cost", (runs.alike.cost,) * len(runs))]


def _warn(fields: set[str], likely: Mapping[str, str], notes: ImportNotes) -> None:
    if "success" not in fields:
        column = likely.get("success")
        one = (
            "map one as success=COLUMN" if column is None else f"if {column!r} does, --map {quote(f'success={column}')}"
        )
        notes.warn(f"no column says whether a run succeeded; {one}.")
    if "input_tokens_with_cache" in fields and "cache_read_tokens" not in fields:
        notes.warn("input tokens are unknown: no column says how many of input_tokens_with_cache came from the cache.")
