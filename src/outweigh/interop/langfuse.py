"""Importer of Langfuse: traces with their observations and scores, as downloaded or as its API gives them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.interop.evaluated_cases import Assessment, EvaluatedCase, case_runs, choose_success_score, flat_cells
from outweigh.interop.field_values import parse_time
from outweigh.interop.imported_run import field_origins, stable_id
from outweigh.interop.result_files import FileMarks, read_objects
from outweigh.interop.trace_spans import SpanKind, TraceSpan, first_known, merge_assessments, run_case
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import amount_at, as_amount, as_count, as_dict, as_name, as_str, dict_at, dicts_at
from outweigh.model.usage import Usage, reported_cost
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_FILES = FileMarks(
    suffixes=(".json", ".jsonl", ".ndjson"),
    marks=(b'"observations"', b'"traceId"', b'"parentObservationId"'),
)
_KINDS = {"GENERATION": SpanKind.MODEL, "TOOL": SpanKind.TOOL, "AGENT": SpanKind.AGENT}
_READ = ("cache_read_input_tokens", "input_cached_tokens", "input_cache_read", "cached_tokens")
_WRITTEN = ("cache_creation_input_tokens", "input_cache_creation", "input_cache_write")


class LangfuseImporter:
    """Reads a trace as a run. An arm is the trace's name with release, version and model.

    `--map arm=metadata.variant` takes any other field of the trace, and `--map task_id=…` another than its input.
    """

    name = "langfuse"
    takes = frozenset({"columns"})
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status_detail agent started_at duration_seconds usage cost checks extra",
        derived="step_count tool_call_count arm_fingerprint task_checksum",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file has traces with the observations that Langfuse lists."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read all traces, because the same score must decide in all of them."""
        cases = []
        for file in _FILES.files(request.path):
            for number, raw in enumerate(read_objects(file, notes, "data"), start=1):
                case = _case(raw)
                if case is None:
                    notes.unread(file, 0, f"trace {number} has no id or no observations")
                else:
                    cases.append(case)
        yield from case_runs(cases, self.name, request, choose_success_score(cases, request, notes))


def _case(raw: Mapping[str, Any]) -> EvaluatedCase | None:
    """The case of a trace; a download has it beside its observations, the API has them in it."""
    trace = as_dict(raw.get("trace")) or raw
    trace_id = as_name(trace.get("id"))
    held = raw if "observations" in raw else trace
    if trace_id is None or not isinstance(held.get("observations"), list):
        return None
    spans = [span for each in dicts_at(held, "observations") if (span := _span(each, trace_id)) is not None]
    scores = [*dicts_at(trace, "scores"), *(dicts_at(raw, "scores") if trace is not raw else ())]
    root = TraceSpan(
        trace_id=trace_id,
        span_id=trace_id,
        started_at=parse_time(trace.get("timestamp")),
        error=next((span.error for span in spans if span.parent_id in (None, trace_id) and span.error), None),
        inputs=trace.get("input"),
        attributes=flat_cells(trace, "input", "output"),
        assessments=merge_assessments(map(_score, scores)),
    )
    model = first_known(span.model for span in spans)
    settings = {key: as_name(trace.get(key)) for key in ("name", "release", "version")} | {"model": model}
    names = list(dict.fromkeys(value for value in settings.values() if value))
    found: dict[str, Any] = {}
    if (latency := as_amount(trace.get("latency"))) is not None:
        found["duration_seconds"] = latency
    if (cost := as_amount(trace.get("totalCost"))) is not None:
        # 0 stands for models without a price.
        found["cost"] = reported_cost(cost or None)
    return run_case([root, *spans], arm=stable_id(" ".join(names)) or "trace", settings=settings, **found)


def _span(raw: Mapping[str, Any], trace_id: str) -> TraceSpan | None:
    span_id = as_name(raw.get("id"))
    if span_id is None:
        return None
    return TraceSpan(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=as_name(raw.get("parentObservationId")) or trace_id,
        name=as_str(raw.get("name")) or "",
        kind=_KINDS.get(as_str(raw.get("type")) or "", SpanKind.OTHER),
        started_at=parse_time(raw.get("startTime")),
        ended_at=parse_time(raw.get("endTime")),
        model=as_name(raw.get("model")),
        usage=_usage(raw),
        cost_usd=first_known(
            (
                as_amount(raw.get("totalCost")),
                as_amount(raw.get("calculatedTotalCost")),
                amount_at(raw, "costDetails", "total"),
            )
        ),
        error=as_name(raw.get("statusMessage")) or "an observation failed" if raw.get("level") == "ERROR" else None,
    )


def _usage(raw: Mapping[str, Any]) -> Usage:
    """The tokens. The kinds of `usageDetails` do not overlap; if none is of the cache, input may include it."""
    details = dict_at(raw, "usageDetails") or dict_at(raw, "usage")
    read = first_known(as_count(details.get(name)) for name in _READ)
    return Usage(
        input_tokens=None if read is None else as_count(details.get("input")),
        output_tokens=as_count(details.get("output")),
        cache_read_tokens=read,
        cache_write_tokens=first_known(as_count(details.get(name)) for name in _WRITTEN),
    )


def _score(raw: Mapping[str, Any]) -> dict[str, Assessment]:
    name = as_name(raw.get("name"))
    if name is None:
        return {}
    value, text = raw.get("value"), as_str(raw.get("stringValue"))
    if raw.get("dataType") == "BOOLEAN":
        value = {1.0: True, 0.0: False}.get(float(value)) if isinstance(value, int | float) else None
    elif text is not None:
        value = text
    return {name: Assessment(value=value, rationale=as_str(raw.get("comment")))}
