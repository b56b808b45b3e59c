"""Runs that are packed into one line are the same records, byte for byte; a line that was changed is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.test_run_columns import CELLS, CHECKED, COLUMNS, NAMES, PLAIN, written

from outweigh.model.codec import InvalidLine, decode, decode_each, decode_lines, encode, refuse_invalid
from outweigh.model.line_seal import seal
from outweigh.model.packed_runs import pack_runs, unpack_runs
from outweigh.model.run_columns import RunColumns
from outweigh.testing.builders import a_run

TWO = RunColumns(CHECKED, NAMES | COLUMNS, {"note": ["x", None]})


def packed(runs: RunColumns) -> bytes:
    content = pack_runs(runs)
    assert content is not None
    return content


@given(
    st.sets(st.sampled_from(sorted({*COLUMNS} - {"cost.usd"}))),
    st.booleans(),
    st.dictionaries(st.text(), st.tuples(CELLS, CELLS), max_size=3),
)
def test_any_columns_come_back_as_the_records_that_they_stand_for(
    places: set[str], costs: bool, own: dict[str, tuple[Any, Any]]
) -> None:
    chosen = places | ({"cost.usd"} if costs else set())
    runs = RunColumns(CHECKED, NAMES | {place: COLUMNS[place] for place in chosen}, own)

    assert [*map(encode, decode_each(seal(packed(runs))))] == written(runs)


def test_lines_are_numbered_as_if_each_run_had_one_of_its_own() -> None:
    single = encode(a_run("t"))
    lines = [b"\n", seal(single), seal(packed(TWO)), b"{torn\n", seal(single)]
    faults: list[InvalidLine] = []

    found = [*decode_lines(lines, "f", faults.append)]

    assert [(each.line, encode(each.record)) for each in found] == [
        (2, single),
        *zip((3, 4), written(TWO), strict=True),
        (6, single),
    ]
    assert [fault.line for fault in faults] == [5]


def test_the_digests_of_packed_runs_are_those_of_their_lines() -> None:
    (one, other) = decode_lines([seal(packed(TWO))], "f", refuse_invalid)
    alone = [*decode_lines(map(seal, written(TWO)), "f", refuse_invalid)]

    assert [one.digest, other.digest] == [each.digest for each in alone]


def test_who_asks_for_one_record_of_many_is_told_so() -> None:
    with pytest.raises(ValueError, match="many runs are packed into the line; decode_lines reads them"):
        decode(seal(packed(TWO)))


@pytest.mark.parametrize(
    ("there", "instead", "reason"),
    [
        (b'"own":{', b'"own":{"note":[1,2],', "it was changed"),
        (b'"own":{', b'"own": {', "it was changed"),
        (b'"note":["x",null]', b'"note":["x"]', "not equally long"),
        (b'"trial.task_id":["', b'"trial.task_id":["","', "length >= 1"),
        (b'"trial.repeat":[0,', b'"trial.repeat":[-1,', ">= 0"),
        (b'"usage.output_tokens":[null,3]', b'"usage.output_tokens":[null,3.5]', "got `float`"),
        (b'"cost.usd":[0.1,', b'"cost.usd":[null,', "got `null`"),
        (b'"family":[', b'"colour":[', "unknown field"),
        (b'"checks":[{', b'"checks":[],"was":[{', "unknown field"),
        (b"outweigh.runs/1", b"outweigh.runs/2", "outweigh.runs/2"),
    ],
)
def test_a_line_that_is_not_as_it_was_written_is_refused(there: bytes, instead: bytes, reason: str) -> None:
    content = packed(TWO)
    assert content.count(there) == 1
    faults: list[InvalidLine] = []

    assert not [*decode_lines([content.replace(there, instead)], "f", faults.append)]

    assert [fault.line for fault in faults] == [1]
    assert reason in faults[0].reason


def test_a_damaged_line_is_refused_by_its_checksum() -> None:
    line = seal(packed(TWO))
    faults: list[InvalidLine] = []

    assert not [*decode_lines([line.replace(b'"codex"', b'"codey"')], "f", faults.append)]
    assert "does not match its checksum" in faults[0].reason


def test_results_of_a_check_need_runs_that_have_one() -> None:
    with pytest.raises(ValueError, match="results of one check, and its runs do not have one"):
        unpack_runs(packed(RunColumns(PLAIN, NAMES | {"checks.passed": [True, False]}, {})))


def test_columns_that_a_line_has_no_place_for_are_not_packed() -> None:
    assert pack_runs(RunColumns(PLAIN, NAMES | {"setup_seconds": [1.0, 2.0]}, {})) is None
