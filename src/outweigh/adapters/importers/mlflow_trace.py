"""A trace of MLflow 3 as a case for each evaluation that scored it; files and databases are brought into one shape."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from outweigh.adapters.importers.mlflow_case import Assessment, Case
from outweigh.adapters.importers.source_time import moment, seconds_of_milliseconds
from outweigh.record.cost import reported_cost
from outweigh.record.usage import Usage
from outweigh.transcript.foreign import amount, count, mapping, name, sequence, text
from outweigh.transcript.json_lines import decode_json

_SOURCE_RUN = "mlflow.sourceRun"
_SCORED_BY = "mlflow.assessment.sourceRunId"
TOKENS, COST = "mlflow.trace.tokenUsage", "mlflow.trace.cost"
_INPUTS = "mlflow.traceInputs"


def trace_cases(trace: Mapping[str, Any], *, inputs: Any = None, failure: str | None = None) -> list[Case]:
    """The cases of a trace, in the shape of `TraceInfo`. One that nobody scored is no evaluation and has none.

    A scorer says for which run it scored; what a person added later belongs to the run that made the trace.
    """
    metadata, trace_id = mapping(trace.get("trace_metadata")), name(trace.get("trace_id"))
    said = [mapping(each) for each in sequence(trace.get("assessments"))]
    valid = [each for each in said if each.get("valid") is not False]
    by_run: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in valid:
        run = name(mapping(each.get("metadata")).get(_SCORED_BY)) or name(metadata.get(_SOURCE_RUN))
        if run is not None and "feedback" in each:
            by_run[run].append(each)
    tokens, cost = mapping(_decoded(metadata.get(TOKENS))), mapping(_decoded(metadata.get(COST)))
    return [
        Case(
            run_id=run,
            place=trace_id,
            inputs=_decoded(metadata.get(_INPUTS)) if inputs is None else inputs,
            expectations=_expectations(valid),
            assessments=_assessments(feedback),
            trace_id=trace_id,
            failure=_failure(trace, failure),
            started_at=moment(trace.get("request_time")),
            duration_seconds=seconds_of_milliseconds(trace.get("execution_duration_ms")),
            usage=_usage(tokens),
            cost=reported_cost(amount(cost.get("total_cost"))),
            kept={"token_usage": tokens or None, "state": name(trace.get("state"))},
        )
        for run, feedback in by_run.items()
        if trace_id is not None
    ]


def root_inputs(spans: list[Any]) -> tuple[Any, str | None]:
    """What the outermost span was given, in full, and what it failed of; a trace itself keeps a short form only."""
    for span in map(mapping, spans):
        if not span.get("parent_span_id"):
            status = mapping(span.get("status"))
            broken = "ERROR" in str(status.get("code"))
            given = _decoded(mapping(span.get("attributes")).get("mlflow.spanInputs"))
            return given, text(status.get("message")) if broken else None
    return None, None


def _assessments(feedback: list[dict[str, Any]]) -> dict[str, Assessment]:
    """By the scorers' names. One that said different things about the same trace has not said anything."""
    found: dict[str, Assessment] = {}
    for each in feedback:
        said, scorer = mapping(each.get("feedback")), name(each.get("assessment_name"))
        if scorer is None:
            continue
        error = mapping(said.get("error"))
        told = text(error.get("error_message")) or name(error.get("error_code"))
        new = Assessment(value=said.get("value"), rationale=text(each.get("rationale")), error=told)
        old = found.setdefault(scorer, new)
        if old.value != new.value:
            found[scorer] = Assessment(value=None, error="assessed more than once, with different values")
    return found


def _expectations(assessments: list[dict[str, Any]]) -> dict[str, Any] | None:
    found = {
        str(each.get("assessment_name")): mapping(each.get("expectation")).get("value")
        for each in assessments
        if "expectation" in each
    }
    return found or None


def _failure(trace: Mapping[str, Any], told: str | None) -> str | None:
    if trace.get("state") != "ERROR":
        return None
    return told or "the trace ended in an error"


def _usage(raw: Mapping[str, Any]) -> Usage:
    """MLflow counts cached tokens as input, too; where it does not say how many, input without them is unknown."""
    read, written = count(raw.get("cache_read_input_tokens")), count(raw.get("cache_creation_input_tokens"))
    given = count(raw.get("input_tokens"))
    cached = (read or 0) + (written or 0)
    fresh = given - cached if given is not None and read is not None and given >= cached else None
    return Usage(
        input_tokens=fresh,
        output_tokens=count(raw.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _decoded(value: Any) -> Any:
    """Metadata are JSON in a text; what is none stays a text."""
    if not isinstance(value, str):
        return value
    try:
        return decode_json(value.encode("utf-8", "replace"))
    except ValueError:
        return value
