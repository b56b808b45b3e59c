"""Importer of skillevaluation's results: the `results.json` of a run of a skill's cases with and without it."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.interop.field_values import milliseconds_to_seconds, parse_time
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
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_name, as_str, bool_at, dicts_at, name_at
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_FILES = FileMarks(
    suffixes=(".json",),
    start=re.compile(rb'^\s*\{\s*"pass_rate"\s*:\s*\{'),
    marks=(b'"skillevaluation/test-run-result@v1"',),
)
_ARMS = ("without_skill", "with_skill")


class SkillevaluationImporter:
    """Reads a case with and without the skill as two runs; several files of one skill continue the count of repeats."""

    name = "skillevaluation"
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status_detail agent started_at duration_seconds step_count tool_call_count checks extra",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file states the format, or a folder holds one that does."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read every file; of repeated cases it has the first run only."""
        yield from with_repeat_numbers(
            run
            for file in _FILES.files(request.path)
            for run in _runs(file, as_dict(read_json(file, notes)), request, notes)
        )


def _runs(file: Path, document: Mapping[str, Any], request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    repeated = as_count(document.get("runs"))
    if repeated is not None and repeated > 1:
        notes.warn(
            f"{file.name} states means of {repeated} runs of each case, and has only the first of them; evaluate "
            f"{repeated} times with one run each to have all."
        )
    for arm in _ARMS:
        stated = as_amount(as_dict(document.get("pass_rate")).get(arm))
        if stated is not None:
            notes.state(request.arm or arm, "pass_rate", stated)
    for case in listed_objects(document, "cases", file, notes):
        name = as_name(case.get("case_name"))
        for arm in _ARMS:
            if arm not in case and case.get("outcome") == "error":
                notes.warn(f"the case {name} could not be evaluated {arm.replace('_', ' ')}; it is left out there.")
                continue
            raw = as_dict(case.get(arm))
            passed = bool_at(raw, "passed")
            if name is None or passed is None:
                notes.unread(file, 0, f"a case {name or 'without a name'} does not say whether it passed {arm}")
                continue
            yield _run(raw, case, document, name, arm, passed, request)


def _run(
    raw: Mapping[str, Any],
    case: Mapping[str, Any],
    document: Mapping[str, Any],
    name: str,
    arm: str,
    passed: bool,
    request: ImportRequest,
) -> RunRecord:
    error = as_str(raw.get("error")) or "the arm could not be evaluated"
    failed = failure_from_text(error, FailureKind.SERVER_ERROR) if raw.get("errored") is True else None
    skill, started = name_at(document, "skill", "name"), as_name(document.get("started_at"))
    return imported_run(
        run_id=stable_id("skillevaluation", skill or "skill", started, name, arm),
        task_id=name,
        arm=request.arm or arm,
        repeat=1,
        status=Status.COMPLETED if failed is None else failed.kind.status,
        status_detail=None if failed is None else error[:500],
        agent=real_agent(name_at(document, "runner", "adapter"), None, name_at(document, "runner", "model")),
        started_at=parse_time(started),
        # What comes from its cache took no time.
        duration_seconds=None if raw.get("cached") else milliseconds_to_seconds(raw.get("duration_ms")),
        step_count=as_count(raw.get("turns")),
        tool_call_count=as_count(raw.get("tool_call_count")),
        checks=_checks(case, arm, passed) if failed is None else None,
        extra=extra_fields(
            {
                "skill": skill,
                "total_tokens": as_count(raw.get("total_tokens")),
                "task_attempted": bool_at(raw, "task_attempted"),
                "cached": raw.get("cached"),
                "outcome": as_name(case.get("outcome")),
            }
        ),
    )


def _checks(case: Mapping[str, Any], arm: str, passed: bool) -> tuple[CheckResult, ...]:
    """The outcome, and the single assertions, which the file has for the arm with the skill only."""
    parts = [*dicts_at(case, "expectation_results"), *dicts_at(case, "validator_results")]
    single = parts if arm == "with_skill" else []
    return (
        outcome_check("passed", passed),
        *(
            outcome_check(
                f"{number} {as_name(each.get('label')) or as_name(each.get('expectation')) or 'assertion'}"[:500],
                bool_at(each, "passed"),
                required=False,
            )
            for number, each in enumerate(single, start=1)
        ),
    )
