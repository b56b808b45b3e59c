"""Runs made from transcripts: the task and arm that a file belongs to, what its trajectory states, and its run record.

A transcript says what a run took and how it ended, never whether the task was solved; every importer of transcripts
warns about that once.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from outweigh.errors import OutweighError
from outweigh.interop.field_values import known_sum, parse_time, seconds_between
from outweigh.interop.imported_run import field_origins, imported_run, real_agent
from outweigh.interop.result_files import walk_files
from outweigh.interop.transcript_labels import TranscriptLabels
from outweigh.model.failure import Status
from outweigh.model.json_text import JsonLineDecoder, decode_json
from outweigh.model.run_record import TRAJECTORY_ARTIFACT, RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict
from outweigh.model.usage import ReportedUsage, Usage, reported_cost, sum_usage
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.atif import AtifMetrics, AtifStep, AtifTrajectory, usage_from_metrics
from outweigh.transcript.record_steps import record_steps
from outweigh.transcript.token_counts import is_empty_usage, storable_usage, subtract_counts, usage_unless_empty
from outweigh.transcript.tool_calls import steps_without_copies
from outweigh.transcript.trajectory_file import trajectory_json

_CACHE_WRITES = "total_cache_creation_input_tokens"


def trajectory_fields(chain: list[AtifTrajectory]) -> Mapping[str, Any]:
    """Fields of a RunRecord from a trajectory and its continuations, in order.

    The totals of a continuation include what came before, so the last ones count; they also include sub-agents, which
    the steps do not. Without totals, the steps are summed.
    """
    steps = [step for part in chain for step in steps_without_copies(part.steps)]
    usage, cost_usd = _totals(chain[-1], steps)
    if is_empty_usage(usage) and not cost_usd:
        # No request is free and empty, so zeros alone mean that nobody counted.
        cost_usd = None
    return {
        "started_at": _started(steps),
        "duration_seconds": seconds_between(*_ended(steps)),
        "usage": usage_unless_empty(usage),
        "cost": reported_cost(cost_usd),
        "step_count": sum(step.source == "agent" for step in steps),
        "tool_call_count": sum(len(step.tool_calls or ()) for step in steps),
        "steps": record_steps(steps),
    }


def _totals(last: AtifTrajectory, steps: list[AtifStep]) -> tuple[Usage, float | None]:
    final = last.final_metrics
    measured = [step.metrics for step in steps if step.metrics is not None]
    if final is None or (final.total_prompt_tokens, final.total_completion_tokens) == (None, None):
        costs = [as_amount(metrics.cost_usd) for metrics in measured]
        summed = as_amount(known_sum(costs))
        stated = None if final is None else as_amount(final.total_cost_usd)
        return storable_usage(sum_usage(list(map(_step_usage, measured)))), stated if stated is not None else summed
    extra = as_dict(final.extra)
    read = as_count(final.total_cached_tokens)
    written = as_count(extra.get(_CACHE_WRITES))
    usage = Usage(
        # Prompts include the cache, so input is unknown unless cache reads are stated.
        input_tokens=subtract_counts(
            as_count(final.total_prompt_tokens), read, written if _CACHE_WRITES in extra else 0
        ),
        output_tokens=as_count(final.total_completion_tokens),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
    return usage, as_amount(final.total_cost_usd)


def _step_usage(metrics: AtifMetrics) -> Usage:
    """A step's tokens; input is unknown if the step does not say how much of the prompt was cached."""
    usage = usage_from_metrics(metrics)
    return usage if usage.cache_read_tokens is not None else msgspec.structs.replace(usage, input_tokens=None)


def _ended(steps: list[AtifStep]) -> tuple[str | None, str | None]:
    stamps = [step.timestamp for step in steps if step.timestamp is not None]
    return (stamps[0], stamps[-1]) if len(stamps) > 1 else (None, None)


def _started(steps: list[AtifStep]) -> datetime | None:
    return next((found for step in steps if (found := parse_time(step.timestamp)) is not None), None)


_SAMPLED_FILES = 20


