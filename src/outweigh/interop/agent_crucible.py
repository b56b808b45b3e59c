"""Importer of agent-crucible: `.crucible/runs/*.json`, each with the runs of a skill's tasks with and without it."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from outweigh.interop.field_values import milliseconds_to_seconds
from outweigh.interop.imported_run import (
    extra_fields,
    field_origins,
    imported_run,
    outcome_check,
    real_agent,
    stable_id,
    with_repeat_numbers,
)
from outweigh.interop.result_files import FileMarks, listed_objects, read_json
from outweigh.model.failure import FailureKind, Status, failure_from_text
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_name, as_str, bool_at, dict_at, dicts_at
from outweigh.model.usage import Usage, reported_cost
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.token_counts import usage_unless_empty

_FILES = FileMarks(
    suffixes=(".json",),
    start=re.compile(rb'^\s*\{\s*"timestamp"\s*:\s*"\d{8}T\d{6}Z"\s*,\s*"skill"\s*:'),
    marks=(b'"n_per_condition"',),
)
_ARMS = {True: "with_skill", False: "without_skill"}


class AgentCrucibleImporter:
    """Reads a run of a task as a run; arms are with and without the skill.

    Several files of one skill continue the count of repeats. If the skill changed in between, its versions are separate
    arms.
    """

    name = "agent-crucible"
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status_detail agent duration_seconds usage cost step_count checks arm_fingerprint extra",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file begins as agent-crucible's records do, or a folder holds one."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read all records; versions of a skill are told apart by its fingerprint."""
        files = _FILES.files(request.path)
        records = [(file, as_dict(read_json(file, notes))) for file in files]
        versions: dict[str, set[str]] = {}
        for _, record in records:
            versions.setdefault(str(record.get("skill")), set()).add(str(record.get("fingerprint")))
        yield from with_repeat_numbers(
            run
            for file, record in records
            for run in _runs(file, record, len(versions[str(record.get("skill"))]) > 1, request, notes)
        )


def _runs(
    file: Path, record: Mapping[str, Any], several: bool, request: ImportRequest, notes: ImportNotes
) -> Iterator[RunRecord]:
    version = as_name(record.get("fingerprint"))
    for raw in listed_objects(record, "runs", file, notes):
        task, with_skill, success = as_name(raw.get("task_id")), bool_at(raw, "with_skill"), bool_at(raw, "success")
        if task is None or with_skill is None or success is None:
            notes.unread(file, 0, "a run without a task, an outcome, or word of whether the skill was there")
            continue
        suffix = f"@{version}" if with_skill and several else ""
        yield _run(raw, record, task, with_skill, success, request.arm or stable_id(f"{_ARMS[with_skill]}{suffix}"))


def _run(
    raw: Mapping[str, Any], record: Mapping[str, Any], task: str, with_skill: bool, success: bool, arm: str
) -> RunRecord:
    error, stamp = as_str(raw.get("agent_error")), as_name(record.get("timestamp"))
    status = Status.COMPLETED if not error else _error_status(error)
    fields = dict_at(record, "environment")
    return imported_run(
        run_id=stable_id("agent-crucible", record.get("skill"), stamp, _ARMS[with_skill], task, raw.get("repeat")),
        task_id=task,
        arm=arm,
        repeat=1,
        status=status,
        status_detail=None if not error else error[:500],
        agent=real_agent("claude-code", as_name(fields.get("agent_version")), as_name(record.get("model"))),
        arm_fingerprint=as_name(record.get("fingerprint")) if with_skill else None,
        duration_seconds=milliseconds_to_seconds(raw.get("duration_ms")),
        usage=usage_unless_empty(_usage(raw)),
        # 0 stands for what the agent did not report.
        cost=reported_cost(as_amount(raw.get("cost_usd")) or None),
        step_count=as_count(raw.get("num_turns")) or None,
        checks=None if status is Status.INFRA_ERROR else _checks(raw, success),
        started_at=_time(stamp),
        extra=extra_fields(
            {
                "skill": as_name(record.get("skill")),
                "tokens": as_count(raw.get("tokens")),
                "assertion_score": as_amount(raw.get("assertion_score")),
                "repeat": as_count(raw.get("repeat")),
            }
        ),
    )


def _error_status(error: str) -> Status:
    return Status.TIMEOUT if error.startswith("timed out") else failure_from_text(error, FailureKind.CRASH).kind.status


def _time(stamp: str | None) -> datetime | None:
    """When the whole benchmark ended; it orders the repeats of several files."""
    try:
        return None if stamp is None else datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def _usage(raw: Mapping[str, Any]) -> Usage:
    """The tokens. Those of the cache are known as one number, in `tokens`, and not by kind."""
    return Usage(
        input_tokens=as_count(raw.get("input_tokens")),
        output_tokens=as_count(raw.get("output_tokens")),
        cache_read_tokens=None,
        cache_write_tokens=None,
    )


def _checks(raw: Mapping[str, Any], success: bool) -> tuple[CheckResult, ...]:
    return (
        outcome_check("success", success),
        *(
            outcome_check(
                stable_id(number, each.get("label") or "assertion"),
                bool_at(each, "passed"),
                (as_str(each.get("detail")) or "")[:500] or None,
                required=False,
            )
            for number, each in enumerate(dicts_at(raw, "assertion_details"), start=1)
        ),
    )
