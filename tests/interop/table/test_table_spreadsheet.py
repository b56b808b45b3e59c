"""Tables as spreadsheets save them: decimal commas, currency signs, localised booleans, and byte order marks."""

from pathlib import Path
from typing import Any

import pytest

from outweigh.errors import EvidenceError
from outweigh.interop.table.importer import TableImporter
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import read_all


def read(path: Path) -> tuple[list[RunRecord], ImportNotes]:
    found, notes = read_all(TableImporter(), path)
    return [run for run in found if isinstance(run, RunRecord)], notes


def read_cell(tmp_path: Path, column: str, cell: str) -> tuple[list[RunRecord], ImportNotes]:
    path = tmp_path / "runs.csv"
    path.write_text(f"task_id;arm;{column}\nadds;plain;{cell}\n")
    return read(path)


def value(run: RunRecord, column: str) -> Any:
    known = {
        "cost_usd": run.cost.usd,
        "output_tokens": run.usage.output_tokens,
        "duration_seconds": run.duration_seconds,
    }
    return known[column]


@pytest.mark.parametrize(
    ("column", "cell", "expected"),
    [
        ("cost_usd", "0,2115", 0.2115),
        ("cost_usd", "0,211", 0.211),
        ("cost_usd", "12,5", 12.5),
        ("duration_seconds", "1234,5", 1234.5),
        ("duration_seconds", "1234,567", 1234.567),
        ("cost_usd", "$0.21", 0.21),
        ("cost_usd", "0,21 $", 0.21),
        ("cost_usd", "0.21 USD", 0.21),
    ],
)
def test_a_number_that_can_mean_one_thing_is_read(tmp_path: Path, column: str, cell: str, expected: float) -> None:
    (run,), _ = read_cell(tmp_path, column, cell)

    assert value(run, column) == expected


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("cost_usd", "1,000"),
        ("duration_seconds", "182,320"),
        ("output_tokens", "1,000"),
        ("output_tokens", "42.000"),
        ("output_tokens", "1.042.000"),
    ],
)
def test_a_number_that_may_have_thousands_is_refused_with_the_way_out(tmp_path: Path, column: str, cell: str) -> None:
    runs, notes = read_cell(tmp_path, column, cell)

    assert runs == []
    (unread,) = notes.unreadable
    assert "thousands" in unread.reason


@pytest.mark.parametrize("cell", ["€0.21", "0,21 EUR", "$"])
def test_what_are_no_dollars_is_refused(tmp_path: Path, cell: str) -> None:
    runs, notes = read_cell(tmp_path, "cost_usd", cell)

    assert runs == []
    assert "which is no amount of US dollars" in notes.unreadable[0].reason


@pytest.mark.parametrize(("cell", "passed"), [("WAHR", True), ("FALSCH", False), ("VRAI", True), ("Falso", False)])
def test_words_for_true_of_other_languages_are_known(tmp_path: Path, cell: str, passed: bool) -> None:
    (run,), _ = read_cell(tmp_path, "success", cell)

    assert run.checks is not None
    assert run.checks[0].passed is passed


def test_a_score_is_refused_with_the_words_that_would_do(tmp_path: Path) -> None:
    _, notes = read_cell(tmp_path, "success", "0.5")

    assert "neither a pass nor a failure; say 1 or 0, true or false, yes or no" in notes.unreadable[0].reason


def test_the_line_that_names_the_separator_is_no_header(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_bytes(b"\xef\xbb\xbfsep=;\r\ntask_id;arm;success\r\nadds;plain;1\r\nhas, a comma;plain;0\r\n")

    runs, notes = read(path)

    assert [run.trial.task_id for run in runs] == ["adds", "has, a comma"]
    assert notes.unreadable == []


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["runs.csv", "runs.json"])
def test_utf_16_is_refused_with_the_way_out(tmp_path: Path, name: str, encoding: str) -> None:
    path = tmp_path / name
    path.write_bytes("\ufefftask_id\tarm\r\nadds\tplain\r\n".encode(encoding))

    with pytest.raises(EvidenceError, match=r"is UTF-16.*; save it as UTF-8"):
        read(path)


def test_rows_that_were_emptied_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("task_id;arm;success\nadds;plain;1\n;;\n  \n ; ;\n")

    runs, notes = read(path)

    assert len(runs) == 1
    assert notes.unreadable == []


@pytest.mark.parametrize(
    ("column", "cell", "way_out"),
    [
        ("duration_seconds", "1m30s", "write a number without its unit"),
    ],
)
def test_what_cannot_be_read_says_how_to_write_it(tmp_path: Path, column: str, cell: str, way_out: str) -> None:
    _, notes = read_cell(tmp_path, column, cell)

    assert way_out in notes.unreadable[0].reason
