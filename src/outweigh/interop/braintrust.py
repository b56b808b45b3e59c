"""Importer of Braintrust: the rows of experiments as exported or fetched, or the result of `Eval` as JSON."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from outweigh.interop.evaluated_cases import Assessment, EvaluatedCase, case_runs, choose_success_score, flat_cells
from outweigh.interop.field_values import parse_time
from outweigh.interop.imported_run import decode_file_name, field_origins, fingerprint, stable_id
from outweigh.interop.result_files import FileMarks, listed_objects, read_json, read_objects
from outweigh.interop.trace_spans import SpanKind, TraceSpan, first_known, group_traces, run_case
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_name, as_str, dict_at, name_at, to_text
from outweigh.model.usage import Usage
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.token_counts import subtract_counts

_ROWS = FileMarks(
    suffixes=(".json", ".jsonl", ".ndjson"),
    marks=(b'"root_span_id"', b'"span_attributes"', b'"scores"'),
)
_RESULT = FileMarks(
    suffixes=(".json",),
    start=re.compile(rb'^\s*\{\s*"summary"\s*:\s*\{\s*"project_name"\s*:'),
    marks=(b'"experiment_name"',),
)
_KINDS = {"llm": SpanKind.MODEL, "tool": SpanKind.TOOL}
_NAME = re.compile(r".* \[experiment_name=(?P<name>.+)\]")


class BraintrustImporter:
    """Reads a case of an experiment as a run, and an experiment as an arm, called by its name or its file's.

    Scores are from 0 to 1, and 1 is best: one that is 0 or 1 everywhere says whether a case passed.
    """

    name = "braintrust"
    takes = frozenset({"columns"})
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status_detail started_at duration_seconds usage cost checks extra",
        derived="agent step_count tool_call_count arm_fingerprint task_checksum",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file has the fields of Braintrust's rows, or begins as the result of an evaluation."""
        return _ROWS.recognise(path) or _RESULT.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read all experiments, because the same score must decide in all of them."""
        cases: list[EvaluatedCase] = []
        for file in (_RESULT if _RESULT.recognise(request.path) else _ROWS).files(request.path):
            cases += _result_cases(file, notes) if _RESULT.recognise(file) else _row_cases(file, notes)
        cases = _as_passes(cases)
        yield from case_runs(cases, self.name, request, choose_success_score(cases, request, notes))


def _as_passes(cases: Sequence[EvaluatedCase]) -> list[EvaluatedCase]:
    """The cases with scores that are 0 or 1 everywhere as failures and passes."""
    values: dict[str, set[Any]] = {}
    for case in cases:
        for scorer, each in case.assessments.items():
            values.setdefault(scorer, set()).add(each.value)
    plain = {scorer for scorer, found in values.items() if found - {None} and found <= {0, 1, None}}
    return [
        replace(
            case,
            assessments={
                scorer: replace(each, value=bool(each.value)) if scorer in plain and each.value is not None else each
                for scorer, each in case.assessments.items()
            },
        )
        for case in cases
    ]


def _scores(raw: Mapping[str, Any]) -> dict[str, Assessment]:
    return {name: Assessment(value=as_amount(value)) for name, value in dict_at(raw, "scores").items() if as_name(name)}


def _failure(raw: Mapping[str, Any]) -> str | None:
    error = raw.get("error")
    return None if error is None else to_text(error)[:2000] or "the case ended in an error"


def _result_cases(file: Path, notes: ImportNotes) -> Iterator[EvaluatedCase]:
    document = as_dict(read_json(file, notes))
    stated = name_at(document, "summary", "experiment_name") or decode_file_name(file.stem)
    named = _NAME.fullmatch(stated)
    arm = stated if named is None else named["name"]
    for number, raw in enumerate(listed_objects(document, "results", file, notes), start=1):
        yield EvaluatedCase(
            run_id=arm,
            place=f"{number:06}/{fingerprint(raw)[:12]}",
            inputs=raw.get("input"),
            expectations=raw.get("expected"),
            assessments=_scores(raw),
            cells=flat_cells(raw, "input", "output"),
            arm=arm,
            failure=_failure(raw),
        )


def _row_cases(file: Path, notes: ImportNotes) -> Iterator[EvaluatedCase]:
    rows: dict[str, dict[str, Any]] = {}
    spans: list[TraceSpan] = []
    for number, raw in enumerate(read_objects(file, notes, "events", "data"), start=1):
        span = _span(raw)
        if span is None:
            notes.unread(file, 0, f"row {number} has no span_id or root_span_id")
        else:
            spans.append(span)
            rows[span.span_id] = raw
    experiments = {as_name(row.get("experiment_id")) for row in rows.values()}
    for trace in group_traces(spans).values():
        root = next((span for span in trace if span.span_id == span.trace_id or span.parent_id is None), None)
        if root is None:
            notes.unread(file, 0, f"the trace {trace[0].trace_id} has no root span; export it too")
            continue
        raw = rows[root.span_id]
        experiment = as_name(raw.get("experiment_id"))
        arm = decode_file_name(file.stem) if len(experiments) == 1 or experiment is None else experiment
        model = first_known((*(span.model for span in trace), name_at(raw, "metadata", "model")))
        known: dict[str, Any] = {"expectations": raw.get("expected"), "assessments": _scores(raw)}
        if root.usage.output_tokens is not None:
            known["usage"] = root.usage
        yield run_case(
            [root, *(span for span in trace if span is not root)],
            arm=stable_id(arm),
            settings={"experiment": experiment, "model": model},
            **known,
        )


def _span(raw: Mapping[str, Any]) -> TraceSpan | None:
    span_id, trace_id = as_name(raw.get("span_id")), as_name(raw.get("root_span_id"))
    if span_id is None or trace_id is None:
        return None
    metrics, parents = dict_at(raw, "metrics"), raw.get("span_parents")
    return TraceSpan(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=as_name(parents[0]) if isinstance(parents, list) and parents else None,
        name=as_str(dict_at(raw, "span_attributes").get("name")) or "",
        kind=_KINDS.get(as_str(dict_at(raw, "span_attributes").get("type")) or "", SpanKind.OTHER),
        started_at=parse_time(metrics.get("start")),
        ended_at=parse_time(metrics.get("end")),
        model=name_at(raw, "metadata", "model"),
        usage=_usage(metrics),
        cost_usd=as_amount(metrics.get("estimated_cost")),
        error=_failure(raw),
        inputs=raw.get("input"),
        attributes=flat_cells(raw, "input", "output", "expected"),
    )


def _usage(metrics: Mapping[str, Any]) -> Usage:
    """The tokens. Prompts are counted with the cache; if its size is not stated, input is unknown."""
    read, written = as_count(metrics.get("prompt_cached_tokens")), as_count(metrics.get("prompt_cache_creation_tokens"))
    prompt = as_count(metrics.get("prompt_tokens"))
    return Usage(
        input_tokens=None if read is None else subtract_counts(prompt, read, written or 0),
        output_tokens=as_count(metrics.get("completion_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
