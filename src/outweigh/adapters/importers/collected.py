"""Results of the harness that `collected.jsonl` comes from: the collected records, or the folders of its runs."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from outweigh.adapters.importers.collected_run import run_row
from outweigh.adapters.importers.folders import files_below
from outweigh.adapters.importers.imported_run import kept_fields, origins
from outweigh.adapters.importers.source_text import LINE_LIMIT, as_utf8, head, opened, read_json
from outweigh.adapters.importers.source_time import moment
from outweigh.errors import EvidenceError
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.record.collected import from_collected, looks_collected
from outweigh.record.run_record import RunRecord
from outweigh.record.status import Status
from outweigh.transcript.foreign import count, mapping, sequence, text
from outweigh.transcript.repeated_keys import RepeatedKeyError, decode_once

_RECORDS, _META, _ANALYSIS = "collected.jsonl", "run_meta.json", "analysis.json"
_REQUIRED = (b'"task_id"', b'"arm"', b'"repeat"')


class Row(NamedTuple):
    """A record before it is read, and where it stands."""

    file: Path
    line: int
    raw: dict[str, Any]


class Collected:
    """Where a folder has `collected.jsonl`, that is what was analysed; else every `run_meta.json` below is a run."""

    name = "collected"
    fields: Mapping[str, FieldOrigin] = origins(
        reported="duration_seconds usage cost checks started_at",
        derived="status step_count tool_call_count check_command_count extra",
    )

    def recognises(self, path: Path) -> bool:
        """By the coordinates of its first record; records of outweigh itself have a schema."""
        if path.is_dir():
            return _starts_collected(path / _RECORDS) or any(
                _starts_collected(meta) for meta in sorted((path / "runs").glob(f"*/{_META}"))[:1]
            )
        return path.suffix == ".jsonl" and _starts_collected(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Record by record; what the harness found out about them is kept as facts and aggregates."""
        path = request.path
        records = path / _RECORDS if path.is_dir() else path
        unchecked = 0
        for row in _lines(records, notes) if records.is_file() else _folders(path, notes):
            try:
                run = _run(row.raw)
            except (ValueError, msgspec.MsgspecError) as fault:
                notes.unread(row.file, row.line, str(fault))
                continue
            unchecked += run.status is Status.AGENT_ERROR
            yield run
        if unchecked:
            notes.warn(
                f"in {unchecked:,} runs the agent's program failed, and they were not checked. The harness's analysis "
                "leaves them out; here they are errors of the agent, and no passes."
            )
        _analysis(records.parent / _ANALYSIS, notes)


def _run(raw: dict[str, Any]) -> RunRecord:
    if "schema" in raw or not looks_collected(raw):
        raise ValueError("no task_id, arm and repeat")
    run = from_collected(raw)
    return msgspec.structs.replace(
        run, started_at=moment(run.extra.get("started_at_utc")), extra=kept_fields(run.extra)
    )


def _lines(path: Path, notes: ImportNotes) -> Iterator[Row]:
    """Objects one a line, or spread over lines as `jq` prints them: from a bracket alone to its counterpart."""
    spread: list[bytes] = []
    size = 0
    with opened(path) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(LINE_LIMIT), b""), start=1):
            bare = line.removeprefix(b"\xef\xbb\xbf").rstrip()
            if spread or bare == b"{":
                spread.append(line)
                size += len(line)
                if bare == b"}" or size >= LINE_LIMIT:
                    yield from _decoded(path, number - len(spread) + 1, b"".join(spread), notes)
                    spread, size = [], 0
            elif bare:
                yield from _decoded(path, number, line, notes)
        if spread:
            notes.unread(path, number - len(spread) + 1, "the file ends in the middle of a record")


def _decoded(path: Path, line: int, content: bytes, notes: ImportNotes) -> Iterator[Row]:
    try:
        value = decode_once(as_utf8(content, path, notes))
    except ValueError as fault:
        notes.unread(path, line, str(fault) if isinstance(fault, RepeatedKeyError) else "not valid JSON")
        return
    if isinstance(value, dict):
        yield Row(path, line, value)
    else:
        notes.unread(path, line, "not a JSON object")


def _folders(path: Path, notes: ImportNotes) -> Iterator[Row]:
    found = False
    for meta in files_below(path, lambda name: name == _META, passed_by=frozenset({"workspaces"})):
        found = True
        try:
            raw = read_json(meta, notes)
        except EvidenceError as fault:
            notes.unread(meta, 0, str(fault))
            continue
        yield Row(meta, 0, run_row(meta.parent, mapping(raw), notes))
    if not found:
        raise EvidenceError(f"{path} has neither {_RECORDS} nor a {_META} below it; is it the folder of the results?")


def _analysis(path: Path, notes: ImportNotes) -> None:
    """What the harness concluded, for whoever wants to compare."""
    if not path.is_file():
        return
    try:
        stated = mapping(read_json(path, notes))
    except EvidenceError as fault:
        notes.warn(f"the analysis was not read: {fault}")
        return
    for name in ("run_count", "effective_run_count", "excluded_infra_failures", "task_count"):
        if (figure := count(stated.get(name))) is not None:
            notes.facts[name] = figure
    if (decision := text(stated.get("decision"))) is not None:
        notes.facts["decision"] = decision[:200]
    notes.aggregates.extend(kept_fields(mapping(arm)) for arm in sequence(stated.get("arm_summaries"))[:100])


def _starts_collected(path: Path) -> bool:
    start = head(path).partition(b"}")[0]
    return all(field in start for field in _REQUIRED) and b'"schema"' not in start
