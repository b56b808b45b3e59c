"""`outweigh store export`: records, Parquet, JUnit and trajectories."""

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.interop.harbor.harbor_jobs import a_job, a_trial, leave_trajectory

from outweigh.model.codec import Record, decode, encode
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import UNKNOWN_COST
from outweigh.testing.builders import a_judgment, a_preference, a_run
from outweigh.transcript.trajectory_file import read_trajectory


@pytest.fixture
def store(outweigh: Any, tmp_path: Path) -> Path:
    """An import with one trajectory and two runs."""
    trials = [a_trial(1, "one"), a_trial(2, "../two", 0)]
    job = a_job(tmp_path / "job", [trials[0], trials[1] | {"trial_name": "two__0000002"}])
    leave_trajectory(job, trials[0])
    assert outweigh("import", str(job), "--arm", "a/b", "-o", str(tmp_path / "runs")).code == 0
    return tmp_path / "runs"


def test_records_that_went_out_and_came_back_are_the_same(outweigh: Any, tmp_path: Path) -> None:
    run = a_run("täsk\n=1", cost=UNKNOWN_COST, warnings=("odd",))
    records: list[Record] = [run, a_run(repeat=2, attempt=3), a_judgment(run), a_preference(run, a_run(arm="other"))]
    (tmp_path / "runs.jsonl").write_bytes(b"".join(encode(record) + b"\n" for record in records))

    files = [str(tmp_path / name) for name in ("runs.jsonl", "out.jsonl", "out.parquet", "again.jsonl")]
    for source, target in pairwise(files):
        assert outweigh("store", "export", source, "-o", target).code == 0

    lines = (tmp_path / "again.jsonl").read_bytes().splitlines(keepends=True)
    assert [decode(line) for line in lines] == records
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()


def test_records_are_not_written_among_those_they_are_made_of(outweigh: Any, store: Path) -> None:
    answer = outweigh("store", "export", str(store), "-o", str(store / "all.jsonl"))

    assert answer.code == 2
    assert "would be among the records that it is made from" in answer.err
    assert not (store / "all.jsonl").exists()
    assert outweigh("store", "export", str(store), "-o", str(store / "all.csv")).code == 0


def test_a_name_without_an_ending_is_asked_for_one(outweigh: Any, store: Path) -> None:
    answer = outweigh("store", "export", str(store), "-o", "-")

    assert answer.code == 2
    assert "must end in one of .jsonl, .csv, .parquet, .xml" in answer.err


