"""Reading a row in one go gives what reading it cell by cell gives, or nothing."""

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from outweigh.adapters.importers.table_lines import LONGEST_LINE, ReadLine, line_reader
from outweigh.adapters.importers.table_map import Column, columns_by_field
from outweigh.adapters.importers.table_run import row_run
from outweigh.adapters.importers.table_source import TableRow

PLAIN: dict[str, Any] = {
    "task_id": "greets",
    "arm": "plain",
    "run_id": "one",
    "repeat": 1,
    "success": True,
    "started_at": "2026-01-02T03:04:05+02:00",
    "duration_seconds": 61.5,
    "cost_usd": 0.25,
    "input_tokens": 10,
    "output_tokens": 20,
    "cache_read_tokens": 30,
    "cache_write_tokens": 40,
    "step_count": 5,
    "tool_call_count": 6,
    "model": "big",
    "agent": "codex",
    "agent_version": "1.2",
    "note": "kept",
    "more": {"deep": [1, None]},
}
ODD: tuple[Any, ...] = (None, "", " padded ", "nan", 0, 1, -1, 1.0, 2.5, 10**16, True, False, [], [1], {}, "x" * 600)


def columns_of(row: dict[str, Any], **asked: str) -> list[Column]:
    return columns_by_field(asked, row)


def quick_reader(row: dict[str, Any], **asked: str) -> ReadLine:
    found = line_reader(columns_of(row, **asked), row.keys(), None)
    assert found is not None
    return found


def test_a_plain_row_is_read_in_one_go() -> None:
    run = quick_reader(PLAIN)(msgspec.json.encode(PLAIN) + b"\n", 1)

    assert run is not None
    assert run == row_run(TableRow(Path("t.jsonl"), 1, PLAIN), columns_of(PLAIN), None)


def test_odd_cells_are_read_alike_or_left_to_a_closer_look() -> None:
    chance, read, columns = random.Random(0), quick_reader(PLAIN), columns_of(PLAIN)
    agreed = 0
    for number in range(1, 3001):
        row = dict(PLAIN)
        for name in chance.sample(sorted(PLAIN), 2):
            if chance.random() < 0.2:
                del row[name]
            else:
                row[name] = chance.choice(ODD)
        run = read(msgspec.json.encode(row) + b"\n", number)
        if run is not None:
            assert run == row_run(TableRow(Path("t.jsonl"), number, row), columns, None), row
            agreed += 1
    assert agreed > 300


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b'{"task_id": "a", "arm": "b", "repeat": 1, "unseen": 1}',
        b'{"task_id": "a", "arm": "b"}',
        b'{"task_id": "a", "repeat": 1}',
        b'{"task_id": "a", "arm": "b", "repeat": NaN}',
        b'{"task_id": "\xff", "arm": "b", "repeat": 1}',
        msgspec.json.encode(PLAIN | {"note": "x" * LONGEST_LINE}),
    ],
)
def test_every_other_row_is_left_to_a_closer_look(line: bytes) -> None:
    assert quick_reader(PLAIN)(line, 1) is None


def test_a_row_without_a_number_or_an_id_is_called_by_its_line() -> None:
    row = {"case": "greets", "arm": "plain"}

    run = quick_reader(row, task_id="case")(msgspec.json.encode(row), 12)

    assert run is not None
    assert run == row_run(TableRow(Path("t.jsonl"), 12, row), columns_of(row, task_id="case"), None)


@pytest.mark.parametrize(
    ("row", "asked"),
    [
        ({"a": "x", "b": "y", "arm": "z"}, {"task_id": "a+b"}),
        ({"a": {"b": "y"}, "arm": "z"}, {"task_id": "a.b"}),
        ({"task_id": "y", "arm": "z", "status": "done"}, {}),
        ({"task_id": "y", "arm": "z"}, {"model": "arm"}),
        ({"task_id": "y", "arm": "z", 'odd"name': 1}, {}),
    ],
)
def test_columns_that_have_to_be_worked_out_have_no_quick_way(row: dict[str, Any], asked: dict[str, str]) -> None:
    sample = {name: value for name, value in row.items() if name != "a"} | {"a.b": "y", "a": "x", "b": "y"}
    assert line_reader(columns_by_field({"arm": "arm", **asked}, sample), row.keys(), None) is None