def transcript_files(path: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    """The file itself, or the files below a folder with these suffixes; deeper ones, which may be copies, come last."""
    if path.is_file():
        return iter([path])
    found = walk_files(path, lambda name: name.endswith(endings))
    return iter(sorted(found, key=lambda file: (len(file.parts), file)))


def all_match(path: Path, endings: tuple[str, ...], looks_right: Callable[[Path], bool]) -> bool:
    """Whether a file, or every file sampled from a folder, matches; a folder of another program has other
    files, too.
    """
    try:
        if path.is_file():
            return looks_right(path)
        if not path.is_dir():
            return False
        found = list(
            islice(walk_files(path, lambda name: name.endswith((*endings, ".json", ".jsonl"))), _SAMPLED_FILES)
        )
        return bool(found) and all(looks_right(file) for file in found)
    except (OSError, OutweighError):
        return False


NO_OUTCOME = (
    "these transcripts do not say whether the task was solved: cost, tokens and time can be compared, pass rates not."
)
_DETAIL_LENGTH = 500
_MOST_WARNINGS = 20


def transcript_origins() -> Mapping[str, FieldOrigin]:
    """Where the fields of a run from a transcript come from."""
    return field_origins(
        reported="agent cost steps loaded",
        derived="started_at duration_seconds usage step_count tool_call_count status_detail warnings artifacts extra",
    )


def transcript_run(
    agent_name: str, run_id: str, place: TranscriptLabels, report: AgentReport, request: ImportRequest
) -> RunRecord:
    """The run of a transcript, with its trajectory stored as an artifact. Its repeat is still to be numbered."""
    stamps = [step.timestamp for step in report.steps if step.timestamp is not None]
    spanned = seconds_between(stamps[0], stamps[-1]) if len(stamps) > 1 else None
    kept = {TRAJECTORY_ARTIFACT: request.keep(trajectory_json(report, agent_name))} if report.steps else {}
    model = report.model or request.model
    arm = request.arm or place.arm or " ".join(part for part in (agent_name, model) if part)
    return imported_run(
        run_id=run_id,
        task_id=place.task,
        arm=arm,
        repeat=1,
        status=Status.COMPLETED if report.failure is None else report.failure.kind.status,
        status_detail=None if report.failure is None else report.failure.detail[:_DETAIL_LENGTH],
        agent=real_agent(agent_name, report.version, model),
        started_at=parse_time(stamps[0]) if stamps else None,
        duration_seconds=as_amount(report.duration_seconds if report.duration_seconds is not None else spanned),
        usage=usage_unless_empty(report.usage),
        cost=reported_cost(as_amount(report.cost_usd)),
        step_count=report.step_count,
        tool_call_count=report.tool_call_count,
        steps=record_steps(report.steps) or None,
        reported=_reported(report, model),
        loaded=report.loaded,
        warnings=report.warnings[:_MOST_WARNINGS],
        artifacts=kept,
        extra={"file": place.name} | ({"session_id": report.session_id} if report.session_id else {}),
    )


def _reported(report: AgentReport, model: str | None) -> ReportedUsage | None:
    """What prices a run without a cost of its own: its bills, by the model that the user names where they name none."""
    if report.cost_usd is not None or not report.billed:
        return None
    billed = tuple(msgspec.structs.replace(bill, model=bill.model or model) for bill in report.billed)
    return ReportedUsage(usage=report.usage, cost_usd=None, requests=report.request_count, billed=billed)


def warn_no_outcome(runs: Iterator[RunRecord], notes: ImportNotes) -> Iterator[RunRecord]:
    """Pass the runs on, and warn that transcripts state no outcome."""
    for run in runs:
        notes.warn(NO_OUTCOME)
        yield run


def read_first_events(head: bytes, limit: int = 20) -> list[dict[str, Any]]:
    """The JSON objects among the first lines of a file; other lines are ignored."""
    lines = JsonLineDecoder()
    return [*lines.feed(head), *lines.finish()][:limit]


class DuplicateFilter:
    """Recognises copies of a transcript by content, so that a copied folder is not counted twice."""

    def __init__(self, notes: ImportNotes) -> None:
        self._notes = notes
        self._seen: dict[str, Path] = {}

    def run_id(self, agent_name: str, file: Path, content: bytes) -> str | None:
        """The id of the run that a transcript belongs to; None for a copy."""
        digest = sha256(content).hexdigest()
        first = self._seen.setdefault(digest, file)
        if first != file:
            self._notes.warn(f"{file} is a copy of {first} and was not counted again.")
            return None
        return f"{agent_name}/{digest[:16]}"


def has_no_damaged_line(file: Path, content: bytes, report: AgentReport, notes: ImportNotes) -> bool:
    """Whether every event can be read; if not, a note, because every count would be too low.

    Other output between events is not damage, nor is an incomplete last line: the agent was still running, or was
    killed.
    """
    number = _find_damaged_line(content) if report.warnings else None
    if number is not None:
        notes.unread(file, number, "not valid JSON, so that the run's figures would be too low")
    return number is None


def _find_damaged_line(content: bytes) -> int | None:
    *lines, _ = content.split(b"\n")
    for number, line in enumerate(lines, start=1):
        # A bracket alone begins a value that spans several lines.
        if line.startswith(b"{") and len(line.rstrip()) > 1:
            try:
                decode_json(line)
            except ValueError:
                return number
    return None


def note_skipped_file(file: Path, what: str, notes: ImportNotes, *, is_foreign: bool = False) -> None:
    """Report a file that is not a transcript: as unread if its suffix says it should be one, else as a warning.

    One that is clearly foreign, because another program wrote it, is never unread.
    """
    if file.suffix in (".jsonl", ".stdout") and not is_foreign:
        notes.unread(file, 0, f"not {what}")
    else:
        notes.warn(f"{file} is not {what} and was passed by.")
