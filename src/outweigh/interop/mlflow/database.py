"""MLflow 3's default SQLite database (`mlflow.db`): its runs, and the traces that evaluations scored."""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

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
from outweigh.interop.result_files import LINE_LIMIT, read_head
from outweigh.model.json_text import decode_json

if TYPE_CHECKING:
    import sqlite3

DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
_MAGIC = b"SQLite format 3\0"
_REQUIRED_TABLES = {"runs", "params", "trace_info", "trace_request_metadata", "assessments"}

_READ_TABLES = sorted(_REQUIRED_TABLES | {"latest_metrics", "spans"})
_COMPUTED_TABLES_QUERY = f"""
SELECT tables.name AS name FROM sqlite_master AS tables, pragma_table_xinfo(tables.name) AS columns
WHERE tables.name IN ({", ".join("?" * len(_READ_TABLES))}) AND (tables.rootpage = 0 OR columns.hidden = 2) LIMIT 1
"""
"""Finds virtual tables and tables with a virtual column; stored computed columns are MLflow's own."""

_DatabaseRow = dict[str, Any]


def is_mlflow_database(path: Path) -> bool:
    """Whether a database has MLflow 3's tables; older versions have no scores of single inputs."""
    if path.suffix not in DATABASE_SUFFIXES or not read_head(path, 16).startswith(_MAGIC):
        return False
    with suppress(EvidenceError), _open_database(path) as database:
        return _tables(database) >= _REQUIRED_TABLES
    return False


def read_database_runs(path: Path) -> Iterator[EvaluationRun]:
    """Every run, including deleted ones, which are marked."""
    with _open_database(path) as database:
        metrics = "latest_metrics" in _tables(database)
        for run in _rows(database, "SELECT * FROM runs ORDER BY start_time, run_uuid"):
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
        spans = "spans" in _tables(database)
        for info in _rows(database, "SELECT * FROM trace_info ORDER BY timestamp_ms, request_id"):
            inputs, failure = root_inputs(_spans(database, info["request_id"])) if spans else (None, None)
            yield trace_cases(_trace(database, info), inputs=inputs, failure=failure)


def _trace(database: "sqlite3.Connection", info: _DatabaseRow) -> _DatabaseRow:
    """A trace in the form in which MLflow's API returns it."""
    key = (info["request_id"],)
    metadata = _pairs(database, "SELECT key, value FROM trace_request_metadata WHERE request_id = ?", key)
    said = _rows(
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


def _figures(info: _DatabaseRow) -> _DatabaseRow:
    """Tokens and cost, which have columns of their own in newer versions, and were metadata before."""
    tokens = {column: count for column, count in info.items() if column.endswith("_tokens") and count is not None}
    cost = {"total_cost": info["total_cost"]} if info.get("total_cost") is not None else {}
    return {TRACE_TOKENS: tokens, TRACE_COST: cost}


def _assessment(row: _DatabaseRow) -> _DatabaseRow:
    kind = "expectation" if row.get("assessment_type") == "expectation" else "feedback"
    return {
        "assessment_name": row.get("name"),
        "rationale": row.get("rationale"),
        "metadata": _json(row.get("assessment_metadata")),
        "valid": bool(row.get("valid", True)),
        kind: {"value": _json(row.get("value")), "error": _json(row.get("error"))},
    }


def _spans(database: "sqlite3.Connection", trace_id: Any) -> list[Any]:
    found = _rows(database, "SELECT content FROM spans WHERE trace_id = ? AND parent_span_id IS NULL", (trace_id,))
    return [_json(row["content"]) for row in found]


def _json(value: Any) -> Any:
    try:
        return decode_json(value.encode("utf-8", "replace")) if isinstance(value, str) else None
    except ValueError:
        return None


@contextmanager
def _open_database(path: Path) -> Iterator["sqlite3.Connection"]:
    """Open a database to read only; whatever SQLite refuses is an EvidenceError."""
    import sqlite3  # noqa: PLC0415 - all importers are loaded to detect a format, and few sources are databases

    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            database.text_factory = lambda content: content.decode("utf-8", "replace")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LINE_LIMIT)
            _refuse_computed_tables(database, path)
            yield database
    except (sqlite3.Error, OverflowError) as fault:
        raise EvidenceError(f"{path} cannot be read as a database of MLflow: {fault}.") from fault


def _refuse_computed_tables(database: "sqlite3.Connection", path: Path) -> None:
    """Refuse tables that are computed as they are read: a few bytes could expand beyond any memory."""
    database.execute("PRAGMA trusted_schema = OFF")
    found = next(_rows(database, _COMPUTED_TABLES_QUERY, tuple(_READ_TABLES)), None)
    if found is not None:
        raise EvidenceError(f"{path}: table {found['name']!r} is computed as it is read; no table of MLflow is.")


def _tables(database: "sqlite3.Connection") -> set[str]:
    return {str(row["name"]) for row in _rows(database, "SELECT name FROM sqlite_master WHERE type = 'table'")}


def _rows(database: "sqlite3.Connection", query: str, values: tuple[Any, ...] = ()) -> Iterator[_DatabaseRow]:
    for row in database.execute(query, values):
        yield dict(row)


def _pairs(database: "sqlite3.Connection", query: str, values: tuple[Any, ...]) -> dict[str, Any]:
    return {str(row["key"]): row["value"] for row in _rows(database, query, values)}
