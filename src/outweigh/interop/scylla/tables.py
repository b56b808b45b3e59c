"""ProjectScylla's tables: `runs.csv` as runs; `judges.csv` and `criteria.csv` beside it as judgments.

`judges.csv` has the totals that the judges stated, `criteria.csv` their parts.
"""

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from outweigh.errors import EvidenceError
from outweigh.interop.field_values import CellReader, read_amount, read_bool, read_count, unless_unknown
from outweigh.interop.imported_run import extra_fields, imported_run, outcome_check, real_agent, stable_id
from outweigh.interop.result_files import read_head
from outweigh.interop.scylla.run_folder import run_labels, test_of_experiment
from outweigh.interop.table_rows import TableRow, table_rows
from outweigh.model.failure import Status
from outweigh.model.judgment import CriterionScore, JudgeIdentity, Judgment
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST, Usage, reported_cost
from outweigh.ports.importers import ImportNotes
from outweigh.report.formatting import count_of

_CsvRow = Mapping[str, str]

SCYLLA_RUN_COLUMNS = ("experiment", "agent_model", "tier", "subtest", "run_number")
SCYLLA_JUDGE_COLUMNS = (*SCYLLA_RUN_COLUMNS, "judge_model", "judge_number")
_POINT_COLUMNS = ("criterion_achieved", "criterion_max")
_RUNS_FILE, _JUDGES_FILE, _CRITERIA_FILE = "runs.csv", "judges.csv", "criteria.csv"
_NOT_FINITE = re.compile(r"\s*[+-]?(nan|inf|infinity)\s*", re.IGNORECASE)
_SHOWN_REASONS = 3


class CriterionPoints(NamedTuple):
    """The points of one criterion; None if the judge gave none."""

    criterion: str
    achieved: float | None
    most: float | None
    evidence: str | None = None


def scylla_run_id(row: _CsvRow) -> str:
    """The id that connects the rows of all tables with a run."""
    return "/".join(row[column] for column in SCYLLA_RUN_COLUMNS)


class UnusableData:
    """Cells without a finite number where one is meant, and judgments that cannot be used, counted for the reader."""

    def __init__(self) -> None:
        self._cells: Counter[tuple[str, str]] = Counter()
        self._judgments: Counter[str] = Counter()
        self._usable = 0

    def look_at(self, file: str, row: _CsvRow, columns: Sequence[str]) -> None:
        """Count the cells of a row that say `nan` or `inf`; an empty one says that there is nothing."""
        for column in columns:
            if _NOT_FINITE.fullmatch(row.get(column) or ""):
                self._cells[file, column] += 1

    def count(self, judgment: Judgment) -> None:
        """Count a judgment by the reason why it is invalid."""
        if judgment.invalid_reason is None:
            self._usable += 1
        else:
            self._judgments[judgment.invalid_reason] += 1

    def tell(self, notes: ImportNotes) -> None:
        """Report the counts once, at the end."""
        for (file, column), rows in self._cells.items():
            notes.warn(f"{file}: {column} is not a finite number in {count_of(rows, 'row')}, so it is unknown there.")
        if self._judgments:
            invalid, reasons = self._judgments.total(), self._judgments.most_common(_SHOWN_REASONS)
            more = "" if len(self._judgments) <= _SHOWN_REASONS else "; …"
            shown = "; ".join(f"{number:,} {reason}" for reason, number in reasons)
            notes.warn(
                f"{invalid:,} of {count_of(self._usable + invalid, 'judgment')} cannot be used and count as missing, "
                f"never as 0: {shown}{more}."
            )


def read_judgments(folder: Path, faults: UnusableData | None = None) -> Iterator[Judgment]:
    """Every judgment with its criteria. What the project marked as invalid, or has no criteria, stays invalid.

    A criterion's weight is its number of points, and its score the share that was achieved; the rounded scores in the
    tables are not used. The same model asked again about a run is its next pass.
    """
    faults = faults or UnusableData()
    parts: dict[tuple[str, ...], list[_CsvRow]] = defaultdict(list)
    for row in _csv_rows(folder / _CRITERIA_FILE, (*SCYLLA_JUDGE_COLUMNS, "criterion", *_POINT_COLUMNS)):
        faults.look_at(_CRITERIA_FILE, row, _POINT_COLUMNS)
        parts[_judge_key(row)].append(row)
    passes: Counter[tuple[str, str]] = Counter()
    for row in _csv_rows(folder / _JUDGES_FILE, (*SCYLLA_JUDGE_COLUMNS, "judge_score", "judge_is_valid")):
        run_id, model = scylla_run_id(row), row["judge_model"]
        faults.look_at(_JUDGES_FILE, row, ("judge_score",))
        passes[run_id, model] += 1
        judgment = _row_judgment(row, run_id, parts[_judge_key(row)], passes[run_id, model])
        faults.count(judgment)
        yield judgment


