"""All that MLflow left at a path: runs and cases from databases, run folders (`mlruns`) and tables, each once."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outweigh.errors import EvidenceError
from outweigh.interop.evaluated_cases import Assessment, EvaluatedCase
from outweigh.interop.field_values import parse_time
from outweigh.interop.imported_run import fingerprint
from outweigh.interop.mlflow.cases import EvaluationRun, root_inputs, trace_cases
from outweigh.interop.mlflow.database import (
    is_mlflow_database,
    read_database_cases,
    read_database_runs,
)
from outweigh.interop.result_files import read_head, read_json, read_text, read_yaml, walk_files
from outweigh.interop.sqlite_files import DATABASE_SUFFIXES
from outweigh.model.untrusted_json import as_amount, as_dict, as_list, as_name, as_str
from outweigh.ports.importers import ImportNotes

INPUT_COLUMNS = ("inputs", "request")
_SCORE_COLUMN = re.compile(r"(?P<scorer>.+)/(?:score|value)")
_SPLIT_TABLE = re.compile(rb'^(?:\xef\xbb\xbf)?\s*\{\s*"columns"\s*:\s*\[(?P<columns>[^\]]*)\]')
_RECORD_LIST = re.compile(rb'^(?:\xef\xbb\xbf)?\s*\[\s*\{\s*"(?:trace_id|request_id)"\s*:')
_SCORE_NAME = re.compile(rb'\\?/(?:score|value)"')
_TRACE_COLUMNS = {"trace_id", "trace_metadata", "assessments"}


def is_evaluation_table(path: Path) -> bool:
    """Whether a JSON table has a column with scores; tables logged for other purposes have none."""
    if path.suffix != ".json":
        return False
    start = read_head(path)
    table = _SPLIT_TABLE.match(start)
    if table is not None:
        return _SCORE_NAME.search(table["columns"]) is not None or b'"assessments"' in table["columns"]
    return _RECORD_LIST.match(start) is not None and (
        b'"assessments"' in start or _SCORE_NAME.search(start) is not None
    )


def read_table_cases(path: Path, run_id: str | None, called: str, notes: ImportNotes) -> Iterator[list[EvaluatedCase]]:
    """The cases row by row. A table outside of a run's folder is a run of its own, identified by name and content."""
    document = read_json(path, notes)
    own_run = run_id or f"table-{fingerprint([called, document])[:16]}"
    for number, row in enumerate(_rows(document), start=1):
        if row is None:
            notes.unread(path, 0, f"row {number} has not as many cells as there are columns")
        elif row.keys() >= _TRACE_COLUMNS:
            yield _row_trace(row)
        else:
            yield [_case(row, own_run, f"{path.name if run_id else 'row'}#{number:06}")]


def _rows(document: Any) -> Iterator[dict[str, Any] | None]:
    if isinstance(document, list):
        yield from (row if isinstance(row, dict) else None for row in document)
        return
    columns = [str(column) for column in as_list(as_dict(document).get("columns"))]
    for row in as_list(as_dict(document).get("data")):
        fits = isinstance(row, list) and len(row) == len(columns)
        yield dict(zip(columns, row, strict=True)) if fits else None


def _row_trace(row: Mapping[str, Any]) -> list[EvaluatedCase]:
    """The cases of a row of `result_df` or `search_traces`, which is a trace under nearly the same names."""
    info = dict(row) | {"execution_duration_ms": row.get("execution_duration")}
    inputs, failure = root_inputs(as_list(row.get("spans")))
    return trace_cases(info, inputs=row.get("request") or inputs, failure=failure)


def _case(row: Mapping[str, Any], run_id: str, place: str) -> EvaluatedCase:
    trace = as_name(row.get("trace_id"))
    return EvaluatedCase(
        run_id=run_id,
        place=trace or place,
        inputs=next((row[column] for column in INPUT_COLUMNS if row.get(column) is not None), None),
        expectations=as_dict(row.get("expectations")) or None,
        assessments=_assessments(row),
        cells=row,
        trace_id=trace,
        failure=as_name(row.get("error_message")),
        duration_seconds=as_amount(row.get("latency")),
        kept={"token_count": as_amount(row.get("token_count"))},
    )


