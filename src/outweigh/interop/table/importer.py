"""Importer of any table with one row per run: the user says which column is which field.

If the columns are not mapped, the error shows them and a command with a proposed mapping by their names.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import msgspec

from outweigh.errors import EvidenceError
from outweigh.interop.imported_run import RepeatNumber, field_origins, number_rows
from outweigh.interop.result_files import decode_json_line, open_source, read_head
from outweigh.interop.table.batch_reader import BatchReader, make_batch_reader, read_line_blocks
from outweigh.interop.table.columns import (
    FIELD_READERS,
    MappedColumn,
    looks_like_milliseconds,
    make_row_run,
    map_columns,
    resolve_fields,
)
from outweigh.interop.table_rows import TableRow, column_examples, sampled_columns, table_rows
from outweigh.model.run_record import RunRecord, Trial
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_LIKELY_NAMES = {
    "task_id": "task taskname tasknumber instanceid problemid problem caseid case testid test testcase "
    "scenarioid scenario exampleid questionid itemid item",
    "arm": "configname config condition conditionid variant mode configuration system setup treatment group agentname",
    "repeat": "replicate runnumber trial trialindex epoch iteration repetition rep",
    "run_id": "id uuid trialid runname",
    "success": "passed pass resolved isresolved succeeded solved correct iscorrect reward",
    "started_at": "started starttime startedat start createdat timestamp trialstartedat",
    "finished_at": "finished ended endtime endedat finishedat completedat end trialendedat",
    "duration_ms": "durationms latencyms elapsedms tookms timems milliseconds",
    "duration_seconds": "duration durations seconds elapsed elapsedseconds walltime timeseconds latency took",
    "cost_usd": "totalcostusd cost totalcost costusd usd agentcost",
    "input_tokens_with_cache": "prompttokens totalinputtokens",
    "input_tokens": "tokensin uncachedinputtokens",
    "output_tokens": "completiontokens tokensout totaloutputtokens",
    "cache_read_tokens": "cachereads cachedtokens cachedinputtokens cachereadinputtokens",
    "cache_write_tokens": "cachewrites cachecreationtokens cachecreationinputtokens",
    "step_count": "steps turns numturns apicalls",
    "tool_call_count": "toolcalls",
    "model": "modelname modelnameorpath",
    "agent": "agentkind harness",
    "family": "category domain suite",
}

_ANY_ID_NAME = "id"
"""As the last part of a dotted name it does not say whose id it is."""


def mapping_help(path: str, sample: Mapping[str, Any], arm: str | None, asked: Mapping[str, str]) -> str:
    """The columns with an example each, and the command with the mapping that their names suggest.

    The options that the user gave already, `arm` and `asked`, are part of it.
    """
    likely = {
        field: column for field, column in propose_mapping(sample).items() if column not in asked.values()
    } | dict(asked)
    if arm is not None and "arm" not in asked:
        likely.pop("arm", None)
    open_ = [field for field in ("task_id", "success") if field not in likely]
    one_arm = "NAME" if "arm" not in likely and arm is None else arm
    options = [f"--map {quote(f'{field}={column}')}" for field, column in likely.items() if field != column]
    options += [f"--map {field}=COLUMN" for field in open_] + ([f"--arm {quote(one_arm)}"] if one_arm else [])
    lines = [f"{path}: which columns are the task and the arm? It has", *column_examples(sample)]
    lines += [
        "Going by their names, this might be meant; check it, units too, and run it:" if likely else "Say it by:",
        f"  outweigh import table {quote(path)} -o RUNS {' '.join(options)}",
    ]
    if open_:
        lines.append("COLUMN: yours to choose from these; leave success out where nothing says it.")
    if one_arm == "NAME":
        column = likely.get("model", "COLUMN")
        lines.append(
            f"NAME: what to call the one arm of all these rows; where a column tells arms apart, --map arm={column}."
        )
    return "\n".join(lines)


def propose_mapping(sample: Mapping[str, Any]) -> dict[str, str]:
    """The likely column of each field, by its name alone; a proposal is never applied without the user."""
    columns = _unique_last_names(sample) | {_normalized(name): name for name in reversed(list(sample))}
    found: dict[str, str] = {}
    for field in FIELD_READERS:
        for likely in (field.replace("_", ""), *_LIKELY_NAMES.get(field, "").split()):
            column = columns.get(likely)
            if column is not None and column not in found.values():
                found[field] = column
                break
    if "input_tokens_with_cache" in found and "cache_read_tokens" not in found:
        found.setdefault("input_tokens", found.pop("input_tokens_with_cache"))
    if "duration_ms" in found:
        found.pop("duration_seconds", None)
    elif looks_like_milliseconds(found, sample):
        found["duration_ms"] = found.pop("duration_seconds")
    return found


def _normalized(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _unique_last_names(sample: Mapping[str, Any]) -> dict[str, str]:
    """Fields of objects by the last part of their dotted name, if it is unique."""
    names = [(_normalized(name.rpartition(".")[2]), name) for name in sample if "." in name]
    times = Counter(last for last, _ in names)
    return {last: name for last, name in names if times[last] == 1 and last != _ANY_ID_NAME}


_REQUIRED_NAMES = frozenset({"task_id", "arm", "success"})
_JSON_LINE_SUFFIXES = frozenset({".jsonl", ".ndjson"})
_LINE_SUFFIXES = _JSON_LINE_SUFFIXES | {".csv", ".tsv"}
_ARRAY = re.compile(rb"^(\xef\xbb\xbf)?\s*\[\s*\{")


class TableImporter:
    """Reads a row as a run. Columns that are neither mapped nor named like a field are kept in `extra`."""

    name = "table"
    takes = frozenset({"columns"})
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
        # JSON Lines with a column for repeats are the format `collected`.
        return names >= _REQUIRED_NAMES and not (suffix == ".jsonl" and "repeat" in names)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read row by row. If repeats have no number, the table is read twice, to number them in order of time."""
        first_rows = ImportNotes()
        sample = sampled_columns(request.path, first_rows)
        if first_rows.unreadable and not sample:
            raise EvidenceError(f"{first_rows.unreadable[0]}. None of the first rows can be read; is it a table?")
        if not sample:
            raise EvidenceError(f"{request.path} has no rows.")
        asked = resolve_fields(request.columns)
        columns = map_columns(asked, sample)
        fields = {column.field for column in columns}
        if "task_id" not in fields or not ("arm" in fields or request.arm):
            raise EvidenceError(mapping_help(str(request.path), sample, request.arm, asked))
        _warn(fields, propose_mapping(sample), notes)
        if looks_like_milliseconds({column.field: column.shown for column in columns}, sample):
            notes.warn("duration_seconds is a thousand times the time from start to end; map it as duration_ms.")
        batch_reader = None
        if request.path.suffix.lower() in _JSON_LINE_SUFFIXES and request.path.is_file() and not first_rows.unreadable:
            batch_reader = make_batch_reader(columns, {name.partition(".")[0] for name in sample}, request.arm)
        source = _TableSource(request, columns, batch_reader)
        if "repeat" in fields:
            yield from _runs(source, notes)
            return
        numbers = number_rows(_runs(source, ImportNotes()))
        for run in _runs(source, notes):
            number = next(numbers, None)
            if number is None:
                raise EvidenceError(f"{request.path} grew while it was read; import it again when it is complete.")
            yield _with_number(run, number)


