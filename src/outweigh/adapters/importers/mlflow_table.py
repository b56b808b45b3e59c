"""Tables of MLflow's evaluations as JSON: what `mlflow.evaluate` logs, or an export of `result_df`."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.identity import fingerprint
from outweigh.adapters.importers.mlflow_case import Assessment, Case
from outweigh.adapters.importers.mlflow_trace import root_inputs, trace_cases
from outweigh.adapters.importers.source_text import head, read_json
from outweigh.ports.importers import ImportNotes
from outweigh.transcript.foreign import amount, mapping, name, sequence, text

INPUT_COLUMNS = ("inputs", "request")
_SCORE = re.compile(r"(?P<scorer>.+)/(?:score|value)")
_TABLE = re.compile(rb'^(?:\xef\xbb\xbf)?\s*\{\s*"columns"\s*:\s*\[(?P<columns>[^\]]*)\]')
_RECORDS = re.compile(rb'^(?:\xef\xbb\xbf)?\s*\[\s*\{\s*"(?:trace_id|request_id)"\s*:')
_SCORE_NAME = re.compile(rb'\\?/(?:score|value)"')
_TRACE_COLUMNS = {"trace_id", "trace_metadata", "assessments"}


def is_evaluation_table(path: Path) -> bool:
    """By a column with scores; a table that was logged for something else has none."""
    if path.suffix != ".json":
        return False
    start = head(path)
    table = _TABLE.match(start)
    if table is not None:
        return _SCORE_NAME.search(table["columns"]) is not None or b'"assessments"' in table["columns"]
    return _RECORDS.match(start) is not None and (b'"assessments"' in start or _SCORE_NAME.search(start) is not None)


def table_cases(path: Path, run_id: str | None, called: str, notes: ImportNotes) -> Iterator[list[Case]]:
    """Row by row; a table that lies in no run's folder is a run by what it is called and what it holds."""
    document = read_json(path, notes)
    own_run = run_id or f"table-{fingerprint([called, document])[:16]}"
    for number, row in enumerate(_rows(document), start=1):
        if row is None:
            notes.unread(path, 0, f"row {number} has not as many cells as there are columns")
        elif row.keys() >= _TRACE_COLUMNS:
            yield _traced(row)
        else:
            yield [_case(row, own_run, f"{path.name if run_id else 'row'}#{number:06}")]


def _rows(document: Any) -> Iterator[dict[str, Any] | None]:
    if isinstance(document, list):
        yield from (row if isinstance(row, dict) else None for row in document)
        return
    columns = [str(column) for column in sequence(mapping(document).get("columns"))]
    for row in sequence(mapping(document).get("data")):
        fits = isinstance(row, list) and len(row) == len(columns)
        yield dict(zip(columns, row, strict=True)) if fits else None


def _traced(row: Mapping[str, Any]) -> list[Case]:
    """A row of `result_df` or `search_traces` holds the trace itself, under nearly the same names."""
    info = dict(row) | {"execution_duration_ms": row.get("execution_duration")}
    inputs, failure = root_inputs(sequence(row.get("spans")))
    return trace_cases(info, inputs=row.get("request") or inputs, failure=failure)


def _case(row: Mapping[str, Any], run_id: str, place: str) -> Case:
    trace = name(row.get("trace_id"))
    return Case(
        run_id=run_id,
        place=trace or place,
        inputs=next((row[column] for column in INPUT_COLUMNS if row.get(column) is not None), None),
        expectations=mapping(row.get("expectations")) or None,
        assessments=_assessments(row),
        cells=row,
        trace_id=trace,
        failure=name(row.get("error_message")),
        duration_seconds=amount(row.get("latency")),
        kept={"token_count": amount(row.get("token_count"))},
    )


def _assessments(row: Mapping[str, Any]) -> dict[str, Assessment]:
    found = {}
    for column, value in row.items():
        if (score := _SCORE.fullmatch(column)) is not None:
            scorer = score["scorer"]
            why = row.get(f"{scorer}/justification") or row.get(f"{scorer}/rationale")
            found[scorer] = Assessment(value=value, rationale=text(why), error=text(row.get(f"{scorer}/error_message")))
    return found
