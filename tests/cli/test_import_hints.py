"""What `outweigh import` says of a path that no importer recognises: the command that would read it."""

import csv
import shlex
from pathlib import Path
from shutil import copyfile
from typing import Any

import msgspec
import pytest

PROMPTFOO = Path("examples/promptfoo/output.json").resolve()
RECORDED = Path("examples/recorded/runs.jsonl").resolve()
NIGHTLY = Path("examples/table/nightly.csv").resolve()


def commands(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.startswith("  outweigh ")]


def test_what_is_in_a_folder_is_named_with_the_command_that_reads_it(outweigh: Any, tmp_path: Path) -> None:
    source = tmp_path / "my results"
    (source / "may").mkdir(parents=True)
    copyfile(PROMPTFOO, source / "may" / "output.json")
    copyfile(NIGHTLY, source / "nightly.csv")
    (source / "README.md").write_text("Notes")

    answer = outweigh("import", str(source), "-o", str(tmp_path / "runs"))

    assert answer.code == 2
    assert commands(answer.err) == [
        f"outweigh import table '{source}/nightly.csv' -o RUNS",
        f"outweigh import promptfoo '{source}/may/output.json' -o RUNS",
    ]


def test_a_folder_with_files_of_one_format_is_read_as_that(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    copyfile(PROMPTFOO, tmp_path / "results" / "one.json")

    answer = outweigh("import", str(tmp_path / "results"), "-o", str(tmp_path / "runs"))

    assert answer.code == 0
    assert "24 runs of 2 arms" in answer.out


def test_the_command_for_many_files_of_a_folder_names_them_all(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    copyfile(NIGHTLY, tmp_path / "results" / "nightly.csv")
    for number in range(9):
        copyfile(PROMPTFOO, tmp_path / "results" / f"{number}.json")

    answer = outweigh("import", str(tmp_path / "results"), "-o", str(tmp_path / "runs"))

    (command,) = (line for line in commands(answer.err) if " promptfoo " in line)
    assert command.count(".json") == 9
    assert command.endswith("8.json -o RUNS")


def test_a_folder_with_nothing_known_in_it_asks_for_the_format(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "notes.txt").write_text("nothing")

    answer = outweigh("import", str(tmp_path / "results"), "-o", str(tmp_path / "runs"))

    assert answer.code == 2
    assert "FORMAT being one of ablate, agent-crucible, aider-benchmark, aider-leaderboard, " in answer.err


@pytest.mark.parametrize("as_folder", [False, True], ids=["a file", "a folder"])
def test_our_own_records_need_no_import(outweigh: Any, tmp_path: Path, as_folder: bool) -> None:
    (tmp_path / "kept").mkdir()
    copyfile(RECORDED, tmp_path / "kept" / "runs.jsonl")
    path = tmp_path / "kept" if as_folder else tmp_path / "kept" / "runs.jsonl"

    answer = outweigh("import", str(path), "-o", str(tmp_path / "runs"))

    assert answer.code == 2
    assert f"outweigh verdict {path} --baseline ARM --candidate ARM" in answer.err
    assert "need no import" in answer.err


def test_our_own_parquet_needs_no_import_and_is_not_taken_for_a_table(outweigh: Any, tmp_path: Path) -> None:
    outweigh("store", "export", str(RECORDED), "-o", str(tmp_path / "runs.parquet"))

    answer = outweigh("import", str(tmp_path / "runs.parquet"), "-o", str(tmp_path / "runs"))

    assert answer.code == 2
    assert "need no import" in answer.err


def test_a_csv_file_is_taken_for_a_table_and_its_columns_are_said(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("import", str(NIGHTLY), "-o", str(tmp_path / "runs"))

    assert answer.code == 0
    assert "columns were chosen by their names and values: task_id=Task, arm=Config" in answer.err


def test_who_maps_columns_has_a_table(outweigh: Any, tmp_path: Path) -> None:
    rows = [{"task": row["Task"], "config": row["Config"]} for row in csv.DictReader(NIGHTLY.read_text().splitlines())]
    (tmp_path / "rows.json").write_bytes(msgspec.json.encode(rows))

    answer = outweigh(
        *("import", str(tmp_path / "rows.json"), "-o", str(tmp_path / "runs")),
        *("--map", "task_id=task", "--map", "arm=config"),
    )

    assert answer.code == 0
    assert "read as table" in answer.out


def test_rows_of_json_are_said_to_be_a_table_perhaps(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"case": 1, "system": "a"}\n')

    answer = outweigh("import", str(tmp_path / "rows.jsonl"), "-o", str(tmp_path / "runs"))

    assert answer.code == 2
    assert f"outweigh import table {tmp_path}/rows.jsonl -o RUNS" in answer.err


def test_a_folder_of_json_files_is_said_to_be_a_table_perhaps(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "each").mkdir()
    (tmp_path / "each" / "first.json").write_text('{"case": 1, "system": "a"}')

    answer = outweigh("import", str(tmp_path / "each"), "-o", str(tmp_path / "runs"))

    assert answer.code == 2
    assert f"Where each JSON file in it is a run: `outweigh import table {tmp_path}/each -o RUNS`" in answer.err


@pytest.mark.parametrize(("name", "sentence"), [("runs.csv.gz", "Unpack it first."), ("runs.xlsx", "as CSV")])
def test_what_has_to_be_turned_into_a_file_of_text_first_is_said(
    outweigh: Any, tmp_path: Path, name: str, sentence: str
) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04")

    answer = outweigh("import", str(tmp_path / name), "-o", str(tmp_path / "runs"))

    assert answer.code == 2
    assert sentence in answer.err
    assert "FORMAT" not in answer.err


def test_what_is_near_is_found_beside_many_other_folders(outweigh: Any, tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / "results" / f"a{number}" / "deep").mkdir(parents=True)
    copyfile(PROMPTFOO, tmp_path / "results" / "z.json")

    answer = outweigh("import", str(tmp_path / "results"), "-o", str(tmp_path / "runs"))

    assert f"{tmp_path}/results/z.json: 24 runs of 2 arms" in answer.out


def test_a_table_with_a_column_for_each_arm_is_read_by_the_commands_that_it_shows(
    outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    header = ("task", "difficulty", "big-2", "small-1")
    rows = [(f"t{number}", number % 3, number % 2, int(number < 3)) for number in range(8)]
    with (tmp_path / "wide.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])

    refused = outweigh("import", "wide.csv", "-o", "RUNS")
    shown = [command for command in commands(refused.err) if "COLUMN" not in command]
    *_, last = [outweigh(*shlex.split(command)[1:]) for command in shown]

    assert refused.code == 3
    assert shown == [
        "outweigh import table wide.csv -o RUNS --map task_id=task --map success=big-2 --arm big-2",
        "outweigh import table wide.csv -o RUNS --map task_id=task --map success=small-1 --arm small-1",
    ]
    assert last.code == 0
    assert [line.split()[:5] for line in last.out.splitlines() if line.startswith(("  big-2", "  small-1"))] == [
        ["big-2", "8", "8", "0", "4"],
        ["small-1", "8", "8", "0", "3"],
    ]
