"""Importer of DeepEval's test runs: the JSON files that `evaluate` and `deepeval test run` write locally."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.interop.field_values import parse_time
from outweigh.interop.imported_run import (
    decode_file_name,
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
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_name, as_str, bool_at, dict_at, dicts_at
from outweigh.model.usage import Usage, reported_cost
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_FILES = FileMarks(
    suffixes=(".json",),
    start=re.compile(rb'^\s*\{\s*(?:"[A-Za-z]+"\s*:\s*(?:"[^"]*"|null)\s*,\s*){0,6}"testCases"\s*:\s*\['),
    marks=(b'"metricsData"',),
)
_STAMP = re.compile(r"test_run_(?P<day>\d{8})_(?P<time>\d{6})")


class DeepEvalImporter:
    """Reads a test case as a run; an arm is a test run's hyperparameters, such as model and prompt.

    A case passed if all its metrics did, as DeepEval decides it.
    """

    name = "deepeval"
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="duration_seconds usage cost tool_call_count checks extra",
        derived="started_at arm_fingerprint task_checksum",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file begins as a test run does, or a folder holds one."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read all test runs; those with the same hyperparameters are repeats."""
        files = _FILES.files(request.path)
        yield from with_repeat_numbers(
            run for file in files for run in _runs(file, as_dict(read_json(file, notes)), request, notes)
        )


def _arm(file: Path, settings: Mapping[str, Any]) -> str:
    """The values of the hyperparameters, the model first, or the file's name where there are none."""
    short = {key: str(value) for key, value in settings.items() if isinstance(value, str | int | float | bool)}
    ordered = sorted(short, key=lambda key: (key.lower() != "model", key))
    named = " ".join(short[key] if key.lower() == "model" else f"{key}={short[key][:80]}" for key in ordered)
    return stable_id(named) if named else decode_file_name(file.stem)


def _runs(file: Path, document: Mapping[str, Any], request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    settings = dict_at(document, "hyperparameters")
    arm = request.arm or _arm(file, settings)
    if not settings and request.arm is None:
        notes.warn(
            f"{file.name} has no hyperparameters, so its arm has the file's name: --arm names it, and "
            "evaluate(hyperparameters=…) says what you vary."
        )
    for name, stated in (("passes", "testPassed"), ("failures", "testFailed")):
        if (figure := as_count(document.get(stated))) is not None:
            notes.state(arm, name, figure)
    found = [*listed_objects(document, "testCases", file, notes), *dicts_at(document, "conversationalTestCases")]
    for number, raw in enumerate(found, start=1):
        if as_name(raw.get("name")) is None and as_str(raw.get("input")) is None:
            notes.unread(file, 0, f"test case {number} has neither a name nor an input")
        else:
            yield _run(raw, number, file, document, settings, arm)


def _run(
    raw: Mapping[str, Any],
    number: int,
    file: Path,
    document: Mapping[str, Any],
    settings: Mapping[str, Any],
    arm: str,
) -> RunRecord:
    asked = _first_text(raw.get("input"), raw.get("scenario"))
    calls = raw.get("toolsCalled")
    stamp = _STAMP.search(file.name)
    return imported_run(
        run_id=stable_id("deepeval", fingerprint(document)[:16], number),
        task_id=_task_name(raw, asked),
        arm=arm,
        repeat=1,
        agent=real_agent(model=as_name(settings.get("model"))),
        arm_fingerprint=fingerprint(settings) if settings else None,
        task_checksum=fingerprint([asked, raw.get("expectedOutput"), raw.get("expectedOutcome")]),
        started_at=None if stamp is None else parse_time(f"{stamp['day']}T{stamp['time']}"),
        # `runDuration` is how long the metrics took.
        duration_seconds=as_amount(raw.get("completionTime")),
        usage=Usage(
            input_tokens=None,
            output_tokens=as_count(raw.get("outputTokenCount")),
            cache_read_tokens=None,
            cache_write_tokens=None,
        ),
        cost=reported_cost(as_amount(raw.get("tokenCost"))),
        tool_call_count=len(calls) if isinstance(calls, list) else None,
        checks=_checks(raw),
        extra=extra_fields(
            {
                "metrics": {str(each.get("name")): each.get("score") for each in dicts_at(raw, "metricsData")} or None,
                "input_tokens_with_cache": as_count(raw.get("inputTokenCount")),
                "evaluation_cost": as_amount(raw.get("evaluationCost")),
                "hyperparameters": dict(settings) or None,
            }
        ),
    )


def _first_text(*values: object) -> str | None:
    """The first value that is a text."""
    return next((value for value in values if isinstance(value, str)), None)


_UNNAMED = re.compile(r"(?:conversational_)?test_case_\d+")


def _task_name(raw: Mapping[str, Any], asked: str | None) -> str:
    """The name that the user gave, else the input; DeepEval numbers cases without a name by their place in a run."""
    name = as_name(raw.get("name"))
    if name is not None and (asked is None or _UNNAMED.fullmatch(name) is None):
        return name
    return stable_id(" ".join((asked or "").split())[:120]) or "empty"


def _checks(raw: Mapping[str, Any]) -> tuple[CheckResult, ...] | None:
    """The outcome and every metric; a metric that broke makes the outcome unknown."""
    metrics = dicts_at(raw, "metricsData")
    broken = next((found for each in metrics if (found := as_str(each.get("error")))), None)
    success = bool_at(raw, "success")
    if success is None:
        return None
    return (
        outcome_check("success", None if broken is not None else success, None if broken is None else broken[:500]),
        *(
            outcome_check(
                stable_id(as_name(each.get("name")) or "metric"),
                bool_at(each, "success"),
                (as_str(each.get("reason")) or "")[:500] or None,
                required=False,
            )
            for each in metrics
        ),
    )
