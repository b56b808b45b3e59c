"""`outweigh ladder -o`: files of every format, and a folder with every figure as a drawing and as a table."""

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.cli.stores import write_store
from tests.report.test_render_tex import read_strictly

from outweigh.testing.builders import a_run

FORMATS = ("html", "md", "json", "csv", "tex")
FORMULA = '=HYPERLINK("http://x","a,b")'


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Three tiers of judged runs; the last arm has a name that tries to be a formula."""
    arms = ("plain", "skills", FORMULA)
    runs = [
        a_run(f"task-{task}", arm, repeat, passed=(task + repeat + place) % 3 > 0)
        for place, arm in enumerate(arms)
        for task in range(6)
        for repeat in (1, 2)
    ]
    return write_store(tmp_path / "store", runs, arms, tiers={arm: place for place, arm in enumerate(arms)})


def test_several_files_are_written_at_once_and_the_answer_says_where(outweigh: Any, store: str, tmp_path: Path) -> None:
    targets = [str(tmp_path / f"ladder.{ending}") for ending in FORMATS]

    answer = outweigh("ladder", store, *(word for target in targets for word in ("-o", target)))

    assert answer.code == 0
    assert answer.out.splitlines()[1:] == [f"written to {target}" for target in targets]
    assert json.loads(Path(targets[2]).read_text()) == outweigh("ladder", store, "--format", "json").json()
    assert Path(targets[0]).read_text().startswith("<!DOCTYPE html>")
    assert read_strictly(Path(targets[4]).read_text()) != []


def test_the_table_has_one_row_per_figure_and_no_name_is_a_formula(outweigh: Any, store: str, tmp_path: Path) -> None:
    outweigh("ladder", store, "-o", str(tmp_path / "ladder.csv"))
    written = (tmp_path / "ladder.csv").read_bytes().decode()

    assert written.count("\r\n") == written.count("\n")
    rows = list(csv.DictReader(written.splitlines()))
    payload = outweigh("ladder", store, "--format", "json").json()
    found = {(row["name"], row["figure"]): row["value"] for row in rows if row["level"] == "arm"}
    assert float(found["skills", "pass_rate"]) == payload["tiers"][1]["pass_rate"]
    assert (f"'{FORMULA}", "pass_rate") in found
    assert found["plain", "composite_median"] == ""
    step = next(row for row in rows if (row["level"], row["figure"]) == ("contrast", "quality.difference"))
    assert step["name"] == "skills over plain"
    assert float(step["low"]) == payload["steps"][0]["simultaneous_interval"]["low"]
    unknown = next(row for row in rows if (row["level"], row["figure"]) == ("tier", "r_prog"))
    assert unknown["value"] == ""
    assert unknown["unknown_because"]


def test_a_folder_gets_every_format_and_every_figure_twice(outweigh: Any, store: str, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "study"

    answer = outweigh("ladder", store, "-o", f"{folder}/")

    assert answer.code == 0
    assert {f"ladder.{ending}" for ending in FORMATS} <= {path.name for path in folder.iterdir()}
    drawings, tables = ({path.stem for path in folder.glob(f"figures/*.{ending}")} for ending in ("svg", "csv"))
    assert drawings == tables
    for path in folder.glob("figures/*.svg"):
        assert ET.fromstring(path.read_text()).tag.endswith("svg")
    assert f"({sum(path.is_file() for path in folder.rglob('*'))} files)" in answer.out


def test_an_existing_folder_needs_no_slash(outweigh: Any, store: str, tmp_path: Path) -> None:
    assert outweigh("ladder", store, "-o", str(tmp_path)).code == 0
    assert (tmp_path / "ladder.html").exists()


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        (["ladder.pdf"], "must end in one of .html, .md, .json, .csv, .tex, or in / for a folder"),
        (["ladder"], "must end in one of"),
        (["a.md", "a.md"], "given twice"),
        (["missing/a.md"], "mkdir -p missing"),
    ],
)
def test_a_name_that_cannot_be_written_is_refused_with_a_way_out(
    outweigh: Any, store: str, targets: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    answer = outweigh("ladder", store, *(word for target in targets for word in ("-o", target)))

    assert answer.code == 2
    assert said in " ".join(answer.err.split())


def test_a_file_where_the_folder_should_be_is_named(outweigh: Any, store: str, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")

    answer = outweigh("ladder", store, "-o", f"{tmp_path}/taken/")

    assert answer.code == 2
    assert "cannot be made" in answer.err
    assert (tmp_path / "taken").read_text() == "mine"
