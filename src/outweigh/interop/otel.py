"""Importer of OpenTelemetry traces of agents: OTLP in JSON, as collectors write it into files."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from outweigh.interop.evaluated_cases import Assessment, EvaluatedCase, case_runs, choose_success_score
from outweigh.interop.field_values import parse_time
from outweigh.interop.imported_run import field_origins, stable_id
from outweigh.interop.result_files import (
    FileMarks,
    listed_objects,
    read_head,
    read_json,
    read_json_lines,
)
from outweigh.interop.trace_spans import (
    SpanKind,
    TraceSpan,
    attribute_fields,
    first_known,
    group_traces,
    merge_assessments,
    run_case,
    split_runs,
)
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_dict, as_name, as_str, dict_at, dicts_at
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_FILES = FileMarks(
    suffixes=(".json", ".jsonl", ".ndjson"),
    start=re.compile(
        rb'^(?:\xef\xbb\xbf)?\s*\{\s*"resource(?:Spans|Logs)"\s*:\s*\[.*"(?:gen_ai|openinference)\.', re.DOTALL
    ),
    marks=(b'"traceId"',),
)
_EVALUATION = "gen_ai.evaluation.result"
_USER_MESSAGE = "gen_ai.user.message"
_ERROR_CODES = (2, "2", "STATUS_CODE_ERROR")
_TASK_ATTRIBUTES = ("test.case.name", "test.case.id")


class OtelImporter:
    """Reads a trace as a run; an arm is the service with the agent and the model, the task what the user asked first.

    The conventions have no attribute for the task or the arm: `--map task_id=ATTRIBUTE` and `--map arm=ATTRIBUTE` name
    those that you set. Success is a `gen_ai.evaluation.result`, of a span or in the logs.
    """

    name = "otel"
    takes = frozenset({"columns"})
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status_detail started_at duration_seconds usage cost checks",
        derived="step_count tool_call_count arm_fingerprint task_checksum extra",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file begins as OTLP does and has attributes of generative AI."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read all files, because the spans of one trace can be anywhere in them."""
        spans: list[TraceSpan] = []
        scores: dict[str, list[dict[str, Assessment]]] = {}
        for file in _FILES.files(request.path):
            for document in _documents(file, notes):
                spans += _spans(document, file, notes)
                for span_id, found in _logged_evaluations(document):
                    scores.setdefault(span_id, []).append(found)
        cases, others = [], 0
        for trace in group_traces(_with_scores(span, scores) for span in spans).values():
            for run in split_runs(trace):
                if any(span.kind is not SpanKind.OTHER for span in run):
                    cases.append(_case(run))
                else:
                    others += 1
        if others:
            notes.warn(f"{others:,} traces have no span of an agent or a model; they are left out.")
        yield from case_runs(cases, self.name, request, choose_success_score(cases, request, notes))


def _documents(path: Path, notes: ImportNotes) -> Iterator[dict[str, Any]]:
    if path.suffix == ".json" and b"\n{" not in read_head(path).rstrip():
        yield as_dict(read_json(path, notes))
    else:
        yield from (line.value for line in read_json_lines(path, notes))


def _spans(document: Mapping[str, Any], path: Path, notes: ImportNotes) -> Iterator[TraceSpan]:
    if "resourceLogs" in document or "resourceMetrics" in document:
        return
    for resource in listed_objects(document, "resourceSpans", path, notes):
        shared = _attributes(dict_at(resource, "resource"))
        for scope in listed_objects(resource, "scopeSpans", path, notes):
            for raw in listed_objects(scope, "spans", path, notes):
                span = _span(raw, shared)
                if span is None:
                    notes.unread(path, 0, f"a span {raw.get('name')!r} without a traceId or a spanId")
                else:
                    yield span


