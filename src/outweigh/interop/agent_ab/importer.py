"""Importer of the A/B harness's results (format `collected`): `collected.jsonl`, or the folders of its runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from outweigh.errors import EvidenceError
from outweigh.interop.column_names import says_more_than_collected
from outweigh.interop.field_values import known_sum, parse_time
from outweigh.interop.imported_run import extra_fields, field_origins
from outweigh.interop.result_files import (
    LINE_LIMIT,
    open_source,
    read_bounded_lines,
    read_head,
    read_json,
    read_json_lines,
    to_utf8,
    walk_files,
)
from outweigh.interop.row_batch import (
    PLAIN_CELL,
    BatchReader,
    RowRules,
    make_row_reader,
    read_line_blocks,
)
from outweigh.interop.table_rows import sampled_columns
from outweigh.model.codec import CollectedRun, from_collected, looks_collected
from outweigh.model.failure import Status
from outweigh.model.json_text import RepeatedKeyError, decode_unique_keys, try_decode_json
from outweigh.model.run_columns import RunColumns
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import amount_at, as_count, as_dict, as_list, as_str, count_at, dict_at, str_at
from outweigh.model.usage import Usage
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_EVENTS, _SESSION = "opencode.events.jsonl", "session.export.json"


def read_run_folder(folder: Path, meta: dict[str, Any], notes: ImportNotes) -> dict[str, Any]:
    """The fields that the harness stored, with tokens and cost from the session and counts from the events."""
    return {
        **_read_session(folder / _SESSION, notes),
        **_read_events(folder / _EVENTS, meta.get("acceptance_command"), notes),
        **meta,
    }


def _read_session(path: Path, notes: ImportNotes) -> dict[str, Any]:
    """Sums over the model's answers. OpenCode counts reasoning apart from output; here it is part of it."""
    if not path.is_file() or not path.stat().st_size:
        return {}
    try:
        messages = as_list(as_dict(read_json(path, notes)).get("messages"))
    except EvidenceError as fault:
        notes.warn(f"a session was not read, so its tokens are unknown: {fault}")
        return {}
    infos = [info for message in messages if _is_answer(info := dict_at(as_dict(message), "info"))]
    output = known_sum(count_at(info, "tokens", "output") for info in infos)
    thought = any("reasoning" in dict_at(info, "tokens") for info in infos)
    reasoning = known_sum(count_at(info, "tokens", "reasoning") for info in infos) if thought else 0
    return {
        "total_cost_usd": known_sum(amount_at(info, "cost") for info in infos),
        "input_tokens": known_sum(count_at(info, "tokens", "input") for info in infos),
        "output_tokens": None if output is None or reasoning is None else output + reasoning,
        "cache_read_tokens": known_sum(count_at(info, "tokens", "cache", "read") for info in infos),
        "cache_write_tokens": known_sum(count_at(info, "tokens", "cache", "write") for info in infos),
    }


def _is_answer(info: dict[str, Any]) -> bool:
    """Whether a message is the model's; only those have tokens and a cost."""
    return info.get("role") == "assistant" or "tokens" in info or "cost" in info


def _read_events(path: Path, command: object, notes: ImportNotes) -> dict[str, Any]:
    """Counts of steps, tool calls, and of the agent's own runs of the check; unknown if a line cannot be read."""
    if not path.is_file() or not path.stat().st_size:
        return {}
    steps = tools = checks = 0
    trouble = ImportNotes()
    for line in read_json_lines(path, trouble):
        kind = str_at(line.value, "type")
        steps += kind == "step_finish"
        if kind == "tool_use":
            tools += 1
            typed = str_at(line.value, "part", "state", "input", "command")
            checks += isinstance(command, str) and typed is not None and f"{typed} ".startswith(f"{command} ")
    if trouble.unreadable:
        notes.warn(f"steps and tool calls are unknown, because not every line of {path} can be read.")
        return {}
    known = {"step_count": steps, "tool_call_count": tools}
    return known | {"acceptance_cmd_count": checks} if isinstance(command, str) and command else known


