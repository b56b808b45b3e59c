"""Importers of the output and session files of coding agents: Claude Code, Cline, Codex, Copilot CLI, mini-swe-agent
and pi.

An importer tells the files of its agent from others and numbers the runs; the agent's own transcript reader does the
rest. Those readers are imported on first use, because all importers are loaded to detect a format.
"""

import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec

from outweigh.errors import EvidenceError, OutweighError
from outweigh.interop.imported_run import decode_file_name, stable_id, with_repeat_numbers
from outweigh.interop.result_files import decode_json_document, read_bytes, read_head, walk_files
from outweigh.interop.transcript_labels import TranscriptFolder, TranscriptLabels, label_transcript
from outweigh.interop.transcripts import (
    DuplicateFilter,
    all_match,
    has_no_damaged_line,
    note_skipped_file,
    read_first_events,
    transcript_files,
    transcript_origins,
    transcript_run,
    warn_no_outcome,
)
from outweigh.model.json_text import JsonObject
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_dict, as_name, as_str
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.agent_report import AgentReport, TranscriptReader
from outweigh.transcript.token_counts import is_empty_usage

_OUTPUT_SUFFIXES = (".jsonl", ".json", ".txt", ".stdout")
_SUB_AGENT_PREFIX = "agent-"
_NAMED_FILES = 3
"""Of many files of other programs in a folder, these are named."""


class _SessionFile(NamedTuple):
    """A file of an agent, and what kind of file it is in the words of its importer."""

    path: Path
    kind: str
    content: bytes
    run_id: str


