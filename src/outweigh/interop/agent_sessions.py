"""Importers of the session files that coding agents keep themselves: Claude Code, Codex, mini-swe-agent.

An importer names the files, tells their kinds apart and numbers the runs; the agents' own transcript readers do the
rest.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from outweigh.agents.claude_code.session import read_claude_session
from outweigh.agents.claude_code.stream import read_claude_code
from outweigh.agents.codex.session import CodexSessionReader
from outweigh.agents.codex.stream import CodexReader
from outweigh.agents.mini_swe_agent.trajectory import MiniSweAgentReader
from outweigh.errors import EvidenceError, OutweighError
from outweigh.interop.imported_run import stable_id, with_repeat_numbers
from outweigh.interop.result_files import decode_json_document, read_bytes, read_head, walk_files
from outweigh.interop.transcripts import (
    DuplicateFilter,
    all_match,
    has_no_damaged_line,
    label_transcript,
    note_skipped_file,
    read_first_events,
    transcript_files,
    transcript_origins,
    transcript_run,
    warn_no_outcome,
)
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_dict, as_name
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.agent_report import AgentReport

CLAUDE_CODE_SUFFIXES = (".jsonl", ".json", ".txt", ".stdout")
_SUB_AGENT_PREFIX = "agent-"


class ClaudeCodeImporter:
    """One run for each output, and for each session with the files of its sub-agents."""

    name = "claude-code"

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """Everything but the outcome."""
        return transcript_origins()

    def recognises(self, path: Path) -> bool:
        """Session lines carry `sessionId`; an output starts with `init` or is a `result`."""
        return all_match(path, CLAUDE_CODE_SUFFIXES, lambda file: _claude_file_kind(file) is not None)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Sessions by their id, each with its sub-agents; outputs one by one."""
        return warn_no_outcome(with_repeat_numbers(_claude_runs(request, notes)), notes)