def make_judgment(
    *,
    run_id: str,
    model: str,
    pass_index: int,
    parts: Sequence[CriterionPoints],
    valid: bool,
    stated_total: float | None,
    trouble: str | None = None,
    judged_at: datetime | None = None,
) -> Judgment:
    """A judgment from a table or a folder. `trouble` is a known reason why it is invalid."""
    found = trouble or _what_is_wrong(parts, valid=valid)
    return Judgment(
        run_id=run_id,
        run_sha256=None,
        judge=JudgeIdentity(name=model, model=model, version=None, rubric_sha256=None, prompt_sha256=None),
        pass_index=pass_index,
        invalid_reason=found,
        criteria=() if found else tuple(map(_criterion, parts)),
        grading=None,
        stated_total=stated_total,
        confidence=None,
        attempts=None,
        warnings=(),
        usage=NO_USAGE,
        cost=UNKNOWN_COST,
        judged_at=judged_at,
        duration_seconds=None,
    )


def _row_judgment(row: _CsvRow, run_id: str, parts: Sequence[_CsvRow], pass_index: int) -> Judgment:
    return make_judgment(
        run_id=run_id,
        model=row["judge_model"],
        pass_index=pass_index,
        parts=[
            CriterionPoints(part["criterion"], _number(part["criterion_achieved"]), _number(part["criterion_max"]))
            for part in parts
        ],
        valid=row["judge_is_valid"].strip().lower() == "true",
        stated_total=_number(row["judge_score"]),
    )


def _what_is_wrong(parts: Sequence[CriterionPoints], *, valid: bool) -> str | None:
    if not valid:
        return "marked as invalid by the project"
    if not parts:
        return "no criteria are recorded"
    for part in parts:
        if part.achieved is not None and part.most is not None and not 0 <= part.achieved <= part.most:
            return f"criterion {part.criterion!r} has {part.achieved:g} of {part.most:g} points"
    return None


def _criterion(part: CriterionPoints) -> CriterionScore:
    if part.achieved is None or not part.most:
        return CriterionScore(criterion=part.criterion, weight=0.0, score=None, evidence=None)
    return CriterionScore(
        criterion=part.criterion, weight=part.most, score=part.achieved / part.most, evidence=part.evidence
    )


def _number(text: str) -> float | None:
    """A finite number; None for empty cells, `nan` and words."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e12 else None


def _judge_key(row: _CsvRow) -> tuple[str, ...]:
    return tuple(row[column] for column in SCYLLA_JUDGE_COLUMNS)


def _csv_rows(path: Path, columns: Sequence[str]) -> Iterator[_CsvRow]:
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            reader = csv.DictReader(stream)
            if missing := [column for column in columns if column not in (reader.fieldnames or ())]:
                raise EvidenceError(f"{path} has no column {missing[0]!r}; is it a table of ProjectScylla?")
            for row in reader:
                if None in row.values():
                    raise EvidenceError(f"{path}:{reader.line_num} has fewer columns than its header.")
                yield row
    except (OSError, UnicodeDecodeError, csv.Error) as fault:
        raise EvidenceError(f"{path} cannot be read: {fault}.") from fault


_EXTRA_COLUMNS = ("score", "impl_rate", "grade", "duration_seconds", "judge_duration_seconds")


def _exit_code(text: str) -> int:
    """A whole number; negative if a signal ended the program."""
    if re.fullmatch(r"\s*-?\d{1,10}(\.0)?\s*", text) is None:
        raise ValueError("which is not an exit code")
    return int(float(text))


_CELL_READERS = {
    "passed": unless_unknown(read_bool),
    "exit_code": unless_unknown(_exit_code),
    **dict.fromkeys(("cost_usd", "agent_duration_seconds"), unless_unknown(read_amount)),
    **dict.fromkeys(
        ("run_number", "input_tokens", "output_tokens", "cache_creation_tokens", "cache_read_tokens"),
        unless_unknown(read_count),
    ),
}


_NUMBER_COLUMNS = ("score", "impl_rate", *(column for column in _CELL_READERS if column != "passed"))


def is_scylla_table(path: Path) -> bool:
    """Whether a table has the columns that connect the project's tables."""
    start = read_head(_runs_table(path), 4096).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    try:
        columns = next(csv.reader(io.StringIO(start.partition("\n")[0])), [])
    except csv.Error:  # not a table
        return False
    return {*SCYLLA_RUN_COLUMNS, *_CELL_READERS} <= set(columns)