class _SessionImporter(ABC):
    """Reads one run from each file of an agent that its first events identify."""

    name: ClassVar[str]
    description: ClassVar[str]
    """What a file has to be, for the note about one that is not."""

    fields: Mapping[str, FieldOrigin] = transcript_origins()
    takes = frozenset({"model"})
    reads_sessions = True
    """Files of other agents in a folder are passed by, so that each agent's importer can read it."""

    @abstractmethod
    def file_kind(self, events: list[JsonObject]) -> str | None:
        """The kind of file that begins with these events; None if another program wrote it."""

    @abstractmethod
    def read_report(self, file: _SessionFile) -> AgentReport:
        """Read the transcript in a file."""

    def recognises(self, path: Path) -> bool:
        """Whether a file, or every file sampled from a folder, is one of the agent's."""
        return all_match(path, _OUTPUT_SUFFIXES, lambda file: self._kind_of(file) is not None)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read the runs file by file, and warn that transcripts do not say whether the task was solved."""
        return warn_no_outcome(with_repeat_numbers(self._runs(request, notes)), notes)

    def _runs(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        folder = _transcripts_of(request)
        for file in self._files(request, notes):
            report = self.read_report(file)
            if has_no_damaged_line(file.path, file.content, report, notes):
                _warn_of_unnamed_model(report, request, notes)
                yield transcript_run(self.name, file.run_id, folder.label(file.path), report, request)

    def _files(self, request: ImportRequest, notes: ImportNotes) -> Iterator[_SessionFile]:
        """Every file of the agent once, whatever its name; files of other programs and copies become notes."""
        originals = DuplicateFilter(notes)
        foreign: list[Path] = []
        for path in transcript_files(request.path, _OUTPUT_SUFFIXES):
            events = read_first_events(read_head(path))
            kind = self.file_kind(events)
            if kind is None and events and request.path.is_dir():
                foreign.append(path)
                continue
            if kind is None:
                # One without any event may be damaged.
                note_skipped_file(path, self.description, notes)
                continue
            content = read_bytes(path)
            run_id = originals.run_id(self.name, path, content)
            if run_id is not None:
                yield _SessionFile(path, kind, content, run_id)
        for path in foreign[:_NAMED_FILES]:
            note_skipped_file(path, self.description, notes, is_foreign=True)
        if more := len(foreign[_NAMED_FILES:]):
            notes.warn(f"{more:,} more files are not {self.description} either, and were passed by.")

    def _kind_of(self, path: Path) -> str | None:
        return self.file_kind(read_first_events(read_head(path)))


def _transcripts_of(request: ImportRequest) -> TranscriptFolder:
    """The files of all agents in a folder; those of sub-agents have no task of their own."""
    files = transcript_files(request.path, _OUTPUT_SUFFIXES)
    return TranscriptFolder(request.path, [file for file in files if not file.name.startswith(_SUB_AGENT_PREFIX)])


def _warn_of_unnamed_model(report: AgentReport, request: ImportRequest, notes: ImportNotes) -> None:
    if (report.model or request.model or report.cost_usd) is None and not is_empty_usage(report.usage):
        notes.warn("these transcripts do not name their model, so that their tokens have no price: add --model NAME.")


class ClaudeCodeImporter(_SessionImporter):
    """Reads one run from each output, and from each session with the files of its sub-agents."""

    name = "claude-code"
    description = "a session or an output of Claude Code"

    def file_kind(self, events: list[JsonObject]) -> str | None:
        """`output`, or the id of the session that a file belongs to.

        Session lines carry `sessionId`; an output starts with `init` or is a `result`.
        """
        for event in events:
            # Qwen Code's output has the same shape, but counts cached tokens as input. Gemini CLI's sessions have an
            # id, too, with the hash of their project.
            if "qwen_code_version" in event or "projectHash" in event:
                return None
            session = as_name(event.get("sessionId"))
            # The result of a Copilot CLI output has a session id, too.
            if session is not None and isinstance(event.get("type"), str) and event.get("type") != "result":
                return session
            if event.get("type") == "system" and event.get("subtype") == "init" and "claude_code_version" in event:
                return "output"
            if event.get("type") == "result" and "num_turns" in event:
                return "output"
        return None

    def read_report(self, file: _SessionFile) -> AgentReport:
        """Read one output."""
        from outweigh.agents.claude_code.stream import read_claude_code  # noqa: PLC0415

        return read_claude_code(file.content)

    def _runs(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        from outweigh.agents.claude_code.session import read_claude_session  # noqa: PLC0415

        folder = _transcripts_of(request)
        sessions: dict[str, list[Path]] = defaultdict(list)
        printed: set[str | None] = set()
        for file in self._files(request, notes):
            if file.kind != "output":
                sessions[file.kind].append(file.path)
                continue
            report = self.read_report(file)
            if has_no_damaged_line(file.path, file.content, report, notes):
                printed.add(report.session_id)
                yield transcript_run(self.name, file.run_id, folder.label(file.path), report, request)
        for session, paths in sessions.items():
            if session in printed:
                notes.warn(f"{paths[0]} is the session of an output that is read too, and is not counted again.")
                continue
            # The session's own file comes first; those of its sub-agents lie beside it or below it.
            ordered = sorted(paths, key=lambda path: (path.name.startswith(_SUB_AGENT_PREFIX), len(path.parts), path))
            contents = list(map(read_bytes, ordered))
            report = read_claude_session(*contents)
            # A list, so that every damaged file is named and not only the first.
            intact = [
                has_no_damaged_line(path, content, report, notes)
                for path, content in zip(ordered, contents, strict=True)
            ]
            if all(intact):
                place = _project_labels(ordered[0], request.path) or folder.label(ordered[0])
                yield transcript_run(self.name, stable_id(self.name, session), place, report, request)


def _project_labels(file: Path, root: Path) -> TranscriptLabels | None:
    """The labels of a session in Claude Code's own folder of projects: the arm is the working folder and its branch.

    None if the folder around the file is not named after the working folder.
    """
    for event in read_first_events(read_head(file)):
        folder, branch = as_str(event.get("cwd")), as_name(event.get("gitBranch"))
        if folder is not None and any(part == _NO_WORD.sub("-", folder) for part in file.parts):
            named = file.relative_to(root).as_posix() if root.is_dir() else file.name
            arm = "@".join(filter(None, (folder.strip("/\\").replace("\\", "/"), branch)))
            return TranscriptLabels(decode_file_name(named), "session", (arm or "sessions")[:200])
    return None


_NO_WORD = re.compile(r"[^A-Za-z0-9]")


class ClineImporter(_SessionImporter):
    """Reads one run from each output of `cline --json`."""

    name = "cline"
    description = "an output of Cline"

    def file_kind(self, events: list[JsonObject]) -> str | None:
        """`output`, by the first event, which is the start of the agent."""
        found = any(event.get("type") == "hook_event" and "hookEventName" in event for event in events)
        return "output" if found else None

    def read_report(self, file: _SessionFile) -> AgentReport:
        """Read one output."""
        from outweigh.agents.cline import ClineReader  # noqa: PLC0415

        return _read_with(ClineReader(), file.content)


class CodexImporter(_SessionImporter):
    """Reads one run from each output of `codex exec --json` and from each rollout."""

    name = "codex"
    description = "a stream or a rollout of Codex"
    fields: Mapping[str, FieldOrigin] = {**transcript_origins(), "cost": FieldOrigin.UNKNOWN}

    def file_kind(self, events: list[JsonObject]) -> str | None:
        """The type of the event that an output or a rollout begins with."""
        kinds = (str(event.get("type")) for event in events)
        return next((kind for kind in kinds if kind in ("thread.started", "session_meta")), None)

    def _runs(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """An output and its rollout are one run: the rollout names the model, and the output's place the task."""
        paths = list(transcript_files(request.path, _OUTPUT_SUFFIXES))
        folder = _transcripts_of(request)
        heads = {path: read_first_events(read_head(path)) for path in paths}
        rollouts = {
            session: path
            for path, events in heads.items()
            if self.file_kind(events) == "session_meta" and (session := _codex_session(events)) is not None
        }
        outputs = {_codex_session(events) for events in heads.values() if self.file_kind(events) == "thread.started"}
        for file in self._files(request, notes):
            session = _codex_session(heads.get(file.path, []))
            if file.kind == "session_meta" and session in outputs and session is not None:
                notes.warn(f"{file.path} is the rollout of an output that is read too, and is not counted again.")
                continue
            content = file.content
            report = self.read_report(file)
            if file.kind == "thread.started" and session in rollouts:
                content = read_bytes(rollouts[session])
                report = self.read_report(_SessionFile(rollouts[session], "session_meta", content, file.run_id))
            if has_no_damaged_line(file.path, content, report, notes):
                _warn_of_unnamed_model(report, request, notes)
                yield transcript_run(self.name, file.run_id, folder.label(file.path), report, request)

    def read_report(self, file: _SessionFile) -> AgentReport:
        """Read one output or rollout."""
        from outweigh.agents.codex.session import CodexSessionReader  # noqa: PLC0415
        from outweigh.agents.codex.stream import CodexReader  # noqa: PLC0415

        return _read_with(CodexReader() if file.kind == "thread.started" else CodexSessionReader(), file.content)


