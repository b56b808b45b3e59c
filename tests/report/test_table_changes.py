"""Every change of a table is named with its place, its old and its new value."""

import pytest

from outweigh.report.table_changes import MOST_CHANGES, table_changes


def changes(path: str, old: bytes, new: bytes) -> list[tuple[str, str, str]]:
    return [(each.where, each.old, each.new) for each in table_changes(path, old, new)]


def test_equal_bytes_have_no_change() -> None:
    assert changes("x.json", b"{}", b"{}") == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b'{"a": {"b": 1}}', b'{"a": {"b": 2}}', ("a.b", "1", "2")),
        (b'{"a": 1}', b"{}", ("a", "1", "nothing")),
        (b'{"gates": [{"name": "x", "low": 1}]}', b'{"gates": [{"name": "x", "low": 3}]}', ("gates[x].low", "1", "3")),
        (b"[1, 2]", b"[1]", ("[1]", "2", "nothing")),
        (b"[1]", b"[1.0]", ("[0]", "1", "1.0")),
        (b"[true]", b"[1]", ("[0]", "true", "1")),
        (b"[null]", b'["null"]', ("[0]", "null", "null")),
        (b"{", b"{}", ("line 1", "{", "{}")),
        (b"{ }", b"{}", ("its bytes", "3 bytes", "2 bytes")),
    ],
)
def test_a_value_of_json_is_named_by_its_key(old: bytes, new: bytes, expected: tuple[str, str, str]) -> None:
    assert changes("x.json", old, new) == [expected]


def test_a_cell_is_named_by_its_row_and_column() -> None:
    old, new = b"run,arm,cost\nr1,a,1\nr2,b,2\n", b"run,arm,cost\nr1,a,1\nr2,b,3\n"

    assert changes("x.csv", old, new) == [("row 3 (r2, b), cost", "2", "3")]


def test_a_line_of_a_page_is_shown_around_its_change() -> None:
    old, new = b"<p>same</p>\n" + b"x" * 5000 + b"58 %", b"<p>same</p>\n" + b"x" * 5000 + b"95 %"

    assert changes("x.html", old, new) == [("line 2", "x" * 40 + "58 %", "x" * 40 + "95 %")]


def test_a_long_list_of_changes_is_cut() -> None:
    assert len(table_changes("x.md", b"a\n" * 5000, b"b\n" * 5000)) == MOST_CHANGES
