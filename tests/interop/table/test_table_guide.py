"""The error for a table without a mapping shows its columns, and a command that reads them."""

import json
from pathlib import Path
from typing import Any

from outweigh.interop.table.importer import mapping_help


def command(text: str) -> str:
    (line,) = [line.strip() for line in text.splitlines() if line.startswith("  outweigh ")]
    return line


def test_fields_of_objects_are_known_by_their_last_names() -> None:
    sample = {"task.id": "one", "config.name": "plain", "metrics.passed": True, "metrics.latency_ms": 12}

    assert command(mapping_help("runs.jsonl", sample, None, {})) == (
        "outweigh import table runs.jsonl -o RUNS --map task_id=task.id --map arm=config.name "
        "--map success=metrics.passed --map duration_ms=metrics.latency_ms"
    )


def test_a_last_name_that_two_columns_share_is_no_hint() -> None:
    sample = {"task": "one", "arm": "plain", "lint.passed": True, "tests.passed": False}

    assert command(mapping_help("runs.jsonl", sample, None, {})).endswith("--map task_id=task --map success=COLUMN")


def test_the_id_of_something_else_is_not_taken_for_the_runs() -> None:
    assert "run_id" not in mapping_help("runs.jsonl", {"task": "one", "config.id": 7, "passed": True}, None, {})


def test_a_table_of_one_arm_is_told_how_to_name_it() -> None:
    answer = mapping_help("runs.csv", {"task": "one", "passed": "yes"}, None, {})

    assert (
        command(answer) == "outweigh import table runs.csv -o RUNS --map task_id=task --map success=passed --arm NAME"
    )
    assert (
        "NAME: what to call the one arm of all these rows; where a column tells arms apart, --map arm=COLUMN" in answer
    )


def test_a_column_of_models_may_tell_arms_apart() -> None:
    answer = mapping_help("runs.csv", {"task": "one", "model": "m-1", "passed": "yes"}, None, {})

    assert "where a column tells arms apart, --map arm=model." in answer


def test_what_is_left_to_the_user_is_said_to_be() -> None:
    answer = mapping_help("runs.csv", {"Prüfung": "one", "Ergebnis": "ja"}, None, {})

    assert (
        command(answer) == "outweigh import table runs.csv -o RUNS --map task_id=COLUMN --map success=COLUMN --arm NAME"
    )
    assert "Going by their names" not in answer
    assert "COLUMN: yours to choose from these; leave success out where nothing says it" in answer


def test_what_the_user_said_already_is_kept() -> None:
    sample = {"task": "one", "suite": "s", "config": "plain", "condition": "b", "passed": "yes"}

    answer = mapping_help("runs.csv", sample, "one arm", {"task_id": "suite+task"})

    assert "--map task_id=suite+task" in command(answer)
    assert "--map task_id=task " not in command(answer)
    assert command(answer).endswith("--arm 'one arm'")
    assert "arm=" not in command(answer)


def test_other_words_for_a_task_are_known() -> None:
    for name in ("taskNumber", "scenario", "problem", "test_case"):
        assert f"--map task_id={name}" in mapping_help("runs.csv", {name: "one", "mode": "plain"}, None, {})


def test_of_many_columns_the_first_are_shown() -> None:
    answer = mapping_help("runs.csv", {"task": 1, "arm": 2} | {f"more {number}": 0 for number in range(100)}, None, {})

    assert "  more 57" in answer
    assert "  more 58" not in answer
    assert "  and 42 more" in answer


def test_what_the_values_tell_is_part_of_the_command(tmp_path: Path, outweigh: Any) -> None:
    path = tmp_path / "runs.jsonl"
    rows = [{"model": model, "task": f"t{task}", "score": 0.5} for model in ("opus", "haiku") for task in range(8)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    answer = outweigh("import", str(path), "-o", str(tmp_path / "runs"))

    assert answer.code == 3
    assert "which column says whether a run passed?" in answer.err
    assert command(answer.err).endswith("-o RUNS --map task_id=task --map arm=model --map success=COLUMN")
    assert "--map 'success=COLUMN>=0.8'" in answer.err