def _codex_session(events: list[JsonObject]) -> str | None:
    """The thread that an output or a rollout is of."""
    for event in events:
        if event.get("type") == "thread.started":
            return as_name(event.get("thread_id"))
        if event.get("type") == "session_meta":
            return as_name(as_dict(event.get("payload")).get("id"))
    return None


class CopilotImporter(_SessionImporter):
    """Reads one run from each output of `copilot -p --output-format json`, which states no tokens and no cost."""

    name = "copilot"
    description = "an output of Copilot CLI"
    fields: Mapping[str, FieldOrigin] = {
        **transcript_origins(),
        "cost": FieldOrigin.UNKNOWN,
        "usage": FieldOrigin.UNKNOWN,
    }

    def file_kind(self, events: list[JsonObject]) -> str | None:
        """`output`, by the events that list what was loaded.

        The session files that Copilot CLI keeps begin with `session.start` and have no result, so they are not read.
        """
        kinds = {str(event.get("type")) for event in events if isinstance(event.get("data"), dict)}
        listed = kinds & {"session.skills_loaded", "session.mcp_servers_loaded", "session.tools_updated"}
        return "output" if listed and "session.start" not in kinds else None

    def read_report(self, file: _SessionFile) -> AgentReport:
        """Read one output."""
        from outweigh.agents.copilot import CopilotReader  # noqa: PLC0415

        return _read_with(CopilotReader(), file.content)


