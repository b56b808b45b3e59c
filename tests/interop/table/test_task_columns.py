"""Tasks of one name in several projects are several tasks, and the import says so and how to change it."""

from itertools import product
from pathlib import Path
from typing import Any

from tests.interop.table.test_arm_columns import table

from outweigh.interop.table.importer import TableImporter
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import read_all


def imported(path: Path, **options: Any) -> tuple[list[RunRecord], ImportNotes]:
    found, notes = read_all(TableImporter(), path, **options)
    return [run for run in found if isinstance(run, RunRecord)], notes


def functions(**more: tuple[str, ...]) -> list[dict[str, Any]]:
    """`main` and `usage` of two projects, done by two decompilers."""
    columns = {"decompiler": ("angr", "codex"), "project": ("bash", "zlib"), "function": ("main", "usage"), **more}
    return [
        dict(zip(columns, values, strict=True)) | {"perfect": number % 3 == 0}
        for number, values in enumerate(product(*columns.values()))
    ]


def test_functions_of_several_projects_are_several_tasks(tmp_path: Path) -> None:
    runs, notes = imported(table(tmp_path / "functions.csv", functions()))

    assert {run.trial.task_id for run in runs} == {"bash/main", "bash/usage", "zlib/main", "zlib/usage"}
    assert len({run.trial.repeat for run in runs}) == 1
    assert (
        "the same 'function' is in several of 'project', so together they name the task; --map task_id=function makes "
        "repeats of them."
    ) in notes.warnings


def test_one_column_can_be_asked_for(tmp_path: Path) -> None:
    path = table(tmp_path / "functions.csv", functions())

    runs, _ = imported(path, columns={"task_id": "function"})

    assert {run.trial.task_id for run in runs} == {"main", "usage"}


def test_repeats_are_not_taken_for_parts_of_the_task(tmp_path: Path) -> None:
    runs, _ = imported(table(tmp_path / "functions.csv", functions(trial=("1", "2"), night=("mon", "tue"))))

    assert len({run.trial.task_id for run in runs}) == 4


def test_what_differs_between_arms_is_no_part_of_the_task(tmp_path: Path) -> None:
    rows = [row | {"platform": f"for {row['decompiler']}"} for row in functions()]

    runs, _ = imported(table(tmp_path / "functions.csv", rows))

    assert {run.trial.task_id for run in runs} == {"bash/main", "bash/usage", "zlib/main", "zlib/usage"}


def test_of_two_columns_for_the_task_the_finer_one_is_taken(tmp_path: Path) -> None:
    rows = [
        {"question_id": f"q{number}", "task": "math" if number < 3 else "code", "model": model, "score": number % 2}
        for model in ("opus", "gpt")
        for number in range(6)
    ]

    runs, _ = imported(table(tmp_path / "judgments.csv", rows))

    assert {run.trial.task_id for run in runs} == {f"q{number}" for number in range(6)}
