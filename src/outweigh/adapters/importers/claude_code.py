"""Claude Code's session files and its output, `stream-json` or `json`."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from outweigh.adapters.importers.identity import stable_id
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
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.claude_code import read_claude_code
from outweigh.transcript.claude_code_session import read_claude_session
from outweigh.transcript.foreign import name

ENDINGS = (".jsonl", ".json", ".txt", ".stdout")
_SUB_AGENT = "agent-"


class ClaudeCode:
    """One run for each output, and for each session with the files of its sub-agents."""

    name = "claude-code"

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """Everything but the outcome."""
        return transcript_origins()

    def recognises(self, path: Path) -> bool:
        """Session lines carry `sessionId`; an output starts with `init` or is a `result`."""
        return all_look_right(path, ENDINGS, lambda file: _kind(file) is not None)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Sessions by their id, each with its sub-agents; outputs one by one."""
        return without_outcome(numbered(_runs(request, notes)), notes)


def _runs(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    sessions: dict[str, list[Path]] = defaultdict(list)
    originals = Originals(notes)
    for file in transcript_files(request.path, ENDINGS):
        kind = _kind(file)
        if kind is None:
            pass_by(file, "a session or an output of Claude Code", notes)
            continue
        content = read_bytes(file)
        run_id = originals.run_id("claude-code", file, content)
        if run_id is None:
            continue
        if kind != "output":
            sessions[kind].append(file)
            continue
        report = read_claude_code(content)
        if is_whole(file, content, report, notes):
            yield _run(run_id, file, report, request)
    for session, files in sessions.items():
        # The session's own file first: the sub-agents' are found beside it or below it.
        ordered = sorted(files, key=lambda file: (file.name.startswith(_SUB_AGENT), len(file.parts), file))
        contents = list(map(read_bytes, ordered))
        report = read_claude_session(*contents)
        # Every file is looked at, so that every damaged one is named.
        whole = [is_whole(file, content, report, notes) for file, content in zip(ordered, contents, strict=True)]
        if all(whole):
            yield _run(stable_id("claude-code", session), ordered[0], report, request)


def _run(run_id: str, file: Path, report: AgentReport, request: ImportRequest) -> RunRecord:
    return transcript_run("claude-code", run_id, place_of(file, request.path), report, request)


def _kind(file: Path) -> str | None:
    """`output`, or the id of the session that a file belongs to; None where it is neither."""
    for event in first_events(head(file)):
        # Qwen Code's output has the same shape, and counts what the cache held as input.
        if "qwen_code_version" in event:
            return None
        session = name(event.get("sessionId"))
        if session is not None:
            return session
        if event.get("type") == "system" and event.get("subtype") == "init" and "claude_code_version" in event:
            return "output"
        if event.get("type") == "result" and "num_turns" in event:
            return "output"
    return None