def _claude_runs(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    sessions: dict[str, list[Path]] = defaultdict(list)
    originals = DuplicateFilter(notes)
    for file in transcript_files(request.path, CLAUDE_CODE_SUFFIXES):
        kind = _claude_file_kind(file)
        if kind is None:
            note_skipped_file(file, "a session or an output of Claude Code", notes)
            continue
        content = read_bytes(file)
        run_id = originals.run_id("claude-code", file, content)
        if run_id is None:
            continue
        if kind != "output":
            sessions[kind].append(file)
            continue
        report = read_claude_code(content)
        if has_no_damaged_line(file, content, report, notes):
            yield _claude_run(run_id, file, report, request)
    for session, files in sessions.items():
        # The session's own file first: the sub-agents' are found beside it or below it.
        ordered = sorted(files, key=lambda file: (file.name.startswith(_SUB_AGENT_PREFIX), len(file.parts), file))
        contents = list(map(read_bytes, ordered))
        report = read_claude_session(*contents)
        # Every file is looked at, so that every damaged one is named.
        whole = [
            has_no_damaged_line(file, content, report, notes) for file, content in zip(ordered, contents, strict=True)
        ]
        if all(whole):
            yield _claude_run(stable_id("claude-code", session), ordered[0], report, request)


def _claude_run(run_id: str, file: Path, report: AgentReport, request: ImportRequest) -> RunRecord:
    return transcript_run("claude-code", run_id, label_transcript(file, request.path), report, request)


def _claude_file_kind(file: Path) -> str | None:
    """`output`, or the id of the session that a file belongs to; None where it is neither."""
    for event in read_first_events(read_head(file)):
        # Qwen Code's output has the same shape, and counts what the cache held as input.
        if "qwen_code_version" in event:
            return None
        session = as_name(event.get("sessionId"))
        if session is not None:
            return session
        if event.get("type") == "system" and event.get("subtype") == "init" and "claude_code_version" in event:
            return "output"
        if event.get("type") == "result" and "num_turns" in event:
            return "output"
    return None


CODEX_SUFFIXES = (".jsonl", ".json", ".txt", ".stdout")
_CODEX_READERS = {"thread.started": CodexReader, "session_meta": CodexSessionReader}


class CodexImporter:
    """One run for each stream or rollout."""

    name = "codex"

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """Everything but the outcome; Codex never names a cost."""
        return {**transcript_origins(), "cost": FieldOrigin.UNKNOWN}

    def recognises(self, path: Path) -> bool:
        """By the event that comes first."""
        return all_match(path, CODEX_SUFFIXES, lambda file: _codex_file_kind(file) is not None)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """File by file."""
        return warn_no_outcome(with_repeat_numbers(_codex_runs(request, notes)), notes)


def _codex_runs(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    originals = DuplicateFilter(notes)
    for file in transcript_files(request.path, CODEX_SUFFIXES):
        kind = _codex_file_kind(file)
        if kind is None:
            note_skipped_file(file, "a stream or a rollout of Codex", notes)
            continue
        content = read_bytes(file)
        run_id = originals.run_id("codex", file, content)
        if run_id is not None:
            reader = _CODEX_READERS[kind]()
            reader.feed(content)
            report = reader.report()
            if has_no_damaged_line(file, content, report, notes):
                yield transcript_run("codex", run_id, label_transcript(file, request.path), report, request)


def _codex_file_kind(file: Path) -> str | None:
    return next(
        (kind for event in read_first_events(read_head(file)) if (kind := str(event.get("type"))) in _CODEX_READERS),
        None,
    )


MINI_SWE_SUFFIX = ".traj.json"
_MINI_SWE_MARKS = (b'"trajectory_format"', b'"mini-swe-agent', b'"mini_version"')


class MiniSweAgentImporter:
    """One run for each trajectory."""

    name = "mini-swe-agent"

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """Everything but the outcome and the time."""
        return transcript_origins()

    def recognises(self, path: Path) -> bool:
        """By the name of the format, which stands in every file."""
        try:
            if path.is_file():
                return is_mini_swe_trajectory(path)
            found = (
                list(islice(walk_files(path, lambda name: name.endswith(MINI_SWE_SUFFIX)), 3)) if path.is_dir() else []
            )
            return bool(found) and all(map(is_mini_swe_trajectory, found))
        except (OSError, OutweighError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """File by file."""
        return warn_no_outcome(with_repeat_numbers(_mini_swe_runs(request, notes)), notes)


def read_mini_swe_trajectory(content: bytes, file: Path, notes: ImportNotes) -> AgentReport:
    """The report of one trajectory; a file without messages is an EvidenceError, not a run without steps."""
    document = as_dict(decode_json_document(content, file, notes))
    if not isinstance(document.get("messages"), list):
        raise EvidenceError(f"{file} has no messages; is it a trajectory of mini-swe-agent?")
    reader = MiniSweAgentReader()
    reader.feed(msgspec.json.encode(document))
    return reader.report()


def is_mini_swe_trajectory(file: Path) -> bool:
    """Whether a file is one, by its beginning and, since the mark may stand last, its end."""
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            start = stream.read(65_536)
            stream.seek(max(0, size - 65_536))
            return start.lstrip()[:1] == b"{" and any(
                mark in start or mark in stream.read() for mark in _MINI_SWE_MARKS
            )
    except (OSError, ValueError):
        return False


def _mini_swe_runs(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    originals = DuplicateFilter(notes)
    for file in transcript_files(request.path, (MINI_SWE_SUFFIX,)):
        if not is_mini_swe_trajectory(file):
            notes.unread(file, 0, "not a trajectory of mini-swe-agent")
            continue
        place = label_transcript(file, request.path)
        if place.arm == place.task:
            # A batch has a folder for every instance, which is no arm.
            place = place._replace(arm=None)
        content = read_bytes(file)
        run_id = originals.run_id("mini-swe-agent", file, content)
        if run_id is None:
            continue
        try:
            report = read_mini_swe_trajectory(content, file, notes)
        except EvidenceError as fault:
            notes.unread(file, 0, str(fault))
        else:
            yield transcript_run("mini-swe-agent", run_id, place, report, request)
