"""Codex: the events of `codex exec --json`, and the rollouts that it keeps of every session."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from outweigh.adapters.importers.repeats import numbered
from outweigh.adapters.importers.source_text import head, read_bytes
from outweigh.adapters.importers.transcript_place import all_look_right, place_of, transcript_files
from outweigh.adapters.importers.transcript_run import (
    Originals,
    first_events,
    is_whole,
    pass_by,
    transcript_origins,
    transcript_run,
    without_outcome,
)
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.record.run_record import RunRecord
from outweigh.transcript.codex import CodexReader
from outweigh.transcript.codex_session import CodexSessionReader

ENDINGS = (".jsonl", ".json", ".txt", ".stdout")
_READERS = {"thread.started": CodexReader, "session_meta": CodexSessionReader}


class Codex:
    """One run for each stream or rollout."""

    name = "codex"

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """Everything but the outcome; Codex never names a cost."""
        return {**transcript_origins(), "cost": FieldOrigin.UNKNOWN}

    def recognises(self, path: Path) -> bool:
        """By the event that comes first."""
        return all_look_right(path, ENDINGS, lambda file: _kind(file) is not None)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """File by file."""
        return without_outcome(numbered(_runs(request, notes)), notes)


def _runs(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    originals = Originals(notes)
    for file in transcript_files(request.path, ENDINGS):
        kind = _kind(file)
        if kind is None:
            pass_by(file, "a stream or a rollout of Codex", notes)
            continue
        content = read_bytes(file)
        run_id = originals.run_id("codex", file, content)
        if run_id is not None:
            reader = _READERS[kind]()
            reader.feed(content)
            report = reader.report()
            if is_whole(file, content, report, notes):
                yield transcript_run("codex", run_id, place_of(file, request.path), report, request)


def _kind(file: Path) -> str | None:
    return next((kind for event in first_events(head(file)) if (kind := str(event.get("type"))) in _READERS), None)