def test_a_parquet_file_gives_the_same_evidence(outweigh: Any, tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    runs.write_bytes(b"".join(encode(a_run(arm=arm)) + b"\n" for arm in ("a", "b")))
    copy = str(tmp_path / "copy.parquet")

    assert outweigh("store", "export", str(runs), "-o", copy).code == 0

    arms = ("--baseline", "a", "--candidate", "b", "--format", "json")
    one, other = (outweigh("compare", path, *arms).json() for path in (str(runs), copy))
    assert one == other


def test_no_name_becomes_a_formula_in_a_spreadsheet(outweigh: Any, tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    runs.write_bytes(b"".join(encode(a_run(task, arm)) + b"\n" for task in ("=1+1", "plain") for arm in ("@a", "b-c")))

    outweigh("store", "export", str(runs), "-o", str(tmp_path / "runs.csv"))

    with (tmp_path / "runs.csv").open(newline="") as stream:
        names = {(row["task_id"], row["arm"]) for row in csv.DictReader(stream)}
    assert names == {("'=1+1", "'@a"), ("'=1+1", "b-c"), ("plain", "'@a"), ("plain", "b-c")}


def test_junit_keeps_what_failed_and_what_broke_apart(outweigh: Any, tmp_path: Path) -> None:
    runs = [
        a_run("passes", duration_seconds=1.5),
        a_run("fails", passed=False),
        a_run("times-out", status=Status.TIMEOUT),
        a_run("broke", status=Status.INFRA_ERROR),
        a_run("nobody-knows", passed=None, duration_seconds=None),
        a_run("not-there", status=Status.NOT_RUN, checks=None, duration_seconds=None),
    ]
    (tmp_path / "runs.jsonl").write_bytes(b"".join(encode(run) + b"\n" for run in runs))

    outweigh("store", "export", str(tmp_path / "runs.jsonl"), "-o", str(tmp_path / "runs.xml"))

    root = ElementTree.parse(tmp_path / "runs.xml").getroot()
    (suite,) = root
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6",
        "failures": "2",
        "errors": "2",
        "skipped": "1",
    }
    faults = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert faults == {
        "passes #1": [],
        "fails #1": ["failure"],
        "times-out #1": ["failure"],
        "broke #1": ["error"],
        "nobody-knows #1": ["error"],
        "not-there #1": ["skipped"],
    }
    times = {case.get("name"): case.get("time") for case in root.iter("testcase")}
    assert (times["passes #1"], times["nobody-knows #1"]) == ("1.500", None)


def test_junit_says_nothing_that_a_reader_with_a_schema_refuses(outweigh: Any, tmp_path: Path) -> None:
    # The schema of Jenkins allows these attributes and no others; times are digits, however long a run took.
    runs = [a_run(arm=arm, duration_seconds=1234567.891) for arm in ("a", "b\x00")]
    (tmp_path / "runs.jsonl").write_bytes(b"".join(encode(run) + b"\n" for run in runs))
    arms = ("--baseline", "a", "--candidate", "b\x00")

    outweigh("store", "export", str(tmp_path / "runs.jsonl"), "-o", str(tmp_path / "runs.xml"))
    outweigh("report", str(tmp_path / "runs.jsonl"), *arms, "-o", str(tmp_path / "report.xml"))

    for name in ("runs.xml", "report.xml"):
        root = ElementTree.parse(tmp_path / name).getroot()
        assert root.attrib.keys() <= {"name", "time", "tests", "failures", "errors"}
        for suite in root:
            assert suite.attrib.keys() == {"name", "tests", "failures", "errors", "skipped"}
        for case in root.iter("testcase"):
            assert case.attrib.keys() <= {"name", "classname", "time"}
            assert case.get("time") in {"0", "1234567.891"}


def test_trajectories_are_written_where_no_name_leads_out(outweigh: Any, store: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"

    answer = outweigh("store", "export", str(store), "--trajectories", "-o", str(target))

    assert answer.code == 0
    assert "1 of 2 runs have no trajectory" in answer.err
    (file,) = target.rglob("*.json")
    assert file.relative_to(target).parts[1:] == ("one", "1", "trajectory.json")
    trajectory = read_trajectory(file.read_bytes())
    assert trajectory.extra is not None
    assert trajectory.extra["outweigh"]["arm"] == "a/b"
    assert trajectory.extra["outweigh"]["passed"] is True


def test_trajectories_come_back_under_the_names_of_their_tasks_and_arms(
    outweigh: Any, store: Path, tmp_path: Path
) -> None:
    outweigh("store", "export", str(store), "--trajectories", "-o", str(tmp_path / "out"))

    assert outweigh("import", str(tmp_path / "out"), "-o", str(tmp_path / "back")).code == 0

    (line,) = next((tmp_path / "back").glob("*.jsonl")).read_bytes().splitlines()
    run = decode(line)
    assert isinstance(run, RunRecord)
    assert (run.trial.task_id, run.trial.arm, run.trial.repeat) == ("one", "a/b", 1)


def test_records_without_a_store_have_no_trajectories(outweigh: Any, tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    runs.write_bytes(encode(a_run()) + b"\n")

    alone = outweigh("store", "export", str(runs), "--trajectories", "-o", str(tmp_path / "out"))
    none = outweigh("store", "export", str(tmp_path), "--trajectories", "-o", str(tmp_path / "out"))

    assert (alone.code, none.code) == (2, 3)
    assert "is not a store" in alone.err
    assert "none of 1 runs has a trajectory" in none.err
