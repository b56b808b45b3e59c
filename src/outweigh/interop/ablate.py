"""Importer of ablate's trials: `.ablate/runs/<run>/trials.jsonl`, with the manifest that says what its variants are."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.interop.field_values import parse_time
from outweigh.interop.imported_run import (
    extra_fields,
    field_origins,
    imported_run,
    outcome_check,
    real_agent,
    stable_id,
)
from outweigh.interop.result_files import (
    FileMarks,
    JsonLine,
    read_json_lines,
    read_json_object,
)
from outweigh.model.failure import FailureKind, Status, failure_from_text
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_name, as_str, bool_at, dict_at, dicts_at
from outweigh.model.usage import Usage, reported_cost
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.token_counts import usage_unless_empty

TRIALS_FILE, MANIFEST_FILE = "trials.jsonl", "manifest.json"
_FILES = FileMarks(
    suffixes=(TRIALS_FILE,),
    start=re.compile(rb'^\s*\{\s*"trial_id"\s*:\s*"[^"]*"\s*,\s*"run_id"\s*:'),
    marks=(b'"variant_id"', b'"variant_hash"', b'"replicate"'),
)
_NO_CONFIGURATION = "/dev/null"


class AblateImporter:
    """Reads a trial as a run and a replicate as a repeat; an arm is a variant, called by its file."""

    name = "ablate"
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status_detail agent started_at duration_seconds usage cost step_count tool_call_count checks "
        "arm_fingerprint extra",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file begins with a trial, or a folder holds such a `trials.jsonl`."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read each run line by line."""
        for file in _FILES.files(request.path):
            names = _variant_names(file.with_name(MANIFEST_FILE), notes)
            for line in read_json_lines(file, notes):
                run = _trial_run(line, names, request.arm)
                if run is None:
                    notes.unread(file, line.number, "a trial without a task, a variant, a replicate or an outcome")
                else:
                    yield run


def _variant_names(manifest: Path, notes: ImportNotes) -> dict[str, str]:
    """The file of each variant; its id where two variants have one file, as sections of a file do."""
    sources = {
        variant: source
        for each in dicts_at(read_json_object(manifest, notes), "variants")
        if (variant := as_name(each.get("id"))) is not None and (source := as_name(each.get("source"))) is not None
    }
    called = {
        variant: "no configuration" if source == _NO_CONFIGURATION else source for variant, source in sources.items()
    }
    shared = [*called.values()]
    return {
        variant: name if shared.count(name) == 1 else stable_id(f"{name[:400]} {variant}")
        for variant, name in called.items()
    }


def _trial_run(line: JsonLine, names: Mapping[str, str], arm: str | None) -> RunRecord | None:
    raw = line.value
    task, variant, repeat = as_name(raw.get("task_id")), as_name(raw.get("variant_id")), as_count(raw.get("replicate"))
    passed = bool_at(raw, "passed")
    if task is None or variant is None or not repeat or passed is None:
        return None
    error, telemetry = as_str(raw.get("error")), dict_at(raw, "telemetry")
    failed = None if not error else failure_from_text(error, FailureKind.CRASH)
    status = Status.COMPLETED if failed is None else failed.kind.status
    return imported_run(
        run_id=stable_id("ablate", as_name(raw.get("run_id")) or "run", variant, task, repeat),
        task_id=task,
        arm=arm or names.get(variant, variant),
        repeat=repeat,
        status=status,
        status_detail=None if not error else error[:500],
        agent=real_agent(as_name(raw.get("agent")), as_name(raw.get("agent_version")), as_name(raw.get("model"))),
        arm_fingerprint=as_name(raw.get("variant_hash")),
        started_at=parse_time(raw.get("started_at")),
        duration_seconds=as_amount(raw.get("duration_s")),
        usage=usage_unless_empty(_usage(telemetry)),
        cost=reported_cost(as_amount(telemetry.get("cost_usd"))),
        # 0 stands for what the agent did not report.
        step_count=as_count(telemetry.get("turns")) or None,
        tool_call_count=as_count(telemetry.get("tool_calls")) if telemetry.get("turns") else None,
        checks=None if status is Status.INFRA_ERROR else _checks(raw, passed),
        extra=extra_fields(
            {
                "variant": variant,
                "ablate_run": as_name(raw.get("run_id")),
                "session_id": as_name(raw.get("session_id")),
                "requested_model": as_name(raw.get("requested_model")),
                "assertion_values": {
                    str(each.get("id")): each.get("value")
                    for each in dicts_at(raw, "assertions")
                    if each.get("value") is not None
                }
                or None,
            }
        ),
    )


def _usage(telemetry: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=as_count(telemetry.get("input_tokens")),
        output_tokens=as_count(telemetry.get("output_tokens")),
        cache_read_tokens=as_count(telemetry.get("cache_read")),
        cache_write_tokens=as_count(telemetry.get("cache_write")),
    )


def _checks(raw: Mapping[str, Any], passed: bool) -> tuple[CheckResult, ...]:
    return (
        outcome_check("passed", passed),
        *(
            outcome_check(
                stable_id(each.get("id") or each.get("type") or number),
                bool_at(each, "passed"),
                (as_str(each.get("detail")) or "")[:500] or None,
                required=False,
            )
            for number, each in enumerate(dicts_at(raw, "assertions"), start=1)
        ),
    )
