"""A run from what its agent said: figures, steps, how it ended. Whether the task was solved is nobody's word here."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.imported_run import agent, imported_run, origins
from outweigh.adapters.importers.source_time import moment, seconds_between
from outweigh.adapters.importers.trajectory_facts import TRAJECTORY
from outweigh.adapters.importers.transcript_place import Place
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.record.cost import reported_cost
from outweigh.record.run_record import RunRecord
from outweigh.record.status import Status
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.atif_file import trajectory_json
from outweigh.transcript.foreign import amount
from outweigh.transcript.json_lines import JsonLines, decode_json
from outweigh.transcript.record_steps import record_steps
from outweigh.transcript.token_counts import unless_empty

NO_OUTCOME = (
    "these transcripts do not say whether the task was solved: cost, tokens and time can be compared, pass rates not."
)
_DETAIL_LENGTH = 500
_WARNINGS = 20


def transcript_origins() -> Mapping[str, FieldOrigin]:
    """Where the fields of such a run come from."""
    return origins(
        reported="agent cost steps loaded",
        derived="started_at duration_seconds usage step_count tool_call_count status_detail warnings artifacts extra",
    )


def transcript_run(
    agent_name: str, run_id: str, place: Place, report: AgentReport, request: ImportRequest
) -> RunRecord:
    """The run, with its trajectory kept beside it. Its repeat is still to be numbered."""
    stamps = [step.timestamp for step in report.steps if step.timestamp is not None]
    spanned = seconds_between(stamps[0], stamps[-1]) if len(stamps) > 1 else None
    kept = {TRAJECTORY: request.keep(trajectory_json(report, agent_name))} if report.steps else {}
    arm = request.arm or place.arm or " ".join(part for part in (agent_name, report.model) if part)
    return imported_run(
        run_id=run_id,
        task_id=place.task,
        arm=arm,
        repeat=1,
        status=Status.COMPLETED if report.failure is None else report.failure.kind.status,
        status_detail=None if report.failure is None else report.failure.detail[:_DETAIL_LENGTH],
        agent=agent(agent_name, report.version, report.model),
        started_at=moment(stamps[0]) if stamps else None,
        duration_seconds=amount(report.duration_seconds if report.duration_seconds is not None else spanned),
        usage=unless_empty(report.usage),
        cost=reported_cost(amount(report.cost_usd)),
        step_count=report.step_count,
        tool_call_count=report.tool_call_count,
        steps=record_steps(report.steps) or None,
        loaded=report.loaded,
        warnings=report.warnings[:_WARNINGS],
        artifacts=kept,
        extra={"file": place.name} | ({"session_id": report.session_id} if report.session_id else {}),
    )


def without_outcome(runs: Iterator[RunRecord], notes: ImportNotes) -> Iterator[RunRecord]:
    """The same runs, with a word about what they cannot say."""
    for run in runs:
        notes.warn(NO_OUTCOME)
        yield run


def first_events(head: bytes, limit: int = 20) -> list[dict[str, Any]]:
    """The JSON objects among the first lines of a file; nothing is said about what is no JSON."""
    lines = JsonLines()
    return [*lines.feed(head), *lines.rest()][:limit]


class Originals:
    """Tells a transcript from its copies by what it holds, so that a copied folder is not counted twice."""

    def __init__(self, notes: ImportNotes) -> None:
        self._notes = notes
        self._seen: dict[str, Path] = {}

    def run_id(self, agent_name: str, file: Path, content: bytes) -> str | None:
        """The id of the run that a transcript is of; None for a copy."""
        digest = sha256(content).hexdigest()
        first = self._seen.setdefault(digest, file)
        if first != file:
            self._notes.warn(f"{file} is a copy of {first} and was not counted again.")
            return None
        return f"{agent_name}/{digest[:16]}"


def is_whole(file: Path, content: bytes, report: AgentReport, notes: ImportNotes) -> bool:
    """Whether every event can be read; a note where not, since every count would be too low without one.

    What a program prints between its events is no damage, nor is a last line that breaks off: it was still running, or
    was ended.
    """
    number = _damaged_line(content) if report.warnings else None
    if number is not None:
        notes.unread(file, number, "not valid JSON, so that the run's figures would be too low")
    return number is None


def _damaged_line(content: bytes) -> int | None:
    *lines, _ = content.split(b"\n")
    for number, line in enumerate(lines, start=1):
        # A bracket alone begins a value that is spread over lines.
        if line.startswith(b"{") and len(line.rstrip()) > 1:
            try:
                decode_json(line)
            except ValueError:
                return number
    return None


def pass_by(file: Path, what: str, notes: ImportNotes) -> None:
    """A file that is no transcript: a note where it should have been one by its name, a word where not."""
    if file.suffix in (".jsonl", ".stdout"):
        notes.unread(file, 0, f"not {what}")
    else:
        notes.warn(f"{file} is not {what} and was passed by.")
