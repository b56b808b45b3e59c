"""ProjectScylla's tables: `runs.csv` as runs, and the `judges.csv` and `criteria.csv` beside it as judgments."""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.identity import stable_id
from outweigh.adapters.importers.imported_run import agent, imported_run, kept_fields, outcome
from outweigh.adapters.importers.scylla_judgments import RUN_COLUMNS, scylla_judgments, scylla_run_id
from outweigh.adapters.importers.scylla_names import family_of
from outweigh.adapters.importers.source_text import head
from outweigh.adapters.importers.table_cell import known, quantity, truth, whole_number
from outweigh.adapters.importers.table_source import TableRow, table_rows
from outweigh.errors import EvidenceError
from outweigh.ports.importers import ImportNotes
from outweigh.record.cost import reported_cost
from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord
from outweigh.record.status import Status
from outweigh.record.usage import Usage

_RUNS, _JUDGES, _CRITERIA = "runs.csv", "judges.csv", "criteria.csv"
_KEPT = ("score", "impl_rate", "grade", "duration_seconds", "judge_duration_seconds")


def _exit_code(text: str) -> int:
    """A whole number, below 0 where a signal ended the program."""
    if re.fullmatch(r"\s*-?\d{1,10}(\.0)?\s*", text) is None:
        raise ValueError("which is no exit code")
    return int(float(text))


_READINGS = {
    "passed": known(truth),
    "exit_code": known(_exit_code),
    **dict.fromkeys(("cost_usd", "agent_duration_seconds"), known(quantity)),
    **dict.fromkeys(
        ("run_number", "input_tokens", "output_tokens", "cache_creation_tokens", "cache_read_tokens"),
        known(whole_number),
    ),
}


def is_scylla_table(path: Path) -> bool:
    """By the columns that tie the tables together."""
    start = head(_runs_table(path), 4096).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    try:
        columns = next(csv.reader(io.StringIO(start.partition("\n")[0])), [])
    except csv.Error:  # not a table at all
        return False
    return {*RUN_COLUMNS, *_READINGS} <= set(columns)


def table_records(path: Path, notes: ImportNotes) -> Iterator[RunRecord | Judgment]:
    """Runs first, then what judges said of them; a judgment of no run among them is left out, with a note."""
    table = _runs_table(path)
    if not table.is_file():
        raise EvidenceError(
            f"{path} has neither {_RUNS} nor a run_result.json; name the folder with the tables of an analysis, or "
            "that of an experiment."
        )
    known_runs: set[str] = set()
    for row in table_rows(table, notes):
        try:
            run = _run(row)
        except ValueError as fault:
            notes.unread(row.file, row.line, str(fault))
            continue
        known_runs.add(run.run_id)
        yield run
    there = [name for name in (_JUDGES, _CRITERIA) if (table.parent / name).is_file()]
    if len(there) == 2:
        yield from _judgments(table.parent, known_runs, notes)
    else:
        notes.warn(f"there are no judgments: they need {_JUDGES} and {_CRITERIA} beside {table}.")


def _runs_table(path: Path) -> Path:
    return path / _RUNS if path.is_dir() else path


def _judgments(folder: Path, known_runs: set[str], notes: ImportNotes) -> Iterator[Judgment]:
    for number, judgment in enumerate(scylla_judgments(folder), start=1):
        if judgment.run_id in known_runs:
            yield judgment
        else:
            notes.unread(folder / _JUDGES, 0, f"judgment {number} is of {judgment.run_id!r}, which is no run here")


def _run(row: TableRow) -> RunRecord:
    cells = row.cells
    if missing := [column for column in (*RUN_COLUMNS, *_READINGS) if column not in cells]:
        raise EvidenceError(f"{row.file} has no column {missing[0]!r}; is it a table of ProjectScylla?")
    if empty := [column for column in RUN_COLUMNS if not cells[column].strip()]:
        raise ValueError(f"it does not say its {empty[0]}")
    said = {column: _cell(cells, column) for column in _READINGS}
    experiment, model, tier, subtest, number = (cells[column] for column in RUN_COLUMNS)
    if said["run_number"] is None:
        raise ValueError(f"run_number is {number!r}, which is no count")
    failed = said["exit_code"] not in (0, None)
    return imported_run(
        run_id=stable_id(scylla_run_id(cells)),
        task_id=stable_id(experiment),
        arm=stable_id(model, tier, subtest),
        repeat=said["run_number"],
        status=Status.AGENT_ERROR if failed else Status.COMPLETED,
        status_detail=f"exit code {said['exit_code']}" if failed else None,
        agent=agent(model=stable_id(model)),
        family=family_of(experiment),
        duration_seconds=said["agent_duration_seconds"],
        usage=Usage(
            input_tokens=said["input_tokens"],
            output_tokens=said["output_tokens"],
            cache_read_tokens=said["cache_read_tokens"],
            cache_write_tokens=said["cache_creation_tokens"],
        ),
        cost=reported_cost(said["cost_usd"]),
        checks=(outcome("passed", said["passed"], "what its judges agreed on"),),
        extra=kept_fields({column: cells.get(column) for column in _KEPT}),
    )


def _cell(cells: Mapping[str, Any], column: str) -> Any:
    try:
        return _READINGS[column](cells[column])
    except ValueError as fault:
        raise ValueError(f"{column} is {cells[column][:60]!r}, {fault}") from None
