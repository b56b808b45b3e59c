"""What a table says about the outcome, in a column that also says how runs ended; and columns within objects."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from outweigh.interop.column_names import match_name
from outweigh.interop.table.importer import TableImporter
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.score.objective import passed
from outweigh.testing.importer_contract import read_all

TASKS = ("refactor", "cache", "deeplink", "parser")


def status_table(folder: Path, words: tuple[str, ...], column: str = "status") -> Path:
    path = folder / "runs.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("task_id", "arm", column))
        writer.writerows(
            (task, arm, word) for arm in ("plain", "notes") for task, word in zip(TASKS, words, strict=True)
        )
    return path


def imported(path: Path, **options: Any) -> tuple[list[RunRecord], ImportNotes]:
    found, notes = read_all(TableImporter(), path, **options)
    return [run for run in found if isinstance(run, RunRecord)], notes


@pytest.mark.parametrize("column", ["status", "Outcome", "result"])
def test_a_column_of_outcomes_may_say_how_some_runs_ended(tmp_path: Path, column: str) -> None:
    runs, notes = imported(status_table(tmp_path, ("passed", "failed", "timeout", "skipped"), column))

    assert [(run.status, passed(run).value) for run in runs[:4]] == [
        (Status.COMPLETED, 1),
        (Status.COMPLETED, 0),
        (Status.TIMEOUT, 0),
        (Status.NOT_RUN, None),
    ]
    assert notes.unreadable == []


def test_an_error_that_is_nobodys_is_an_unknown_outcome_and_said(tmp_path: Path) -> None:
    runs, notes = imported(status_table(tmp_path, ("passed", "failed", "passed", "error")))

    assert Counter(passed(run).value for run in runs) == {1: 4, 0: 2, None: 2}
    assert any("'error' does not say whether a run passed" in warning for warning in notes.warnings)


def test_a_column_that_the_user_names_may_say_how_runs_ended(tmp_path: Path) -> None:
    path = status_table(tmp_path, ("passed", "failed", "timed out", "passed"), "how it went")

    runs, _ = imported(path, columns={"success": "how it went"})

    assert Counter(run.status for run in runs) == {Status.COMPLETED: 6, Status.TIMEOUT: 2}


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ("meta.task.id", "task_id"),
        ("run.setup.name", "arm"),
        ("metrics.tokens.input", "input_tokens"),
        ("metrics.tokens.cached_read_tokens", "cache_read_tokens"),
        ("result.metrics.duration.seconds", "duration_seconds"),
    ],
)
def test_objects_that_say_nothing_are_no_part_of_a_name(column: str, field: str) -> None:
    assert field in {match.field for match in match_name(column)}


def test_input_is_unknown_where_two_columns_could_say_what_of_it_was_cached(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"task_id": task, "arm": arm, "success": True, "prompt_tokens": 900, "completion_tokens": 5}
        | {
            "cached_input_tokens": 800 if arm == "codex" else None,
            "cache_read_input_tokens": 7 if arm == "cc" else None,
        }
        for arm in ("codex", "cc")
        for task in TASKS
    ]
    path = tmp_path / "all runs.json"
    path.write_text(json.dumps([{"condition_id": row.pop("arm"), **row} for row in rows]))

    runs, notes = imported(path)

    assert {(run.usage.input_tokens, run.usage.output_tokens) for run in runs} == {(None, 5)}
    assert any("'prompt_tokens' may include what came from the cache" in warning for warning in notes.warnings)
