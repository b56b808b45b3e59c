"""MLflow 3's default SQLite database (`mlflow.db`): its runs, and the traces that evaluations scored."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outweigh.errors import EvidenceError
from outweigh.interop.evaluated_cases import EvaluatedCase
from outweigh.interop.field_values import parse_time
from outweigh.interop.mlflow.cases import (
    TRACE_COST,
    TRACE_TOKENS,
    EvaluationRun,
    root_inputs,
    trace_cases,
)
from outweigh.interop.sqlite_files import DatabaseRow, is_sqlite_file, open_sqlite, query_rows, table_names
from outweigh.model.json_text import decode_json

if TYPE_CHECKING:
    import sqlite3

_REQUIRED_TABLES = {"runs", "params", "trace_info", "trace_request_metadata", "assessments"}
_READ_TABLES = frozenset(_REQUIRED_TABLES | {"latest_metrics", "spans"})


def is_mlflow_database(path: Path) -> bool:
    """Whether a database has MLflow 3's tables; older versions have no scores of single inputs."""
    if not is_sqlite_file(path):
        return False
    with suppress(EvidenceError), _open_database(path) as database:
        return table_names(database) >= _REQUIRED_TABLES
    return False


def read_database_runs(path: Path) -> Iterator[EvaluationRun]:
    """Every run, including deleted ones, which are marked."""
    with _open_database(path) as database:
        metrics = "latest_metrics" in table_names(database)
        for run in query_rows(database, "SELECT * FROM runs ORDER BY start_time, run_uuid"):
            key = (run["run_uuid"],)
            yield EvaluationRun(
                run_id=str(run["run_uuid"]),
                name=str(run.get("name") or run["run_uuid"]),
                params=_pairs(database, "SELECT key, value FROM params WHERE run_uuid = ?", key),
                metrics=_pairs(database, "SELECT key, value FROM latest_metrics WHERE run_uuid = ?", key)
                if metrics
                else {},
                status=str(run.get("status")),
                deleted=run.get("lifecycle_stage") == "deleted",
                started_at=parse_time(run.get("start_time")),
            )


def read_database_cases(path: Path) -> Iterator[list[EvaluatedCase]]:
    """The cases of each trace, in order of time."""
    with _open_database(path) as database:
        spans = "spans" in table_names(database)
        for info in query_rows(database, "SELECT * FROM trace_info ORDER BY timestamp_ms, request_id"):
            inputs, failure = root_inputs(_spans(database, info["request_id"])) if spans else (None, None)
            yield trace_cases(_trace(database, info), inputs=inputs, failure=failure)


def _trace(database: "sqlite3.Connection", info: DatabaseRow) -> DatabaseRow:
    """A trace in the form in which MLflow's API returns it."""
    key = (info["request_id"],)
    metadata = _pairs(database, "SELECT key, value FROM trace_request_metadata WHERE request_id = ?", key)
    said = query_rows(
        database, "SELECT * FROM assessments WHERE trace_id = ? ORDER BY created_timestamp, assessment_id", key
    )
    return {
        "trace_id": info["request_id"],
        "state": info.get("status"),
        "request_time": info.get("timestamp_ms"),
        "execution_duration_ms": info.get("execution_time_ms"),
        "trace_metadata": _figures(info) | metadata,
        "assessments": [_assessment(each) for each in said],
    }


def _figures(info: DatabaseRow) -> DatabaseRow:
    """Tokens and cost, which have columns of their own in newer versions, and were metadata before."""
    tokens = {column: count for column, count in info.items() if column.endswith("_tokens") and count is not None}
    cost = {"total_cost": info["total_cost"]} if info.get("total_cost") is not None else {}
    return {TRACE_TOKENS: tokens, TRACE_COST: cost}


def _assessment(row: DatabaseRow) -> DatabaseRow:
    kind = "expectation" if row.get("assessment_type") == "expectation" else "feedback"
    return {
        "assessment_name": row.get("name"),
        "rationale": row.get("rationale"),
        "metadata": _json(row.get("assessment_metadata")),
        "valid": bool(row.get("valid", True)),
        kind: {"value": _json(row.get("value")), "error": _json(row.get("error"))},
    }


def _spans(database: "sqlite3.Connection", trace_id: Any) -> list[Any]:
    found = query_rows(database, "SELECT content FROM spans WHERE trace_id = ? AND parent_span_id IS NULL", (trace_id,))
    return [_json(row["content"]) for row in found]


def _json(value: Any) -> Any:
    try:
        return decode_json(value.encode("utf-8", "replace")) if isinstance(value, str) else None
    except ValueError:
        return None


def _open_database(path: Path) -> AbstractContextManager["sqlite3.Connection"]:
    return open_sqlite(path, "MLflow", _READ_TABLES)


def _pairs(database: "sqlite3.Connection", query: str, values: tuple[Any, ...]) -> dict[str, Any]:
    return {str(row["key"]): row["value"] for row in query_rows(database, query, values)}