def _assessments(row: Mapping[str, Any]) -> dict[str, Assessment]:
    found = {}
    for column, value in row.items():
        if (score := _SCORE_COLUMN.fullmatch(column)) is not None:
            scorer = score["scorer"]
            why = row.get(f"{scorer}/justification") or row.get(f"{scorer}/rationale")
            found[scorer] = Assessment(
                value=value, rationale=as_str(why), error=as_str(row.get(f"{scorer}/error_message"))
            )
    return found


META_FILE, TRACE_FILE = "meta.yaml", "trace_info.yaml"
MLFLOW_ARTIFACTS_FOLDER = "artifacts"
_YAML_BYTES = 2**20
_STATUS = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}


def read_mlruns_run(meta: Path, notes: ImportNotes) -> EvaluationRun | None:
    """The run of a `meta.yaml`; None for those of experiments, datasets and models."""
    said = _read_small_yaml(meta, notes)
    run_id = as_name(said.get("run_id"))
    if run_id is None:
        return None
    folder, status = meta.parent, said.get("status")
    return EvaluationRun(
        run_id=run_id,
        name=as_name(said.get("run_name")) or run_id,
        params=_read_values(folder / "params", notes),
        metrics=_read_metrics(folder / "metrics", notes),
        status=_STATUS.get(status, str(status)) if isinstance(status, int) else str(status),
        deleted=said.get("lifecycle_stage") == "deleted",
        started_at=parse_time(said.get("start_time")),
    )


def read_mlruns_cases(info: Path, notes: ImportNotes) -> list[EvaluatedCase]:
    """The cases of a trace; its full input is in its artifacts."""
    folder = info.parent
    spans = folder / MLFLOW_ARTIFACTS_FOLDER / "traces.json"
    inputs, failure = (
        root_inputs(as_list(as_dict(read_json(spans, notes)).get("spans"))) if spans.is_file() else (None, None)
    )
    trace = _read_small_yaml(info, notes) | {
        "trace_metadata": _read_values(folder / "request_metadata", notes),
        "assessments": [_read_small_yaml(each, notes) for each in sorted((folder / "assessments").glob("*.yaml"))],
    }
    return trace_cases(trace, inputs=inputs, failure=failure)


def _read_values(folder: Path, notes: ImportNotes) -> dict[str, str]:
    """The values in a folder with one file per key; a slash in a key makes a subfolder."""
    if not folder.is_dir():
        return {}
    files = [each for each in sorted(folder.rglob("*")) if each.is_file()]
    return {each.relative_to(folder).as_posix(): read_text(each, notes) for each in files}


def _read_metrics(folder: Path, notes: ImportNotes) -> dict[str, float]:
    """The last value of each metric; a line has a time, a value and a step."""
    found = {}
    for key, content in _read_values(folder, notes).items():
        last = (content.strip().splitlines() or [""])[-1].split()
        try:
            found[key] = float(last[1])
        except (IndexError, ValueError):
            continue
    return found


def _read_small_yaml(path: Path, notes: ImportNotes) -> dict[str, Any]:
    return as_dict(read_yaml(path, notes, _YAML_BYTES))


