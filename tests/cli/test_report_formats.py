"""`outweigh report` for CI systems and spreadsheets: JUnit and CSV."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.cli.stores import write_store

from outweigh.model.run_record import RunRecord
from outweigh.testing.builders import a_run

HOSTILE = '<&">\x1b\x00\ufffe]]>'
Written = Callable[..., str]


@pytest.fixture
def written(outweigh: Any, tmp_path: Path) -> Written:
    def write(kind: str, *arguments: str) -> str:
        target = tmp_path / f"report.{kind}"
        answer = outweigh("report", *arguments, "-o", str(target))
        assert answer.code == 0, answer.err
        return target.read_text()

    return write


def runs(arm: str, solved: int, tasks: int = 12, **fields: Any) -> list[RunRecord]:
    """Runs of which the first tasks are solved in all of five repeats."""
    return [
        a_run(f"task-{task:02}", arm, repeat, passed=task < solved, duration_seconds=10 + task + repeat / 7, **fields)
        for task in range(tasks)
        for repeat in range(1, 6)
    ]


def test_junit_keeps_what_failed_apart_from_what_nobody_knows(written: Written, tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", [*runs("a", 10), *runs("b", 2)], ["a", "b"])

    root = ElementTree.fromstring(written("xml", store))
    worse = ElementTree.fromstring(written("xml", store, "--gates", "pass_rate"))

    (suite,) = root
    cases = {case.get("name"): [part.tag for part in case] for case in suite.iter("testcase")}
    assert suite.get("name") == "b against a"
    assert cases["gate pass_rate"] == ["failure"]
    assert cases["gate non_cache_tokens"] == ["error"]
    assert root.get("failures") == str(sum("failure" in tags for tags in cases.values()))
    assert root.get("errors") == str(sum("error" in tags for tags in cases.values()))
    assert root.get("tests") == str(len(cases))
    assert worse.find(".//testcase[@name='verdict']/failure") is not None


def test_junit_has_no_fault_where_the_candidate_is_better(written: Written, tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", [*runs("a", 0), *runs("b", 12)], ["a", "b"])

    root = ElementTree.fromstring(written("xml", store, "--gates", "pass_rate"))

    assert (root.get("failures"), root.get("errors")) == ("0", "0")
    assert root.find(".//property[@name='decision']").get("value") == "improved"  # type: ignore[union-attr]


def test_several_candidates_are_several_suites(written: Written, tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", [*runs("a", 6), *runs("b", 6), *runs("c", 6)], ["a", "b", "c"])

    root = ElementTree.fromstring(written("xml", store))

    assert [suite.get("name") for suite in root] == ["b against a", "c against a"]


def test_names_that_xml_cannot_carry_are_shown_by_their_codes(written: Written, tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", [*runs("a", 6), *runs(HOSTILE, 6)], ["a", HOSTILE])

    root = ElementTree.fromstring(written("xml", store))

    assert root[0].get("name") == '<&">\\x1b\\x00\\xfffe]]> against a'


def test_csv_has_a_row_per_gate_and_delta_and_empty_cells_for_unknowns(written: Written, tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", [*runs("a", 10), *runs("b", 2)], ["a", "b"])

    rows = list(csv.DictReader(written("csv", store).splitlines()))

    found = {(row["kind"], row["name"]): row for row in rows}
    assert found["gate", "pass_rate"]["state"] == "worse"
    assert float(found["gate", "pass_rate"]["baseline_value"]) == pytest.approx(10 / 12)
    assert (found["gate", "non_cache_tokens"]["state"], found["gate", "non_cache_tokens"]["low"]) == ("unknown", "")
    assert float(found["delta", "pass_delta"]["effect"]) == pytest.approx(-8 / 12)
    assert {row["may_promote"] for row in rows} == {"false"}


def test_no_name_becomes_a_formula(written: Written, tmp_path: Path) -> None:
    formula = "=cmd|' /C calc'!A0"
    store = write_store(tmp_path / "store", [*runs("a", 6), *runs(formula, 6)], ["a", formula])

    rows = list(csv.DictReader(written("csv", store).splitlines()))

    assert {row["candidate"] for row in rows} == {f"'{formula}"}
