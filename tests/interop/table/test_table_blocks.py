"""A table that is stored by blocks leaves what it leaves run by run: the same lines, counts, notes and figures."""

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from outweigh.errors import EvidenceError
from outweigh.interop.table.importer import TableImporter
from outweigh.model.run_columns import RunColumns
from outweigh.ports.importers import ImportNotes
from outweigh.report.arms_table import ArmFigures, arms_payload
from outweigh.store.import_folder import ImportCounts, ImportFolder
from outweigh.testing.importer_contract import import_request, read_all

ODD: tuple[Any, ...] = (
    None,
    "",
    " padded ",
    "nan",
    0,
    -1,
    2.5,
    10**16,
    10**25,
    [1],
    {"deep": [None]},
    "x" * 600,
    "é😀\n",
)


def a_row(number: int, rng: random.Random) -> dict[str, Any]:
    return {
        "task_id": f"task {number // 2 % 20}",
        "arm": "ab"[number % 2],
        "repeat": number // 40,
        "run_id": f"run {number:05}",
        "success": rng.random() < 0.5,
        "started_at": f"2026-01-{rng.randrange(1, 29):02}T00:00:00Z",
        "duration_seconds": round(rng.random() * 100, 3),
        "cost_usd": round(rng.random(), 4) * (number % 2),
        "input_tokens": rng.randrange(10**6),
        "output_tokens": rng.randrange(10**4),
        "cache_read_tokens": rng.choice((None, 3)),
        "cache_write_tokens": 4,
        "model": rng.choice(("big", "small")),
        "note": "nightly",
    }


def table_lines(rng: random.Random, rows: int) -> list[bytes]:
    """Rows with some of these columns; some cells are odd, some lines no rows, and some rows stand there twice."""
    names = {"task_id", "arm", *rng.sample(sorted(a_row(0, rng)), rng.randrange(14))}
    share = rng.choice((0, 0.002, 0.1))
    found: list[bytes] = []
    for number in range(rows):
        row = {name: cell for name, cell in a_row(number, rng).items() if name in names}
        if rng.random() < share:
            row[rng.choice(sorted(names))] = rng.choice(ODD)
        found.append(rng.choice((b"", b"{torn", b"[1]")) if rng.random() < share / 5 else encoded(row))
        if rng.random() < share / 5:
            found.append(rng.choice(found))
    return found


def encoded(row: dict[str, Any]) -> bytes:
    """A row as JSON, which has no limit to its numbers."""
    return json.dumps(row).encode()


def stored(table: Path, folder: Path, *, by_blocks: bool) -> tuple[Any, ...]:
    """All that an import leaves behind, and how many runs came as columns."""
    notes, unfit, in_columns = ImportNotes(), list[tuple[str, str]](), 0
    importer = TableImporter()

    def counted() -> Any:
        nonlocal in_columns
        for found in importer.read_blocks(import_request(table), notes):
            in_columns += len(found) if isinstance(found, RunColumns) else 0
            yield found

    records = counted() if by_blocks else importer.read(import_request(table), notes)
    with ImportFolder(folder) as open_folder:
        counts = open_folder.write("runs-t.jsonl", records, lambda *each: unfit.append(each))
        arms = [ArmFigures(name=name, tally=tally) for name, tally in open_folder.arms.items()]
    lines = [file.read_bytes() for file in folder.glob("*.jsonl")]
    return (lines, plain(counts), arms_payload(arms), [each.tally.models for each in arms], notes, unfit), in_columns


def plain(counts: ImportCounts) -> list[Any]:
    return [
        *(counts.runs, counts.known_before, counts.arms, [*counts.arms], counts.tasks),
        *(counts.clashes, counts.rivals, counts.known_fields),
    ]


