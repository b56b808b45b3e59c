"""Arms that several columns tell apart together are read as such, and the import says so and how to change it."""

import csv
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from outweigh.errors import UsageError
from outweigh.interop.table.importer import TableImporter
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import read_all

TASKS = ("refactor", "cache", "deeplink")


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)
    return path


def crossed(**columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """Two runs of every task for every combination of the columns."""
    return [
        {"task_id": task, **dict(zip(columns, values, strict=True)), "success": (len(task) + number) % 2 == 0}
        for values in product(*columns.values())
        for task in TASKS
        for number in range(2)
    ]


def imported(path: Path, **options: Any) -> tuple[Counter[str], ImportNotes]:
    found, notes = read_all(TableImporter(), path, **options)
    return Counter(run.trial.arm for run in found if isinstance(run, RunRecord)), notes


def test_crossed_columns_are_together_the_arm(tmp_path: Path) -> None:
    rows = crossed(agent_id=("codex", "opus"), scenario=("shell", "mcp"))
    for row in rows:
        row["agent_kind"] = "codex_cli" if row["agent_id"] == "codex" else "claude_code"

    arms, notes = imported(table(tmp_path / "runs.csv", rows))

    assert arms == {"codex/shell": 6, "codex/mcp": 6, "opus/shell": 6, "opus/mcp": 6}
    (said,) = (each for each in notes.warnings if "together" in each)
    assert said == (
        "'agent_id', 'scenario' differ for the same task, so together they are the arm; "
        "--map arm=agent_id or --map arm=scenario takes one of them."
    )


def test_one_of_crossed_columns_can_be_asked_for(tmp_path: Path) -> None:
    path = table(tmp_path / "runs.csv", crossed(agent_id=("codex", "opus"), scenario=("shell", "mcp")))

    arms, notes = imported(path, columns={"arm": "scenario"})

    assert arms == {"shell": 12, "mcp": 12}
    assert not any("together" in each for each in notes.warnings)


def test_a_model_that_varies_within_a_condition_is_part_of_the_arm(tmp_path: Path) -> None:
    path = table(tmp_path / "runs.csv", crossed(condition=("plain", "skill"), model=("opus", "sonnet")))

    assert imported(path)[0] == {"plain/opus": 6, "plain/sonnet": 6, "skill/opus": 6, "skill/sonnet": 6}


def test_a_column_called_arm_is_the_arm_whatever_else_varies(tmp_path: Path) -> None:
    path = table(tmp_path / "runs.csv", crossed(arm=("plain", "skill"), model=("opus", "sonnet")))

    assert imported(path)[0] == {"plain": 12, "skill": 12}


def test_what_belongs_to_the_task_is_no_part_of_the_arm(tmp_path: Path) -> None:
    rows = [row | {"prompt": f"do {row['task_id']}"} for row in crossed(model=("opus", "sonnet"))]

    assert imported(table(tmp_path / "runs.csv", rows))[0] == {"opus": 6, "sonnet": 6}


def test_aliases_name_the_arms_even_where_models_say_more(tmp_path: Path) -> None:
    rows = crossed(alias=("Opus", "GPT"))
    for number, row in enumerate(rows):
        row["model"] = f"{row['alias'].lower()}-{number % 2}"

    assert imported(table(tmp_path / "runs.csv", rows))[0] == {"Opus": 6, "GPT": 6}


def test_columns_whose_combinations_occur_once_are_asked_about(tmp_path: Path) -> None:
    rows = [
        {"task_id": TASKS[number % 3], "agent_id": f"a{number % 4}", "version": f"v{number}", "success": 1}
        for number in range(12)
    ]
    rows += [row | {"version": f"w{number}"} for number, row in enumerate(rows)]

    with pytest.raises(UsageError, match="more than one column could be the arm") as raised:
        imported(table(tmp_path / "runs.csv", rows))

    assert "--map arm=agent_id" in str(raised.value)


def test_a_number_of_the_run_is_no_part_of_the_arm(tmp_path: Path) -> None:
    rows = [row | {"version": number % 2} for number, row in enumerate(crossed(agent_id=("codex", "opus")))]

    assert imported(table(tmp_path / "runs.csv", rows))[0] == {"codex": 6, "opus": 6}


def test_rows_that_the_author_set_apart_are_said_with_the_option_that_leaves_them_out(tmp_path: Path) -> None:
    rows = [row | {"baseline_run": False} for row in crossed(model=("opus", "sonnet"))]
    rows += [
        {"task_id": "baseline", "model": model, "success": True, "baseline_run": True} for model in ("opus", "sonnet")
    ]
    path = table(tmp_path / "runs.csv", rows)

    _, notes = imported(path)
    kept, without = imported(path, where=(("baseline_run", "false"),))

    said = "2 of 14 rows have baseline_run=true and are read as runs like the others; --where baseline_run=false"
    assert any(each.startswith(said) for each in notes.warnings)
    assert kept == {"opus": 6, "sonnet": 6}
    assert not any("baseline_run" in each for each in without.warnings)


def test_a_column_of_bad_times_is_one_warning(tmp_path: Path) -> None:
    rows = [row | {"started_at": number} for number, row in enumerate(crossed(model=("opus", "sonnet")))]

    _, notes = imported(table(tmp_path / "runs.csv", rows), columns={"started_at": "started_at"})

    assert [each for each in notes.warnings if "are no time" in each] == [
        "started_at has values that are no time, such as '0'; it is unknown there."
    ]
