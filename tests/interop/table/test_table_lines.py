"""Reading many rows at once gives what reading them cell by cell gives, or leaves them to that."""

import random
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from outweigh.interop.row_batch import LONGEST_LINE
from outweigh.interop.table.columns import MappedColumn, make_batch_reader, make_row_run, map_columns
from outweigh.interop.table_rows import TableRow
from outweigh.model.run_record import RunRecord
from outweigh.testing.builders import a_run

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


def encoded(*rows: dict[str, Any]) -> list[bytes]:
    return [msgspec.json.encode(row) + b"\n" for row in rows]


class Quickly(NamedTuple):
    """What became of some lines: a run, or the number of a line that was left to the reader of single lines."""

    columns: list[MappedColumn]
    found: list[Any]

    def as_cell_by_cell(self, rows: list[dict[str, Any]], arm: str | None = None) -> list[Any]:
        """The same lines, read one at a time."""
        return [
            number if number in self.found else make_row_run(TableRow(Path("t.jsonl"), number, row), self.columns, arm)
            for number, row in enumerate(rows, start=1)
        ]


def quickly(lines: list[bytes], names: dict[str, Any], arm: str | None = None, **asked: str) -> Quickly:
    columns = map_columns(asked, names)
    reader = make_batch_reader(columns, names.keys(), arm)
    assert reader is not None
    left: dict[str, int] = {}

    def closer_look(_: bytes, number: int) -> list[RunRecord]:
        mark = a_run(run_id=f"left {number}")
        left[mark.run_id] = number
        return [mark]

    blocks = [lines[start : start + 150] for start in range(0, len(lines), 150)]
    runs = [run for block in reader.read(blocks, closer_look) for run in block]
    return Quickly(columns, [left.get(run.run_id, run) for run in runs])


def test_plain_rows_are_read_in_one_go() -> None:
    rows = [PLAIN | {"run_id": f"run {number}", "repeat": number} for number in range(400)]

    quick = quickly(encoded(*rows), PLAIN)

    assert not any(isinstance(found, int) for found in quick.found)
    assert quick.found == quick.as_cell_by_cell(rows)


def test_odd_cells_are_read_alike_or_left_to_a_closer_look() -> None:
    rng = random.Random(0)
    rows = []
    for _ in range(3000):
        row = dict(PLAIN)
        for name in rng.sample(sorted(PLAIN), rng.choice((0, 1, 1, 2))):
            if rng.random() < 0.2:
                del row[name]
            else:
                row[name] = rng.choice(ODD)
        rows.append(row)

    quick = quickly(encoded(*rows), PLAIN)

    assert quick.found == quick.as_cell_by_cell(rows)
    left = sum(isinstance(found, int) for found in quick.found)
    assert 300 < left < 2000


@pytest.mark.parametrize("names", [{"class": 1, "note": 2}, {"_private": 1}, {"__own": 1}, {"two words": 1}, {"é": 1}])
def test_other_columns_are_kept_under_their_names_whatever_they_are(names: dict[str, Any]) -> None:
    plain = {"task_id": "greets", "arm": "plain"} | names
    rows = [plain, plain | dict.fromkeys(names), plain | dict.fromkeys(names, "")]

    for batch in (rows[:1], rows):
        quick = quickly(encoded(*batch), plain)
        assert quick.found == quick.as_cell_by_cell(batch)
    assert quick.found[0].extra == names


@pytest.mark.parametrize(
    "moment",
    [
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05.1234567+05:30",
        "2026-01-02 03:04:05",
        "20260102T030405Z",
        1.7e9,
        17e11,
    ],
)
def test_a_moment_is_the_same_alone_and_among_others(moment: object) -> None:
    rows = [PLAIN, PLAIN | {"started_at": moment}, PLAIN | {"started_at": None}]

    for batch in (rows[1:2], rows):
        quick = quickly(encoded(*batch), PLAIN)
        assert quick.found == quick.as_cell_by_cell(batch)


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"{",
        b"[]",
        b'{"task_id": "a", "arm": "b", "repeat": 1, "unseen": 1}',
        b'{"task_id": "a", "arm": "b"}',
        b'{"task_id": "a", "repeat": 1}',
        b'{"task_id": "a", "arm": "b", "repeat": NaN}',
        b'{"task_id": "\xff", "arm": "b", "repeat": 1}',
        b'{"task_id": "a", "arm": "b", "repeat": 1, "started_at": "soon"}',
        b'{"task_id": "a", "arm": "b", "repeat": 1, "model": "padded "}',
        b'{"task_id": "a", "arm": "b", "repeat": 1}{}',
        msgspec.json.encode(PLAIN | {"note": "x" * LONGEST_LINE}),
        msgspec.json.encode(PLAIN | {"task_id": "x" * 300, "arm": "y" * 300, "run_id": None}),
    ],
)
def test_every_other_row_is_left_to_a_closer_look(line: bytes) -> None:
    (plain,) = encoded(PLAIN)

    assert quickly([line], PLAIN).found == [1]
    assert [isinstance(found, int) for found in quickly([plain, plain, line, plain], PLAIN).found] == [0, 0, 1, 0]


def test_a_row_without_a_number_or_an_id_is_called_by_its_line() -> None:
    rows = [{"case": "greets", "arm": "plain"}] * 200

    quick = quickly(encoded(*rows), rows[0], task_id="case")

    assert quick.found == quick.as_cell_by_cell(rows)
    assert quick.found[170].run_id == "greets/plain/row 0000171"


@pytest.mark.parametrize("arm", ["mine", "m" * 700])
def test_a_row_without_an_arm_gets_the_one_that_was_named(arm: str) -> None:
    names: dict[str, Any] = {"task_id": "greets", "arm": "plain"}
    rows: list[dict[str, Any]] = [{"task_id": "greets"}, names, names | {"arm": None}]

    quick = quickly(encoded(*rows), names, arm)

    assert quick.found == quick.as_cell_by_cell(rows, arm)
    assert quickly(encoded(rows[0]), rows[0], arm).found == quick.found[:1]


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
    assert make_batch_reader(map_columns({"arm": "arm", **asked}, sample), row.keys(), None) is None