class PiImporter(_SessionImporter):
    """Reads one run from each output of `pi --mode json`."""

    name = "pi"
    description = "an output of pi"

    def file_kind(self, events: list[JsonObject]) -> str | None:
        """`output`, by its header and the start of the agent; the session files that pi keeps have only the header."""
        header = any(event.get("type") == "session" and "version" in event for event in events)
        return "output" if header and any(event.get("type") == "agent_start" for event in events) else None

    def read_report(self, file: _SessionFile) -> AgentReport:
        """Read one output."""
        from outweigh.agents.pi import PiReader  # noqa: PLC0415

        return _read_with(PiReader(), file.content)


def _read_with(reader: TranscriptReader, content: bytes) -> AgentReport:
    reader.feed(content)
    return reader.report()


MINI_SWE_SUFFIX = ".traj.json"
_MINI_SWE_MARKS = (b'"trajectory_format"', b'"mini-swe-agent', b'"mini_version"')


class MiniSweAgentImporter:
    """Reads one run from each trajectory; a batch has a folder for every instance."""

    name = "mini-swe-agent"
    fields: Mapping[str, FieldOrigin] = transcript_origins()

    def recognises(self, path: Path) -> bool:
        """Whether a file names the format, or the first trajectories of a folder do."""
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
        """Read the runs file by file, and warn that trajectories do not say whether the task was solved."""
        return warn_no_outcome(with_repeat_numbers(_mini_swe_runs(request, notes)), notes)


def read_mini_swe_trajectory(content: bytes, file: Path, notes: ImportNotes) -> AgentReport:
    """Read one trajectory; one without messages raises an EvidenceError, because it is not a run without steps."""
    from outweigh.agents.mini_swe_agent.trajectory import MiniSweAgentReader  # noqa: PLC0415

    document = as_dict(decode_json_document(content, file, notes))
    if not isinstance(document.get("messages"), list):
        raise EvidenceError(f"{file} has no messages; is it a trajectory of mini-swe-agent?")
    return _read_with(MiniSweAgentReader(), msgspec.json.encode(document))


class _MiniSweDocument(msgspec.Struct):
    """Where a trajectory names its format."""

    trajectory_format: Any = None
    info: Any = None


def is_mini_swe_trajectory(file: Path) -> bool:
    """Whether a file names the format, in the place where the format has its name; other files may mention it."""
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            start = stream.read(65_536)
            stream.seek(max(0, size - 65_536))
            end = stream.read()
        if start.lstrip()[:1] != b"{" or not any(mark in start or mark in end for mark in _MINI_SWE_MARKS):
            return False
        found = msgspec.json.decode(read_bytes(file), type=_MiniSweDocument)
    except (msgspec.DecodeError, RecursionError):
        return file.name.endswith(MINI_SWE_SUFFIX)  # a damaged one, and its reader says so
    except (OSError, ValueError, OutweighError):
        return False
    named = str(found.trajectory_format or "")
    return named.startswith("mini-swe-agent") or "mini_version" in as_dict(found.info)


def _mini_swe_runs(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    originals = DuplicateFilter(notes)
    for file in transcript_files(request.path, (MINI_SWE_SUFFIX,)):
        if not is_mini_swe_trajectory(file):
            notes.unread(file, 0, "not a trajectory of mini-swe-agent")
            continue
        labels = label_transcript(file, request.path)
        if labels.arm == labels.task:
            # The folder is the instance's, not an arm's.
            labels = labels._replace(arm=None)
        content = read_bytes(file)
        run_id = originals.run_id("mini-swe-agent", file, content)
        if run_id is None:
            continue
        try:
            report = read_mini_swe_trajectory(content, file, notes)
        except EvidenceError as fault:
            notes.unread(file, 0, str(fault))
        else:
            yield transcript_run("mini-swe-agent", run_id, labels, report, request)