@pytest.mark.parametrize("seed", range(25))
def test_blocks_leave_the_same_as_single_runs(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    table = tmp_path / "t.jsonl"
    table.write_bytes(b"\n".join(table_lines(rng, rng.choice((1, 30, 3000)))) + b"\n")

    one_by_one, _ = stored(table, tmp_path / "runs", by_blocks=False)
    by_blocks, _ = stored(table, tmp_path / "blocks", by_blocks=True)

    assert by_blocks == one_by_one


def test_plain_rows_are_stored_as_columns_and_odd_ones_are_not(tmp_path: Path) -> None:
    table = tmp_path / "t.jsonl"
    rows = [a_row(number, random.Random(number)) for number in range(2000)]
    rows[1234]["input_tokens"] = "1200"
    table.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))

    _, in_columns = stored(table, tmp_path / "runs", by_blocks=True)

    assert in_columns == 1999


def test_a_table_that_is_read_into_the_same_folder_again_adds_nothing(tmp_path: Path) -> None:
    table = tmp_path / "t.jsonl"
    table.write_bytes(b"\n".join(table_lines(random.Random(1), 3000)))
    importer = TableImporter()
    known = []
    for name in ("runs-a.jsonl", "runs-b.jsonl"):
        with ImportFolder(tmp_path / "runs") as folder:
            counts = folder.write(name, importer.read_blocks(import_request(table), ImportNotes()), lambda *_: None)
        known.append((counts.runs > 0, counts.known_before > 0, counts.clashes))

    assert known == [(True, False, []), (False, True, [])]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_many_rows_at_once_are_the_runs_that_each_row_is_by_itself(tmp_path: Path, seed: int, suffix: str) -> None:
    rng = random.Random(seed)
    names = {"task_id", "arm", "note", *rng.sample(sorted(a_row(0, rng)), rng.randrange(14))}
    share = rng.choice((0, 0.002, 0.1))
    rows: list[Any] = []
    for number in range(1000):
        row = {name: cell for name, cell in a_row(number, rng).items() if name in names}
        for name in rng.sample(sorted(names - {"note"}), rng.random() < share):
            row[name] = rng.choice((*ODD, float("nan")))
        for name in rng.sample(sorted(names - {"task_id", "arm", "note"}), min(len(names) - 3, rng.random() < share)):
            del row[name]
        rows.append(row)
    table = tmp_path / f"table{suffix}"
    if suffix == ".json":
        table.write_text(json.dumps(rows))
    else:
        table.write_text("".join(json.dumps(row) + "\n" for row in rows))

    at_once, notes = read_all(TableImporter(), table)
    by_row, row_notes = read_all(TableImporter(), table, where=(("note", "nightly"),))

    assert at_once == by_row
    assert notes == row_notes
    assert len(at_once) > 800


def test_plain_rows_of_an_array_are_stored_as_columns(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    table.write_bytes(b"[" + b",".join(encoded(a_row(number, random.Random(number))) for number in range(300)) + b"]")

    (runs,) = TableImporter().read_blocks(import_request(table), ImportNotes())

    assert isinstance(runs, RunColumns)
    assert len(runs) == 300


def test_an_element_that_is_no_row_and_a_key_that_stands_twice_are_told_in_arrays_too(tmp_path: Path) -> None:
    rows = [encoded(a_row(number, random.Random(number))) for number in range(300)]
    odd, twice = tmp_path / "odd.json", tmp_path / "twice.json"
    odd.write_bytes(b"[" + b",".join([*rows, b"[1]", b"null"]) + b"]")
    twice.write_bytes(b"[" + b",".join([*rows, rows[7][:-1] + b', "success": null}']) + b"]")

    runs, notes = read_all(TableImporter(), odd)

    assert len(runs) == 300
    assert [(each.line, each.reason) for each in notes.unreadable] == [
        (301, "not a JSON object"),
        (302, "not a JSON object"),
    ]
    with pytest.raises(EvidenceError, match="'success' stands for two values"):
        read_all(TableImporter(), twice)