_RECORDS, _META, _ANALYSIS = "collected.jsonl", "run_meta.json", "analysis.json"
_REQUIRED = (b'"task_id"', b'"arm"', b'"repeat"')


class CollectedRow(NamedTuple):
    """A record before it is converted, and where it is."""

    file: Path
    line: int
    raw: dict[str, Any]


class CollectedImporter:
    """Reads `collected.jsonl`, which is what the harness analysed, else every `run_meta.json` below a folder."""

    name = "collected"
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="duration_seconds usage cost checks started_at",
        derived="status step_count tool_call_count check_command_count extra",
    )

    def recognises(self, path: Path) -> bool:
        """Whether the first record has task, arm and repeat; records of outweigh also have a schema, and a table has
        measures under other names.
        """
        if path.is_dir():
            return _holds_collected(path / _RECORDS) or any(
                _looks_collected(meta) for meta in sorted((path / "runs").glob(f"*/{_META}"))[:1]
            )
        return path.suffix == ".jsonl" and _holds_collected(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read record by record; the harness's own conclusions are kept as facts and aggregates."""
        for runs in self._read(request.path, notes):
            yield from runs

    def read_blocks(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunColumns | RunRecord]:
        """The same runs, those of plain records as columns."""
        for runs in self._read(request.path, notes):
            yield from (runs,) if isinstance(runs, RunColumns) else runs

    def _read(self, path: Path, notes: ImportNotes) -> Iterator[RunColumns | Sequence[RunRecord]]:
        records = path / _RECORDS if path.is_dir() else path
        unchecked = 0
        for runs in (
            _runs_of_file(records, notes) if records.is_file() else _runs_of_rows(_read_folders(path, notes), notes)
        ):
            if not isinstance(runs, RunColumns):
                unchecked += sum(run.status is Status.AGENT_ERROR for run in runs)
            yield runs
        if unchecked:
            notes.warn(
                f"in {unchecked:,} runs the agent's program failed, and they were not checked. The harness's analysis "
                "leaves them out; here they are errors of the agent, and no passes."
            )
        _read_analysis(records.parent / _ANALYSIS, notes)


def _runs_of_rows(rows: Iterable[CollectedRow], notes: ImportNotes) -> Iterator[Sequence[RunRecord]]:
    for row in rows:
        try:
            yield (_run(row.raw),)
        except (ValueError, msgspec.MsgspecError) as fault:
            notes.unread(row.file, row.line, str(fault))


def _runs_of_file(path: Path, notes: ImportNotes) -> Iterator[RunColumns | Sequence[RunRecord]]:
    """Many records at once where they are plain, up to one that is spread over lines; the others one by one."""
    reader = _make_row_reader(path)
    first = 1
    if reader is not None:

        def read_line(line: bytes, number: int) -> Sequence[RunRecord]:
            if _opens_record(line):
                raise _SpreadRecordError(number)
            rows = _decode_record(path, number, line, notes) if _bare(line) else ()
            return [run for runs in _runs_of_rows(rows, notes) for run in runs]

        try:
            with open_source(path) as stream:
                yield from reader.read(read_line_blocks(stream), read_line)
            return
        except _SpreadRecordError as found:
            first = found.line
    yield from _runs_of_rows(_read_records(path, notes, first), notes)


class _SpreadRecordError(Exception):
    """A record begins on this line and goes on, as `jq` prints it."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


_COLUMNS = {
    **{name: name for name in ("task_id", "arm", "repeat", "success", "duration_seconds", "run_id", "family")},
    **{name: name for name in (*Usage.__struct_fields__, "step_count", "tool_call_count")},
    "cost_usd": "total_cost_usd",
}
_READ_ALONE = frozenset({"schema", "started_at_utc", *CollectedRun.__struct_fields__} - {*_COLUMNS.values()})
"""Keys of records that say more than a table does."""

_SAMPLED_RECORDS = 100


def _make_row_reader(path: Path) -> BatchReader | None:
    names: set[str] = set()
    with open_source(path) as stream:
        for line in islice(read_bounded_lines(stream), _SAMPLED_RECORDS):
            names.update(as_dict(try_decode_json(line)))
    if not names >= {"task_id", "arm", "repeat"} or names & _READ_ALONE:
        return None
    mapped = {field: column for field, column in _COLUMNS.items() if column in names or field == "success"}
    return make_row_reader(mapped, names, None, RowRules(PLAIN_CELL, unknown=(None,), once=frozenset(names)))


def _run(raw: dict[str, Any]) -> RunRecord:
    if "schema" in raw or not looks_collected(raw):
        raise ValueError("no task_id, arm and repeat")
    run = from_collected(raw)
    return msgspec.structs.replace(
        run, started_at=parse_time(run.extra.get("started_at_utc")), extra=extra_fields(run.extra)
    )


def _read_records(path: Path, notes: ImportNotes, first: int) -> Iterator[CollectedRow]:
    """The objects of a file from a line on, one per line or spread over lines as `jq` prints them."""
    spread: list[bytes] = []
    size = 0
    with open_source(path) as stream:
        lines = enumerate(iter(lambda: stream.readline(LINE_LIMIT), b""), start=1)
        for number, line in islice(lines, first - 1, None):
            if spread or _opens_record(line):
                spread.append(line)
                size += len(line)
                if _bare(line) == b"}" or size >= LINE_LIMIT:
                    yield from _decode_record(path, number - len(spread) + 1, b"".join(spread), notes)
                    spread, size = [], 0
            elif _bare(line):
                yield from _decode_record(path, number, line, notes)
        if spread:
            notes.unread(path, number - len(spread) + 1, "the file ends in the middle of a record")


def _opens_record(line: bytes) -> bool:
    return _bare(line) == b"{"


def _bare(line: bytes) -> bytes:
    return line.removeprefix(b"\xef\xbb\xbf").rstrip()


def _decode_record(path: Path, line: int, content: bytes, notes: ImportNotes) -> Iterator[CollectedRow]:
    try:
        value = decode_unique_keys(to_utf8(content, path, notes))
    except ValueError as fault:
        notes.unread(path, line, str(fault) if isinstance(fault, RepeatedKeyError) else "not valid JSON")
        return
    if isinstance(value, dict):
        yield CollectedRow(path, line, value)
    else:
        notes.unread(path, line, "not a JSON object")


def _read_folders(path: Path, notes: ImportNotes) -> Iterator[CollectedRow]:
    found = False
    for meta in walk_files(path, lambda name: name == _META, skipped_folders=frozenset({"workspaces"})):
        found = True
        try:
            raw = read_json(meta, notes)
        except EvidenceError as fault:
            notes.unread(meta, 0, str(fault))
            continue
        yield CollectedRow(meta, 0, read_run_folder(meta.parent, as_dict(raw), notes))
    if not found:
        raise EvidenceError(f"{path} has neither {_RECORDS} nor a {_META} below it; is it the folder of the results?")


def _read_analysis(path: Path, notes: ImportNotes) -> None:
    """Keep what the harness concluded, for comparison."""
    if not path.is_file():
        return
    try:
        stated = as_dict(read_json(path, notes))
    except EvidenceError as fault:
        notes.warn(f"the analysis was not read: {fault}")
        return
    for name in ("run_count", "effective_run_count", "excluded_infra_failures", "task_count"):
        if (figure := as_count(stated.get(name))) is not None:
            notes.facts[name] = figure
    if (decision := as_str(stated.get("decision"))) is not None:
        notes.facts["decision"] = decision[:200]
    notes.aggregates.extend(extra_fields(as_dict(arm)) for arm in as_list(stated.get("arm_summaries"))[:100])


def _looks_collected(path: Path) -> bool:
    start = read_head(path).partition(b"}")[0]
    return all(field in start for field in _REQUIRED) and b'"schema"' not in start


def _holds_collected(path: Path) -> bool:
    return _looks_collected(path) and not says_more_than_collected(sampled_columns(path))
