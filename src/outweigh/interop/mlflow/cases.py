"""One evaluated input of MLflow, wherever it is stored: the input, the scorers' assessments, tokens, cost and time.

Traces from files, databases and tables are normalised and become a case for each evaluation that scored them.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from outweigh.interop.evaluated_cases import Assessment, EvaluatedCase
from outweigh.interop.field_values import milliseconds_to_seconds, parse_time
from outweigh.model.json_text import decode_json
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_name, as_str
from outweigh.model.usage import Usage, reported_cost

_FINISHED = "FINISHED"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRun:
    """A run of MLflow: its name, its parameters, and how it ended."""

    run_id: str
    name: str
    params: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    status: str = _FINISHED
    deleted: bool = False
    started_at: datetime | None = None

    @property
    def finished(self) -> bool:
        """Whether it is marked as finished."""
        return self.status == _FINISHED


_SOURCE_RUN = "mlflow.sourceRun"
_SCORED_BY = "mlflow.assessment.sourceRunId"
TRACE_TOKENS, TRACE_COST = "mlflow.trace.tokenUsage", "mlflow.trace.cost"
_INPUTS = "mlflow.traceInputs"


def trace_cases(trace: Mapping[str, Any], *, inputs: Any = None, failure: str | None = None) -> list[EvaluatedCase]:
    """The cases of a trace in the form of `TraceInfo`; none if no evaluation scored it.

    A scorer states the run it scored for; what a person added later belongs to the run that made the trace.
    """
    metadata, trace_id = as_dict(trace.get("trace_metadata")), as_name(trace.get("trace_id"))
    said = [as_dict(each) for each in as_list(trace.get("assessments"))]
    valid = [each for each in said if each.get("valid") is not False]
    by_run: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in valid:
        run = as_name(as_dict(each.get("metadata")).get(_SCORED_BY)) or as_name(metadata.get(_SOURCE_RUN))
        if run is not None and "feedback" in each:
            by_run[run].append(each)
    tokens, cost = (
        as_dict(_decode_metadata(metadata.get(TRACE_TOKENS))),
        as_dict(_decode_metadata(metadata.get(TRACE_COST))),
    )
    return [
        EvaluatedCase(
            run_id=run,
            place=trace_id,
            inputs=_decode_metadata(metadata.get(_INPUTS)) if inputs is None else inputs,
            expectations=_expectations(valid),
            assessments=_assessments(feedback),
            trace_id=trace_id,
            failure=_failure(trace, failure),
            started_at=parse_time(trace.get("request_time")),
            duration_seconds=milliseconds_to_seconds(trace.get("execution_duration_ms")),
            usage=_usage(tokens),
            cost=reported_cost(as_amount(cost.get("total_cost"))),
            kept={"token_usage": tokens or None, "state": as_name(trace.get("state"))},
        )
        for run, feedback in by_run.items()
        if trace_id is not None
    ]


def root_inputs(spans: list[Any]) -> tuple[Any, str | None]:
    """The full input of the outermost span, and its error; the trace itself keeps only a short form."""
    for span in map(as_dict, spans):
        if not span.get("parent_span_id"):
            status = as_dict(span.get("status"))
            broken = "ERROR" in str(status.get("code"))
            given = _decode_metadata(as_dict(span.get("attributes")).get("mlflow.spanInputs"))
            return given, as_str(status.get("message")) if broken else None
    return None, None


def _assessments(feedback: list[dict[str, Any]]) -> dict[str, Assessment]:
    """Assessments by scorer. A scorer that said different things about one trace counts as unknown."""
    found: dict[str, Assessment] = {}
    for each in feedback:
        said, scorer = as_dict(each.get("feedback")), as_name(each.get("assessment_name"))
        if scorer is None:
            continue
        error = as_dict(said.get("error"))
        error_text = as_str(error.get("error_message")) or as_name(error.get("error_code"))
        new = Assessment(value=said.get("value"), rationale=as_str(each.get("rationale")), error=error_text)
        old = found.setdefault(scorer, new)
        if old.value != new.value:
            found[scorer] = Assessment(value=None, error="assessed more than once, with different values")
    return found


def _expectations(assessments: list[dict[str, Any]]) -> dict[str, Any] | None:
    found = {
        str(each.get("assessment_name")): as_dict(each.get("expectation")).get("value")
        for each in assessments
        if "expectation" in each
    }
    return found or None


def _failure(trace: Mapping[str, Any], error_text: str | None) -> str | None:
    if trace.get("state") != "ERROR":
        return None
    return error_text or "the trace ended in an error"


def _usage(raw: Mapping[str, Any]) -> Usage:
    """The tokens. MLflow counts cached tokens as input, too; if it does not say how many, input is unknown."""
    read, written = as_count(raw.get("cache_read_input_tokens")), as_count(raw.get("cache_creation_input_tokens"))
    given = as_count(raw.get("input_tokens"))
    cached = (read or 0) + (written or 0)
    fresh = given - cached if given is not None and read is not None and given >= cached else None
    return Usage(
        input_tokens=fresh,
        output_tokens=as_count(raw.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _decode_metadata(value: Any) -> Any:
    """Metadata values are JSON texts; any other text is kept as it is."""
    if not isinstance(value, str):
        return value
    try:
        return decode_json(value.encode("utf-8", "replace"))
    except ValueError:
        return value
