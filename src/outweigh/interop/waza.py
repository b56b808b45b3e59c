"""Importer of waza's results: the JSON of `waza run -o`, with those without the skill of `--baseline`."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.interop.field_values import milliseconds_to_seconds, parse_time
from outweigh.interop.imported_run import (
    extra_fields,
    field_origins,
    fingerprint,
    imported_run,
    outcome_check,
    real_agent,
    stable_id,
    with_repeat_numbers,
)
from outweigh.interop.result_files import FileMarks, listed_objects, read_json
from outweigh.model.failure import FailureKind, Status, failure_from_text
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.untrusted_json import as_count, as_dict, as_list, as_name, as_str, bool_at, dict_at, name_at
from outweigh.model.usage import Usage
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.token_counts import usage_unless_empty

_FILES = FileMarks(
    suffixes=(".json",),
    start=re.compile(rb'^\s*\{\s*(?:"schemaVersion"\s*:\s*"[^"]*"\s*,\s*)?"eval_id"\s*:\s*"'),
    marks=(b'"engine_type"', b'"runs_per_test"'),
)


class WazaImporter:
    """Reads a run of a task as a run; an arm is the model, with or without the skill.

    Several files of one arm continue the count of repeats.
    """

    name = "waza"
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status_detail agent started_at duration_seconds usage tool_call_count step_count checks family extra",
        derived="arm_fingerprint",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file begins as waza's results do, or a folder holds one."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read all files, each with the evaluation without the skill that it contains."""
        yield from with_repeat_numbers(
            run
            for file in _FILES.files(request.path)
            for run in _evaluation_runs(file, as_dict(read_json(file, notes)), request, notes)
        )


def _evaluation_runs(
    file: Path, document: Mapping[str, Any], request: ImportRequest, notes: ImportNotes, *, without_skill: bool = False
) -> Iterator[RunRecord]:
    without = without_skill or document.get("is_baseline") is True
    skill, config = as_name(document.get("skill")), dict_at(document, "config")
    parts = (name_at(config, "model_id"), "without skill" if without else f"with {skill or 'skill'}")
    arm = request.arm or stable_id(" ".join(part for part in parts if part))
    summary = dict_at(document, "summary")
    for name, stated in (("passes", "succeeded"), ("failures", "failed"), ("errors", "errors")):
        if (figure := as_count(summary.get(stated))) is not None:
            notes.state(arm, name, figure)
    for task in listed_objects(document, "tasks", file, notes):
        for raw in listed_objects(task, "runs", file, notes):
            run = _run(raw, task, document, arm)
            if run is None:
                notes.unread(file, 0, "a run without a task or a status")
            else:
                yield run
    if isinstance(document.get("baseline_outcome"), dict):
        yield from _evaluation_runs(file, document["baseline_outcome"], request, notes, without_skill=True)


def _run(raw: Mapping[str, Any], task: Mapping[str, Any], document: Mapping[str, Any], arm: str) -> RunRecord | None:
    name, stated = as_name(task.get("test_id")), as_name(raw.get("status"))
    if name is None or stated not in ("passed", "failed", "error", "skipped"):
        return None
    error = as_str(raw.get("error_msg")) or "the run ended in an error"
    status = {"error": _error_status(error), "skipped": Status.NOT_RUN}.get(stated, Status.COMPLETED)
    digest, config = dict_at(raw, "session_digest"), dict_at(document, "config")
    usage = dict_at(raw, "usage") or dict_at(digest, "usage")
    evaluation = as_name(document.get("eval_id")) or "evaluation"
    return imported_run(
        run_id=stable_id("waza", evaluation, arm, name, raw.get("run_number")),
        task_id=name,
        arm=arm,
        repeat=1,
        status=status,
        status_detail=error[:500] if stated == "error" else None,
        agent=real_agent(name_at(config, "engine_type"), None, name_at(config, "model_id")),
        arm_fingerprint=fingerprint({"config": config, "skill": document.get("skill"), "arm": arm}),
        family=as_name(task.get("group")),
        started_at=parse_time(document.get("timestamp")),
        duration_seconds=milliseconds_to_seconds(raw.get("duration_ms")),
        usage=usage_unless_empty(_usage(usage)),
        step_count=as_count(usage.get("turns")) or None,
        tool_call_count=as_count(digest.get("tool_call_count")),
        checks=_checks(raw, stated == "passed") if status is Status.COMPLETED else None,
        extra=extra_fields(
            {
                "run_number": as_count(raw.get("run_number")),
                "attempts": as_count(raw.get("attempts")),
                "prompt_tokens": as_count(usage.get("input_tokens")),
                "premium_requests": usage.get("premium_requests"),
                "skill_invocations": as_list(raw.get("skill_invocations")) or None,
                "cached": bool_at(task, "cached"),
            }
        ),
    )


def _error_status(error: str) -> Status:
    return Status.TIMEOUT if "deadline exceeded" in error else failure_from_text(error, FailureKind.CRASH).kind.status


def _usage(raw: Mapping[str, Any]) -> Usage:
    """The tokens. Whether input includes the cache depends on the engine, so it is known only without a cache."""
    read, written = as_count(raw.get("cache_read_tokens")), as_count(raw.get("cache_write_tokens"))
    return Usage(
        input_tokens=as_count(raw.get("input_tokens")) if read == 0 and written == 0 else None,
        output_tokens=as_count(raw.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _checks(raw: Mapping[str, Any], passed: bool) -> tuple[CheckResult, ...]:
    return (
        outcome_check("passed", passed),
        *(
            outcome_check(
                stable_id(name),
                bool_at(as_dict(each), "passed"),
                (as_str(as_dict(each).get("feedback")) or "")[:500] or None,
                required=False,
            )
            for name, each in dict_at(raw, "validations").items()
            if as_name(name)
        ),
    )