_SKIPPED_FOLDERS = frozenset({".git", "node_modules", ".venv", "venv"})
_RUN_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(slots=True)
class MlflowStore:
    """Runs by id, and cases by run and place, so that copies are recognised."""

    runs: dict[str, EvaluationRun] = field(default_factory=dict)
    cases: dict[tuple[str, str], EvaluatedCase] = field(default_factory=dict)
    clashing: list[EvaluatedCase] = field(default_factory=list)
    doubled: int = 0
    unscored: int = 0
    named_runs: int = 0

    def add(self, cases: Iterable[EvaluatedCase], *, again: bool = False) -> None:
        """Keep each case once. `again` is for tables that repeat traces with less detail."""
        for case in cases:
            known = self.cases.setdefault((case.run_id, case.place), case)
            if known is case:
                continue
            if known == case or (again and case.trace_id is not None):
                self.doubled += 1
            else:
                self.clashing.append(case)

    def add_traces(self, traces: Iterable[list[EvaluatedCase]]) -> None:
        """Keep the cases of each trace; a trace that no evaluation scored has none."""
        for cases in traces:
            self.unscored += not cases
            self.add(cases)

    def name_run(self, run: EvaluationRun) -> None:
        """Keep what MLflow states about a run."""
        self.runs[run.run_id] = run
        self.named_runs += 1

    def name_table(self, cases: list[EvaluatedCase], called: str) -> None:
        """Name the run of a table outside of a run's folder after its file, if the table has only one run."""
        runs = {case.run_id for case in cases}
        for run_id in runs:
            self.runs.setdefault(run_id, EvaluationRun(run_id=run_id, name=called if len(runs) == 1 else run_id))


def is_mlflow(path: Path) -> bool:
    """Whether a path is a table or database of MLflow, or a folder with one of them or with traces."""
    if path.is_dir():
        return any(
            file.name == TRACE_FILE or is_evaluation_table(file) or is_mlflow_database(file)
            for file in walk_files(path, _may_show_mlflow, skipped_folders=_SKIPPED_FOLDERS)
        )
    return is_evaluation_table(path) or is_mlflow_database(path)


def read_mlflow_store(path: Path, notes: ImportNotes) -> MlflowStore:
    """Read all files at a path; databases and run folders first, because they name the runs of tables."""
    store = MlflowStore()
    if not path.is_dir():
        _add_file(store, path, path, notes)
        return store
    files = list(walk_files(path, _may_hold_cases, skipped_folders=_SKIPPED_FOLDERS))
    for file in sorted(files, key=is_evaluation_table):
        try:
            _add_file(store, file, path, notes)
        except EvidenceError as fault:
            notes.unread(file, 0, str(fault))
    return store


def _add_file(store: MlflowStore, file: Path, root: Path, notes: ImportNotes) -> None:
    if is_mlflow_database(file):
        for run in read_database_runs(file):
            store.name_run(run)
        store.add_traces(read_database_cases(file))
    elif file.name == TRACE_FILE:
        store.add_traces([read_mlruns_cases(file, notes)])
    elif file.name == META_FILE and (said := read_mlruns_run(file, notes)) is not None:
        store.name_run(said)
    elif is_evaluation_table(file):
        _add_table(store, file, root, notes)


def _add_table(store: MlflowStore, file: Path, root: Path, notes: ImportNotes) -> None:
    run = _run_above(file, notes)
    called = file.relative_to(root).with_suffix("").as_posix() if root.is_dir() else file.stem
    rows = list(read_table_cases(file, None if run is None else run.run_id, called, notes))
    if run is not None:
        store.runs.setdefault(run.run_id, run)
    store.unscored += sum(not row for row in rows)
    cases = [case for row in rows for case in row]
    if run is None and store.named_runs and not all(case.trace_id for case in cases):
        notes.warn(f"{called} is not in the folder of a run and is left out beside the runs themselves; name it alone.")
        return
    store.name_table(cases, called)
    store.add(cases, again=True)


def _run_above(file: Path, notes: ImportNotes) -> EvaluationRun | None:
    """The run whose artifacts contain a table. Without its `meta.yaml`, the folder's name is the run's id."""
    folder = next((parent for parent in file.absolute().parents if parent.name == MLFLOW_ARTIFACTS_FOLDER), None)
    if folder is None:
        return None
    meta, called = folder.with_name(META_FILE), folder.parent.name
    if meta.is_file():
        return read_mlruns_run(meta, notes)
    return EvaluationRun(run_id=called, name=called) if _RUN_ID.fullmatch(called) else None


def _may_show_mlflow(file_name: str) -> bool:
    return file_name == TRACE_FILE or file_name.endswith((".json", *DATABASE_SUFFIXES))


def _may_hold_cases(file_name: str) -> bool:
    return file_name == META_FILE or _may_show_mlflow(file_name)
