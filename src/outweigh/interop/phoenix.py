"""Importer of Phoenix: the runs of an experiment as its pages and `GET /v1/experiments/{id}/json` give them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.interop.evaluated_cases import (
    Assessment,
    EvaluatedCase,
    case_runs,
    choose_success_score,
    flat_cells,
    stated_pass,
)
from outweigh.interop.field_values import milliseconds_to_seconds, parse_time
from outweigh.interop.imported_run import decode_file_name, field_origins, fingerprint
from outweigh.interop.result_files import FileMarks, read_objects
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_name, as_str, dicts_at
from outweigh.model.usage import Usage
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_FILES = FileMarks(
    suffixes=(".json",),
    start=re.compile(rb'^\s*\[\s*\{\s*"example_id"\s*:\s*"'),
    marks=(b'"repetition_number"', b'"annotations"'),
)


class PhoenixImporter:
    """Reads a repetition of an example as a run. An experiment is an arm; its name is that of the file.

    Traces of Phoenix that were exported as OTLP are read as `otel`.
    """

    name = "phoenix"
    takes = frozenset({"columns"})
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status_detail started_at duration_seconds usage checks extra", derived="task_checksum"
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file begins with the run of an example, or a folder holds such a file."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read all experiments, because the same score must decide in all of them."""
        cases = [
            _case(raw, file)
            for file in _FILES.files(request.path)
            for number, raw in enumerate(read_objects(file, notes), start=1)
            if _is_run(raw, number, file, notes)
        ]
        yield from case_runs(cases, self.name, request, choose_success_score(cases, request, notes))


def _is_run(raw: Mapping[str, Any], number: int, file: Path, notes: ImportNotes) -> bool:
    if as_name(raw.get("example_id")) is not None and as_count(raw.get("repetition_number")):
        return True
    notes.unread(file, 0, f"run {number} does not name its example or repetition")
    return False


def _case(raw: Mapping[str, Any], file: Path) -> EvaluatedCase:
    example, repeat = as_name(raw.get("example_id")) or "", as_count(raw.get("repetition_number"))
    arm = decode_file_name(file.stem)
    return EvaluatedCase(
        run_id=arm,
        place=f"{example}/{repeat}/{fingerprint([raw.get('trace_id'), raw.get('start_time')])[:12]}",
        inputs=raw.get("input") if raw.get("input") is not None else example,
        expectations=raw.get("reference_output"),
        assessments={
            name: _assessment(each)
            for each in dicts_at(raw, "annotations")
            if (name := as_name(each.get("name"))) is not None
        },
        cells=flat_cells(raw, "input", "output"),
        arm=arm,
        repeat=repeat,
        trace_id=as_name(raw.get("trace_id")),
        failure=as_name(raw.get("error")),
        started_at=parse_time(raw.get("start_time")),
        duration_seconds=milliseconds_to_seconds(raw.get("latency_ms")),
        # Prompts are counted with the cache, and its size is not stated.
        usage=Usage(
            input_tokens=None,
            output_tokens=as_count(raw.get("completion_token_count")),
            cache_read_tokens=None,
            cache_write_tokens=None,
        ),
        kept={"example_id": example, "prompt_tokens": as_count(raw.get("prompt_token_count"))},
    )


def _assessment(raw: Mapping[str, Any]) -> Assessment:
    """A label that says pass or fail is the value; else the score, whose meaning is the evaluator's."""
    label, score = as_str(raw.get("label")), as_amount(raw.get("score"))
    return Assessment(
        value=label if stated_pass(label) is not None or score is None else score,
        rationale=as_str(raw.get("explanation")),
        error=as_str(raw.get("error")),
    )
