"""Any table with a row per run: the user says which column is what."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import msgspec

from outweigh.adapters.importers.imported_run import origins
from outweigh.adapters.importers.line_blocks import line_blocks
from outweigh.adapters.importers.repeats import Numbered
from outweigh.adapters.importers.row_repeats import number_rows
from outweigh.adapters.importers.source_text import decoded_line, head, opened
from outweigh.adapters.importers.table_guide import guide, proposal
from outweigh.adapters.importers.table_lines import LineReader, line_reader
from outweigh.adapters.importers.table_map import Column, columns_by_field, in_milliseconds
from outweigh.adapters.importers.table_run import row_run
from outweigh.adapters.importers.table_source import TableRow, sampled_columns, table_rows
from outweigh.errors import EvidenceError
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.record.run_record import RunRecord
from outweigh.record.trial import Trial

_OWN_NAMES = frozenset({"task_id", "arm", "success"})
_JSON_LINES = frozenset({".jsonl", ".ndjson"})
_LINES = _JSON_LINES | {".csv", ".tsv"}
_ARRAY = re.compile(rb"^(\xef\xbb\xbf)?\s*\[\s*\{")


class Table:
    """A row is a run. What is not mapped and bears no field's own name is kept in `extra`."""

    name = "table"
    takes = frozenset({"columns"})
    fields: Mapping[str, FieldOrigin] = origins(
        reported="status agent family started_at duration_seconds usage cost step_count tool_call_count checks",
        derived="extra",
    )

    def recognises(self, path: Path) -> bool:
        """By columns that are called task_id, arm and success; all others want a word from the user."""
        suffix = path.suffix.lower()
        start = head(path)
        if suffix == ".json":
            return _ARRAY.match(start) is not None and all(f'"{name}"'.encode() in start for name in _OWN_NAMES)
        if suffix not in _LINES or not start:
            return False
        try:
            names = sampled_columns(path).keys()
        except EvidenceError:
            return False
        # JSON Lines that also count their repeats are a format of its own.
        return names >= _OWN_NAMES and not (suffix == ".jsonl" and "repeat" in names)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Row by row. Where repeats have no number the table is read twice, to number them in order of time."""
        first_rows = ImportNotes()
        sample = sampled_columns(request.path, first_rows)
        if first_rows.unreadable and not sample:
            raise EvidenceError(f"{first_rows.unreadable[0]}. None of the first rows can be read; is it a table?")
        if not sample:
            raise EvidenceError(f"{request.path} has no rows.")
        columns = columns_by_field(request.columns, sample)
        fields = {column.field for column in columns}
        if "task_id" not in fields or not ("arm" in fields or request.arm):
            raise EvidenceError(guide(str(request.path), sample, request.arm, request.columns))
        _warn(fields, proposal(sample), notes)
        if in_milliseconds({column.field: column.shown for column in columns}, sample):
            notes.warn("duration_seconds is a thousand times what lies between start and end; map it as duration_ms.")
        quick = None
        if request.path.suffix.lower() in _JSON_LINES and request.path.is_file() and not first_rows.unreadable:
            quick = line_reader(columns, {name.partition(".")[0] for name in sample}, request.arm)
        source = _Source(request, columns, quick)
        if "repeat" in fields:
            yield from _runs(source, notes)
            return
        numbers = number_rows(_runs(source, ImportNotes()))
        for run in _runs(source, notes):
            number = next(numbers, None)
            if number is None:
                raise EvidenceError(f"{request.path} grew while it was read; import it again when nobody writes to it.")
            yield _numbered(run, number)


class _Source(NamedTuple):
    """A table, and the columns that are fields. `quick` reads it where there is a quick way.

    There is none where one of the first rows cannot be read: whoever states a key twice in a row does so in most, and
    only a closer look finds out.
    """

    request: ImportRequest
    columns: Sequence[Column]
    quick: LineReader | None

    def blocks(self, notes: ImportNotes) -> Iterator[Sequence[RunRecord]]:
        """The quick way where there is one, and cell by cell for every row that wants a closer look."""
        path = self.request.path
        if self.quick is None:
            yield from (self._closer_look(row, notes) for row in table_rows(path, notes))
            return

        def closer_look(line: bytes, number: int) -> Sequence[RunRecord]:
            found = decoded_line(line, number, path, notes)
            return () if found is None else self._closer_look(TableRow(path, number, found.value), notes)

        with opened(path) as stream:
            yield from self.quick.read(line_blocks(stream), closer_look)

    def _closer_look(self, row: TableRow, notes: ImportNotes) -> Sequence[RunRecord]:
        try:
            return (row_run(row, self.columns, self.request.arm),)
        except ValueError as fault:
            notes.unread(row.file, row.line, str(fault))
            return ()


def _runs(source: _Source, notes: ImportNotes) -> Iterator[RunRecord]:
    free: set[str] = set()
    paid: set[str] = set()
    for runs in source.blocks(notes):
        if not paid.issuperset({run.trial.arm for run in runs}):
            paid |= {run.trial.arm for run in runs if run.cost.usd != 0}
            free |= {run.trial.arm for run in runs if run.cost.usd == 0}
        yield from runs
    for arm in sorted(free - paid):
        notes.warn(f"every run of {arm!r} cost 0. If that means unknown, leave cost_usd out of the map.")


def _numbered(run: RunRecord, number: Numbered) -> RunRecord:
    trial = run.trial
    numbered = Trial(task_id=trial.task_id, arm=trial.arm, repeat=number.repeat, seed=trial.seed)
    return msgspec.structs.replace(run, trial=numbered, extra=run.extra | number.extra())


def _warn(fields: set[str], likely: Mapping[str, str], notes: ImportNotes) -> None:
    if "success" not in fields:
        column = likely.get("success")
        one = (
            "map one as success=COLUMN" if column is None else f"if {column!r} does, --map {quote(f'success={column}')}"
        )
        notes.warn(f"no column says whether a run succeeded; {one}.")
    if "input_tokens_with_cache" in fields and "cache_read_tokens" not in fields:
        notes.warn("input tokens are unknown: no column says how many of input_tokens_with_cache came from the cache.")
