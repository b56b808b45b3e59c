"""Rows are numbered as the runs are by their ids, whether they stand in order or not, in blocks and by themselves."""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from outweigh.interop.imported_run import UnnumberedRun, imported_run, number_repeats
from outweigh.interop.table.importer import TableImporter
from outweigh.interop.table.row_repeats import WAITING_ROWS, NumbersByPlace, RowNumbers, Runs
from outweigh.model.run_columns import RunColumns
from outweigh.model.run_record import REPEAT_LABEL, RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import import_request

START = datetime(2026, 1, 1, tzinfo=UTC)


def some_runs(times: str, names: str) -> list[RunRecord]:
    rng = random.Random(0)
    ids = [f"row {number:07}" for number in range(500)]
    if names == "mixed":
        rng.shuffle(ids)
    moments: dict[str, list[datetime | None]] = {
        "none": [None] * 500,
        "rising": [START + timedelta(seconds=number) for number in range(500)],
        "mixed": [rng.choice((None, START, START + timedelta(seconds=rng.randrange(99)))) for _ in ids],
    }
    return [
        imported_run(run_id=name, task_id=f"task {rng.randrange(150)}", arm=rng.choice("ab"), repeat=0, started_at=time)
        for name, time in zip(ids, moments[times], strict=True)
    ]


def as_columns(runs: list[RunRecord]) -> RunColumns:
    return RunColumns(
        imported_run(run_id="", task_id="", arm="", repeat=0),
        {
            "run_id": [run.run_id for run in runs],
            "trial.task_id": [run.trial.task_id for run in runs],
            "trial.arm": [run.trial.arm for run in runs],
            "trial.repeat": [0] * len(runs),
            "started_at": [run.started_at for run in runs],
        },
        {},
    )


@pytest.mark.parametrize("times", ["none", "rising", "mixed"])
@pytest.mark.parametrize("names", ["rising", "mixed"])
def test_rows_get_the_numbers_that_their_ids_get(times: str, names: str) -> None:
    runs = some_runs(times, names)
    expected = number_repeats(
        UnnumberedRun(run.run_id, run.trial.task_id, run.trial.arm, run.started_at) for run in runs
    )
    blocks: list[Runs] = [as_columns(runs[:200]), runs[200:210], as_columns(runs[210:])]

    numbers = RowNumbers(lambda: blocks)
    numbered = [run for block in blocks for run in numbers.give(block) or ()]

    assert [(run.run_id, run.trial.repeat) for run in numbered] == [
        (run.run_id, expected[run.run_id][0]) for run in runs
    ]
    assert [REPEAT_LABEL in run.extra for run in numbered] == [expected[run.run_id].arbitrary for run in runs]
    assert {REPEAT_LABEL in run.extra for run in numbered} == {True, False}


def test_rows_that_came_after_the_numbers_were_given_have_none() -> None:
    runs = some_runs("none", "rising")

    assert RowNumbers(lambda: [runs[:10]]).give(as_columns(runs)) is None


ODD_LINES = (b"{torn\n", b"[1]\n", b"\n", b'{"task_id": " t1 ", "arm": "a", "success": true}\n', b'{"arm": "a"}\n')
LONG_NAME = json.dumps({"task_id": "t" * 510, "arm": "a", "success": True}).encode() + b"\n"


@pytest.mark.parametrize("odd", [(), ODD_LINES, (*ODD_LINES, LONG_NAME)], ids=["plain", "odd lines", "long name"])
@pytest.mark.parametrize("arm", [None, "all"])
def test_rows_without_names_and_times_get_the_numbers_that_their_ids_get(
    tmp_path: Path, odd: tuple[bytes, ...], arm: str | None
) -> None:
    rng = random.Random(3)
    rows = [{"task_id": f"t{rng.randrange(1500)}", "success": rng.random() < 0.5} for _ in range(3000)]
    named = rows if arm else [row | {"arm": rng.choice("ab")} for row in rows]
    lines = [json.dumps(row).encode() + b"\n" for row in named]
    for line in odd * 2:
        lines.insert(rng.randrange(300, len(lines)), line)
    table = tmp_path / "table.jsonl"
    table.write_bytes(b"".join(lines))

    runs = [*TableImporter().read(import_request(table, arm=arm), ImportNotes())]

    expected = number_repeats(UnnumberedRun(run.run_id, run.trial.task_id, run.trial.arm, None) for run in runs)
    assert len(runs) >= len(rows)
    assert {run.run_id: (run.trial.repeat, REPEAT_LABEL in run.extra) for run in runs} == expected


@pytest.mark.parametrize("waiting", ["few rows", "more than can wait"])
@pytest.mark.parametrize("odd", [(), (LONG_NAME,)], ids=["plain", "long name at the end"])
def test_rows_of_a_large_table_get_the_numbers_that_their_ids_get(
    tmp_path: Path, waiting: str, odd: tuple[bytes, ...]
) -> None:
    tasks = 300 if waiting == "few rows" else WAITING_ROWS + 5000
    rows = [{"task_id": f"t{number % tasks}", "arm": "a"} for number in range(2 * tasks)]
    rows.insert(tasks, {"task_id": "alone", "arm": "a"})
    lines = [msgspec.json.encode(row | {"success": True}) + b"\n" for row in rows]
    table = tmp_path / "table.jsonl"
    table.write_bytes(b"".join((*lines, *odd, *odd)))

    runs = [*TableImporter().read(import_request(table), ImportNotes())]

    expected = number_repeats(UnnumberedRun(run.run_id, run.trial.task_id, run.trial.arm, None) for run in runs)
    assert len(runs) == len(rows) + 2 * len(odd)
    assert {run.run_id: (run.trial.repeat, REPEAT_LABEL in run.extra) for run in runs} == expected


def test_a_table_that_grew_after_its_rows_were_counted_is_noticed() -> None:
    tasks = [f"task {number}" for number in range(WAITING_ROWS + 1)]
    runs = as_columns(some_runs("none", "rising"))
    all_alone = RunColumns(
        runs.alike,
        dict.fromkeys(("run_id", "trial.task_id"), tasks)
        | {"trial.arm": ["a"] * len(tasks), "trial.repeat": [0] * len(tasks)},
        {},
    )
    numbers = NumbersByPlace(lambda: dict.fromkeys(((task, "a") for task in tasks), 1), lambda: RowNumbers(lambda: []))

    given = [*numbers.give([all_alone, runs])]

    assert None in given
