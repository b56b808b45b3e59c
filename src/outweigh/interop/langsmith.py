"""Importer of LangSmith: runs as `Client.list_runs` gives them, or the rows of an `evaluate`, written as JSON."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.interop.evaluated_cases import Assessment, EvaluatedCase, case_runs, choose_success_score, flat_cells
from outweigh.interop.field_values import parse_time
from outweigh.interop.imported_run import field_origins, stable_id
from outweigh.interop.result_files import FileMarks, read_objects
from outweigh.interop.trace_spans import SpanKind, TraceSpan, first_known, group_traces, run_case
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_name, as_str, dict_at, dicts_at, name_at
from outweigh.model.usage import Usage, reported_cost
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.token_counts import subtract_counts

_FILES = FileMarks(
    suffixes=(".json", ".jsonl", ".ndjson"),
    marks=(b'"run_type"', b'"trace_id"', b'"dotted_order"'),
)
_KINDS = {"llm": SpanKind.MODEL, "tool": SpanKind.TOOL}


class LangSmithImporter:
    """Reads a root run as a run, and a project, such as an experiment, as an arm.

    A feedback of 1 may mean anything, so `--map success=KEY` says which key decides.
    """

    name = "langsmith"
    takes = frozenset({"columns"})
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status_detail agent started_at duration_seconds usage cost checks extra",
        derived="step_count tool_call_count arm_fingerprint task_checksum",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file has the fields of LangSmith's runs."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read all runs, because a trace can be spread over a file."""
        spans: list[TraceSpan] = []
        for file in _FILES.files(request.path):
            for number, raw in enumerate(read_objects(file, notes, "runs"), start=1):
                found = [*_spans(as_dict(raw.get("run")) or raw, raw)]
                spans += found
                if not found:
                    notes.unread(file, 0, f"run {number} has no id, trace_id or run_type")
        cases = []
        for trace in group_traces(spans).values():
            roots = [span for span in trace if span.parent_id is None]
            if len(roots) == 1:
                cases.append(_case([roots[0], *(span for span in trace if span is not roots[0])]))
            else:
                notes.unread(request.path, 0, f"the trace {trace[0].trace_id} has no root run; export it too")
        yield from case_runs(cases, self.name, request, choose_success_score(cases, request, notes))


def _spans(raw: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[TraceSpan]:
    span_id, trace_id, kind = as_name(raw.get("id")), as_name(raw.get("trace_id")), as_str(raw.get("run_type"))
    if span_id is None or trace_id is None or kind is None:
        return
    yield TraceSpan(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=as_name(raw.get("parent_run_id")),
        name=as_str(raw.get("name")) or "",
        kind=_KINDS.get(kind, SpanKind.OTHER),
        started_at=parse_time(raw.get("start_time")),
        ended_at=parse_time(raw.get("end_time")),
        model=name_at(raw, "extra", "metadata", "ls_model_name"),
        usage=_usage(raw),
        cost_usd=_dollars(raw.get("total_cost")),
        error=as_name(raw.get("error")),
        inputs=raw.get("inputs") or None,
        attributes=flat_cells({**raw, "metadata": dict_at(raw, "extra", "metadata")}, "inputs", "outputs", "extra")
        | {"expected": dict_at(row, "example", "outputs") or None},
        assessments=_feedback(raw) | _results(row),
    )
    for child in dicts_at(raw, "child_runs"):
        yield from _spans(child, {})


def _case(run: list[TraceSpan]) -> EvaluatedCase:
    """The case of a trace. The root has the tokens and dollars of the whole trace."""
    root = run[0]
    model = first_known(span.model for span in run)
    arm = first_known(as_name(root.attributes.get(name)) for name in ("session_name", "session_id"))
    known: dict[str, Any] = {"cost": reported_cost(root.cost_usd or None), "expectations": root.attributes["expected"]}
    if root.usage.output_tokens is not None:
        known["usage"] = root.usage
    return run_case(run, arm=stable_id(arm or model or "runs"), settings={"project": arm, "model": model}, **known)


def _usage(raw: Mapping[str, Any]) -> Usage:
    """The tokens. Prompts are counted with the cache; if its size is not stated, input is unknown."""
    details = dict_at(raw, "prompt_token_details")
    read, written = as_count(details.get("cache_read")), as_count(details.get("cache_creation"))
    prompt = as_count(raw.get("prompt_tokens"))
    return Usage(
        input_tokens=None if read is None else subtract_counts(prompt, read, written or 0),
        output_tokens=as_count(raw.get("completion_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _dollars(value: Any) -> float | None:
    """A cost, which is a decimal number in a text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return as_amount(value)


def _feedback(raw: Mapping[str, Any]) -> dict[str, Assessment]:
    """What was fed back once; the mean of several answers is no answer."""
    found = {}
    for key, each in dict_at(raw, "feedback_stats").items():
        stats = as_dict(each)
        if as_name(key) is None or as_count(stats.get("n")) is None:
            continue
        values = [*dict_at(stats, "values")]
        single = values[0] if len(values) == 1 else stats.get("avg")
        found[key] = Assessment(
            value=single if stats["n"] == 1 else None, error=None if stats["n"] == 1 else "given more than once"
        )
    return found


def _results(row: Mapping[str, Any]) -> dict[str, Assessment]:
    """What the evaluators of an `evaluate` found."""
    return {
        key: Assessment(
            value=first_known((each.get("score"), each.get("value"))), rationale=as_str(each.get("comment"))
        )
        for each in dicts_at(row, "evaluation_results", "results")
        if (key := as_name(each.get("key"))) is not None
    }