def _span(raw: Mapping[str, Any], shared: Mapping[str, Any]) -> TraceSpan | None:
    trace_id, span_id = as_name(raw.get("traceId")), as_name(raw.get("spanId"))
    if trace_id is None or span_id is None:
        return None
    own = _attributes(raw)
    attributes, status = {**shared, **own}, dict_at(raw, "status")
    events = dicts_at(raw, "events")
    failed = status.get("code") in _ERROR_CODES
    fields = attribute_fields(attributes)
    said = (_attributes(event).get("content") for event in events if event.get("name") == _USER_MESSAGE)
    inputs = first_known((fields["inputs"], *said))
    evaluations = [_attributes(event) for event in events if event.get("name") == _EVALUATION]
    return TraceSpan(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=as_name(raw.get("parentSpanId")),
        name=as_str(raw.get("name")) or "",
        started_at=_time(raw.get("startTimeUnixNano")),
        ended_at=_time(raw.get("endTimeUnixNano")),
        error=(as_name(status.get("message")) or as_name(own.get("error.type")) or "the trace ended in an error")
        if failed
        else None,
        attributes=attributes,
        assessments=merge_assessments(map(_evaluation, evaluations)),
        **(fields | {"inputs": inputs}),
    )


def _time(nanoseconds: Any) -> datetime | None:
    text = str(nanoseconds)
    return parse_time(int(text) / 1e9) if text.isdecimal() and len(text) < 21 else None


def _attributes(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _value(each.get("value"))
        for each in dicts_at(raw, "attributes")
        if (key := as_name(each.get("key"))) is not None
    }


def _value(raw: Any) -> Any:
    """The value of an attribute; 64-bit integers are texts in OTLP's JSON."""
    held = as_dict(raw)
    if "intValue" in held:
        text = str(held["intValue"])
        return int(text) if text.removeprefix("-").isdecimal() and len(text) < 20 else None
    if "arrayValue" in held:
        return [_value(each) for each in dicts_at(held, "arrayValue", "values")]
    if "kvlistValue" in held:
        return {str(each.get("key")): _value(each.get("value")) for each in dicts_at(held, "kvlistValue", "values")}
    return first_known(held.get(kind) for kind in ("stringValue", "doubleValue", "boolValue"))


def _evaluation(attributes: Mapping[str, Any]) -> dict[str, Assessment]:
    """The label says what a score means, so it is the value where there is one."""
    name = as_name(attributes.get("gen_ai.evaluation.name"))
    if name is None:
        return {}
    label = as_name(attributes.get("gen_ai.evaluation.score.label"))
    return {
        name: Assessment(
            value=label if label is not None else attributes.get("gen_ai.evaluation.score.value"),
            rationale=as_str(attributes.get("gen_ai.evaluation.explanation")),
            error=as_name(attributes.get("error.type")),
        )
    }


def _logged_evaluations(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Assessment]]]:
    for resource in dicts_at(document, "resourceLogs"):
        for scope in dicts_at(resource, "scopeLogs"):
            for record in dicts_at(scope, "logRecords"):
                attributes = _attributes(record)
                if _EVALUATION in (record.get("eventName"), attributes.get("event.name")):
                    yield as_name(record.get("spanId")) or "", _evaluation(attributes)


def _with_scores(span: TraceSpan, scores: Mapping[str, list[dict[str, Assessment]]]) -> TraceSpan:
    found = scores.get(span.span_id)
    return span if found is None else replace(span, assessments=merge_assessments([span.assessments, *found]))


def _case(run: list[TraceSpan]) -> EvaluatedCase:
    root = run[0]
    service = as_name(root.attributes.get("service.name"))
    if service is not None and service.startswith("unknown_service"):
        service = None
    agent = next((span for span in run if span.agent), root)
    model = first_known(span.model for span in run)
    settings = {
        "service": _versioned(service, root.attributes.get("service.version")),
        "agent": _versioned(agent.agent, agent.agent_version),
        "model": model,
    }
    names = list(dict.fromkeys(value for value in settings.values() if value))
    task = first_known(as_name(root.attributes.get(name)) for name in _TASK_ATTRIBUTES)
    return run_case(run, arm=stable_id(" ".join(names)) or "agent", settings=settings, task=task)


def _versioned(name: str | None, version: Any) -> str | None:
    return f"{name}@{version}" if name is not None and as_name(version) else name