def read_tables(path: Path, notes: ImportNotes) -> Iterator[RunRecord | Judgment]:
    """Runs first, then judgments; a judgment of an unknown run is left out, with a note."""
    table = _runs_table(path)
    if not table.is_file():
        raise EvidenceError(
            f"{path} has neither {_RUNS_FILE} nor a run_result.json; name the folder with the tables of an analysis, "
            "or that of an experiment."
        )
    known_runs: set[str] = set()
    faults = UnusableData()
    for row in table_rows(table, notes):
        faults.look_at(_RUNS_FILE, row.cells, _NUMBER_COLUMNS)
        try:
            run = _run(row)
        except ValueError as fault:
            notes.unread(row.file, row.line, str(fault))
            continue
        known_runs.add(run.run_id)
        yield run
    there = [name for name in (_JUDGES_FILE, _CRITERIA_FILE) if (table.parent / name).is_file()]
    if len(there) == 2:
        yield from _known_judgments(table.parent, known_runs, faults, notes)
    else:
        notes.warn(f"there are no judgments: they need {_JUDGES_FILE} and {_CRITERIA_FILE} beside {table}.")
    faults.tell(notes)


def _runs_table(path: Path) -> Path:
    return path / _RUNS_FILE if path.is_dir() else path


def _known_judgments(
    folder: Path, known_runs: set[str], faults: UnusableData, notes: ImportNotes
) -> Iterator[Judgment]:
    for number, judgment in enumerate(read_judgments(folder, faults), start=1):
        if judgment.run_id in known_runs:
            yield judgment
        else:
            notes.unread(
                folder / _JUDGES_FILE, 0, f"judgment {number} is of {judgment.run_id!r}, which is not a run here"
            )


def _run(row: TableRow) -> RunRecord:
    cells = row.cells
    if missing := [column for column in (*SCYLLA_RUN_COLUMNS, *_CELL_READERS) if column not in cells]:
        raise EvidenceError(f"{row.file} has no column {missing[0]!r}; is it a table of ProjectScylla?")
    if empty := [column for column in SCYLLA_RUN_COLUMNS if not cells[column].strip()]:
        raise ValueError(f"it does not say its {empty[0]}")
    said = {column: _cell(cells, column) for column in _CELL_READERS}
    experiment, model, tier, subtest, number = (cells[column] for column in SCYLLA_RUN_COLUMNS)
    if said["run_number"] is None:
        raise ValueError(f"run_number is {number!r}, which is not a count")
    failed = said["exit_code"] not in (0, None)
    return imported_run(
        run_id=stable_id(scylla_run_id(cells)),
        task_id=stable_id(experiment),
        arm=stable_id(model, tier, subtest),
        repeat=said["run_number"],
        status=Status.AGENT_ERROR if failed else Status.COMPLETED,
        status_detail=f"exit code {said['exit_code']}" if failed else None,
        agent=real_agent(model=stable_id(model)),
        family=test_of_experiment(experiment),
        duration_seconds=said["agent_duration_seconds"],
        usage=Usage(
            input_tokens=said["input_tokens"],
            output_tokens=said["output_tokens"],
            cache_read_tokens=said["cache_read_tokens"],
            cache_write_tokens=said["cache_creation_tokens"],
        ),
        cost=reported_cost(said["cost_usd"]),
        checks=(outcome_check("passed", said["passed"], "what its judges agreed on"),),
        extra=extra_fields(
            run_labels(
                tier.strip(),
                _amount(cells, "score"),
                cells.get("grade", "").strip(),
                said["passed"],
                _amount(cells, "impl_rate"),
            )
            | {column: cells.get(column) for column in _EXTRA_COLUMNS}
        ),
    )


def _amount(cells: Mapping[str, Any], column: str) -> float | None:
    """What the project made of its judges' answers, where the table has it."""
    return _cell(cells, column, unless_unknown(read_amount)) if column in cells else None


def _cell(cells: Mapping[str, Any], column: str, reader: CellReader | None = None) -> Any:
    try:
        return (reader or _CELL_READERS[column])(cells[column])
    except ValueError as fault:
        raise ValueError(f"{column} is {cells[column][:60]!r}, {fault}") from None