class _TableSource(NamedTuple):
    """A table and its mapped columns. `batch_reader` is None if rows must be read one by one.

    That is so if one of the first rows cannot be read: a program that writes a key twice does so in most rows, and only
    the reader of single rows notices.
    """

    request: ImportRequest
    columns: Sequence[MappedColumn]
    batch_reader: BatchReader | None

    def blocks(self, notes: ImportNotes) -> Iterator[Sequence[RunRecord]]:
        """The runs in blocks; rows that the batch reader cannot read are read cell by cell."""
        path = self.request.path
        if self.batch_reader is None:
            yield from (self._read_row(row, notes) for row in table_rows(path, notes))
            return

        def read_line(line: bytes, number: int) -> Sequence[RunRecord]:
            found = decode_json_line(line, number, path, notes)
            return () if found is None else self._read_row(TableRow(path, number, found.value), notes)

        with open_source(path) as stream:
            yield from self.batch_reader.read(read_line_blocks(stream), read_line)

    def _read_row(self, row: TableRow, notes: ImportNotes) -> Sequence[RunRecord]:
        try:
            return (make_row_run(row, self.columns, self.request.arm),)
        except ValueError as fault:
            notes.unread(row.file, row.line, str(fault))
            return ()


def _runs(source: _TableSource, notes: ImportNotes) -> Iterator[RunRecord]:
    free: set[str] = set()
    paid: set[str] = set()
    for runs in source.blocks(notes):
        if not paid.issuperset({run.trial.arm for run in runs}):
            paid |= {run.trial.arm for run in runs if run.cost.usd != 0}
            free |= {run.trial.arm for run in runs if run.cost.usd == 0}
        yield from runs
    for arm in sorted(free - paid):
        notes.warn(f"every run of {arm!r} cost 0. If that means unknown, leave cost_usd out of the map.")


def _with_number(run: RunRecord, number: RepeatNumber) -> RunRecord:
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
