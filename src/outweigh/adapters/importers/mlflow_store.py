"""Everything that MLflow left at a place: runs and cases, from databases, folders and tables, each of them once."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from outweigh.adapters.importers.folders import files_below
from outweigh.adapters.importers.mlflow_case import Case, EvaluationRun
from outweigh.adapters.importers.mlflow_database import (
    SUFFIXES,
    database_cases,
    database_runs,
    is_mlflow_database,
)
from outweigh.adapters.importers.mlflow_files import ARTIFACTS, META, TRACE, folder_cases, folder_run
from outweigh.adapters.importers.mlflow_table import is_evaluation_table, table_cases
from outweigh.errors import EvidenceError
from outweigh.ports.importers import ImportNotes

_PASSED_BY = frozenset({".git", "node_modules", ".venv", "venv"})
_RUN_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(slots=True)
class MlflowStore:
    """Runs by their ids, and their cases by run and place, so that a copy of either is seen."""

    runs: dict[str, EvaluationRun] = field(default_factory=dict)
    cases: dict[tuple[str, str], Case] = field(default_factory=dict)
    clashing: list[Case] = field(default_factory=list)
    doubled: int = 0
    unscored: int = 0
    named_runs: int = 0

    def add(self, cases: Iterable[Case], *, again: bool = False) -> None:
        """Keep each case once; `again` is for tables of what was read as traces already, which say less."""
        for case in cases:
            known = self.cases.setdefault((case.run_id, case.place), case)
            if known is case:
                continue
            if known == case or (again and case.trace_id is not None):
                self.doubled += 1
            else:
                self.clashing.append(case)

    def add_traces(self, traces: Iterable[list[Case]]) -> None:
        """Keep the cases of each trace; one that no evaluation scored has none."""
        for cases in traces:
            self.unscored += not cases
            self.add(cases)

    def name_run(self, run: EvaluationRun) -> None:
        """Keep what MLflow itself says about a run."""
        self.runs[run.run_id] = run
        self.named_runs += 1

    def name_table(self, cases: list[Case], called: str) -> None:
        """A table that lies in no run's folder names its run by its file, where it is of one."""
        runs = {case.run_id for case in cases}
        for run_id in runs:
            self.runs.setdefault(run_id, EvaluationRun(run_id=run_id, name=called if len(runs) == 1 else run_id))


def is_mlflow(path: Path) -> bool:
    """A table, a database, or a folder with one of them or with traces."""
    if path.is_dir():
        return any(
            file.name == TRACE or is_evaluation_table(file) or is_mlflow_database(file)
            for file in files_below(path, _may_tell, passed_by=_PASSED_BY)
        )
    return is_evaluation_table(path) or is_mlflow_database(path)


def mlflow_store(path: Path, notes: ImportNotes) -> MlflowStore:
    """Databases and run folders first: they name the runs that tables belong to."""
    store = MlflowStore()
    if not path.is_dir():
        _add_file(store, path, path, notes)
        return store
    files = list(files_below(path, _may_hold, passed_by=_PASSED_BY))
    for file in sorted(files, key=is_evaluation_table):
        try:
            _add_file(store, file, path, notes)
        except EvidenceError as fault:
            notes.unread(file, 0, str(fault))
    return store


def _add_file(store: MlflowStore, file: Path, root: Path, notes: ImportNotes) -> None:
    if is_mlflow_database(file):
        for run in database_runs(file):
            store.name_run(run)
        store.add_traces(database_cases(file))
    elif file.name == TRACE:
        store.add_traces([folder_cases(file, notes)])
    elif file.name == META and (said := folder_run(file, notes)) is not None:
        store.name_run(said)
    elif is_evaluation_table(file):
        _add_table(store, file, root, notes)


def _add_table(store: MlflowStore, file: Path, root: Path, notes: ImportNotes) -> None:
    run = _run_above(file, notes)
    called = file.relative_to(root).with_suffix("").as_posix() if root.is_dir() else file.stem
    rows = list(table_cases(file, None if run is None else run.run_id, called, notes))
    if run is not None:
        store.runs.setdefault(run.run_id, run)
    store.unscored += sum(not row for row in rows)
    cases = [case for row in rows for case in row]
    if run is None and store.named_runs and not all(case.trace_id for case in cases):
        notes.warn(f"{called} lies in no run's folder and is left out beside the runs themselves; name it alone.")
        return
    store.name_table(cases, called)
    store.add(cases, again=True)


def _run_above(file: Path, notes: ImportNotes) -> EvaluationRun | None:
    """The run in whose artifacts a table lies. Beside a database its folder says nothing more than the run's id."""
    folder = next((parent for parent in file.absolute().parents if parent.name == ARTIFACTS), None)
    if folder is None:
        return None
    meta, called = folder.with_name(META), folder.parent.name
    if meta.is_file():
        return folder_run(meta, notes)
    return EvaluationRun(run_id=called, name=called) if _RUN_ID.fullmatch(called) else None


def _may_tell(file_name: str) -> bool:
    return file_name == TRACE or file_name.endswith((".json", *SUFFIXES))


def _may_hold(file_name: str) -> bool:
    return file_name == META or _may_tell(file_name)
