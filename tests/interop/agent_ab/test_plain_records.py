"""Plain records that are read many at once are the runs that they are one by one."""

import json
import random
from pathlib import Path
from typing import Any

from outweigh.interop.agent_ab.importer import CollectedImporter
from outweigh.model.run_columns import RunColumns
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import import_request

ODD = (None, "", " padded ", -1, 2.5, 10**16, 10**25, True, [1], {"deep": [None]}, "x" * 600, "a\n", 'a "b": c')


def a_record(number: int) -> dict[str, Any]:
    return {
        "task_id": f"task {number // 2 % 9}",
        "arm": "ab"[number % 2],
        "repeat": number // 18,
        "success": number % 3 > 0,
        "duration_seconds": number + 0.5,
        "total_cost_usd": 0.01 * number,
        "input_tokens": number,
        "note": "nightly",
        "score": 0.25,
    }


def some_lines(share: float) -> list[str]:
    rng = random.Random(0)
    found = []
    for number in range(1, 1500):
        record = a_record(number)
        if rng.random() < share:
            name = rng.choice(sorted(record))
            record[name] = rng.choice(ODD)
            if rng.random() < 0.3:
                del record[rng.choice(sorted(record))]
        line = json.dumps(record)
        if rng.random() < share / 5:
            line = rng.choice(("", "{torn", "[1]", line[:-1] + ', "task_id": "again"}'))
        found.append(line)
    return found


def read(path: Path, first: str, lines: list[str]) -> tuple[list[Any], list[Any], int]:
    """The runs, the reasons of what was not read, and how many runs came as columns."""
    path.write_text("\n".join([first, *lines]) + "\n")
    notes, runs, in_columns = ImportNotes(), [], 0
    for found in CollectedImporter().read_blocks(import_request(path), notes):
        runs += found.records() if isinstance(found, RunColumns) else [found]
        in_columns += len(found) if isinstance(found, RunColumns) else 0
    return runs, [row.reason for row in notes.unreadable], in_columns


def test_records_are_the_same_runs_many_at_once_and_one_by_one(tmp_path: Path) -> None:
    plain, spread = json.dumps(a_record(0)), json.dumps(a_record(0), indent=1)
    for share in (0.0, 0.05):
        lines = some_lines(share)

        at_once = read(tmp_path / "collected.jsonl", plain, lines)
        one_by_one = read(tmp_path / "spread.jsonl", spread, lines)

        assert at_once[:2] == one_by_one[:2]
        assert (at_once[2] > 1000, one_by_one[2]) == (True, 0)


def test_a_record_that_is_spread_over_lines_after_plain_ones_is_read(tmp_path: Path) -> None:
    records = [a_record(number) for number in range(6)]
    spread = [*map(json.dumps, records[1:3]), json.dumps(records[3], indent=1), *map(json.dumps, records[4:])]

    runs, unread, in_columns = read(tmp_path / "collected.jsonl", json.dumps(records[0]), spread)

    assert [run.duration_seconds for run in runs] == [record["duration_seconds"] for record in records]
    assert (unread, in_columns) == ([], 3)


def test_records_that_say_more_than_a_table_are_read_one_by_one(tmp_path: Path) -> None:
    for more in ({"opencode_exit_code": 0}, {"started_at_utc": "2026-01-01T00:00:00Z"}, {"reused": True}):
        lines = [json.dumps(a_record(number) | more) for number in range(20)]

        runs, _, in_columns = read(tmp_path / "collected.jsonl", lines[0], lines[1:])

        assert (len(runs), in_columns) == (20, 0)
