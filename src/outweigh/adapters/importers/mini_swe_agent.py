"""mini-swe-agent's trajectories, `<instance>.traj.json`: one file, or the folder that a batch leaves."""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from outweigh.adapters.importers.folders import files_below
from outweigh.adapters.importers.repeats import numbered
from outweigh.adapters.importers.source_text import json_document, read_bytes
from outweigh.adapters.importers.transcript_place import place_of, transcript_files
from outweigh.adapters.importers.transcript_run import Originals, transcript_origins, transcript_run, without_outcome
from outweigh.errors import EvidenceError, OutweighError
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.record.run_record import RunRecord
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.foreign import mapping
from outweigh.transcript.mini_swe_agent import MiniSweAgentReader

ENDING = ".traj.json"
_MARKS = (b'"trajectory_format"', b'"mini-swe-agent', b'"mini_version"')


class MiniSweAgent:
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
            found = list(islice(files_below(path, lambda name: name.endswith(ENDING)), 3)) if path.is_dir() else []
            return bool(found) and all(map(is_mini_swe_trajectory, found))
        except (OSError, OutweighError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """File by file."""
        return without_outcome(numbered(_runs(request, notes)), notes)


def read_mini_swe_trajectory(content: bytes, file: Path, notes: ImportNotes) -> AgentReport:
    """The report of one trajectory; a file without messages is an EvidenceError, not a run without steps."""
    document = mapping(json_document(content, file, notes))
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
            return start.lstrip()[:1] == b"{" and any(mark in start or mark in stream.read() for mark in _MARKS)
    except (OSError, ValueError):
        return False


def _runs(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    originals = Originals(notes)
    for file in transcript_files(request.path, (ENDING,)):
        if not is_mini_swe_trajectory(file):
            notes.unread(file, 0, "not a trajectory of mini-swe-agent")
            continue
        place = place_of(file, request.path)
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
