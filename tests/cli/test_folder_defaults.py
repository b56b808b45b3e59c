"""Commands without `-c` and RUNS take the suite and the last store of the folder that they are run in, and say so."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.stores import write_store

from outweigh.app.starter_suite import write_starter
from outweigh.testing.builders import runs_of_arm

READING = ("verdict", "compare", "report", "ladder", "suite aa")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def a_store(folder: Path, *, candidate: str = "new", hour: int = 0) -> Path:
    """A store whose files were last written at that hour of a day long ago."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    runs = [run for arm in ("plain", candidate) for run in runs_of_arm(arm, [[True, True]] * 2)]
    write_store(folder, runs, ("plain", candidate))
    for file in folder.iterdir():
        os.utime(file, (hour * 3600, hour * 3600))
    return folder


@pytest.mark.parametrize("verb", READING)
def test_reading_verbs_take_the_last_store_and_say_so_on_standard_error(outweigh: Any, here: Path, verb: str) -> None:
    a_store(here / "outweigh-runs" / "older", hour=1)
    a_store(here / "outweigh-runs" / "newer", hour=3)
    a_store(here / "outweigh-runs" / "a-middle", hour=2)

    named, open_ = outweigh(*verb.split(), "outweigh-runs/newer"), outweigh(*verb.split())

    assert (open_.code, open_.out) == (named.code, named.out)
    assert open_.err == f"outweigh: reading outweigh-runs/newer, the last store of this folder\n{named.err}"


def test_the_json_on_standard_output_holds_nothing_but_the_answer(outweigh: Any, here: Path) -> None:
    a_store(here / "outweigh-runs" / "only")

    assert outweigh("verdict", "--format", "json").json()["candidate"] == "new"


def test_a_report_names_the_store_that_it_was_made_of(outweigh: Any, here: Path) -> None:
    a_store(here / "outweigh-runs" / "only")

    assert outweigh("report", "-o", "report.md").code == 0

    assert "outweigh report -o report.md outweigh-runs/only" in (here / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("place", ["results", "build/results", "../elsewhere/results"])
def test_a_store_that_was_written_elsewhere_by_name_is_found(outweigh: Any, here: Path, place: str) -> None:
    write_starter(here)
    a_store(here / "outweigh-runs" / "older", hour=1)
    target = (here / place).resolve()
    target.parent.mkdir(exist_ok=True)

    assert outweigh("run", "-k", "1", "-o", place).code == 0
    answer = outweigh("verdict", "--format", "json")

    assert answer.json()["candidate"] == "candidate"
    assert f"reading {place if '..' not in place else target}, the last store" in answer.err


def test_a_store_that_was_remembered_and_is_gone_is_forgotten(outweigh: Any, here: Path) -> None:
    a_store(here / "outweigh-runs" / "only")
    for note in (b"", b"/nowhere/at/all\n", b"relative\n", b"\x00\n", b"\xff" * 9000):
        (here / "outweigh-runs" / "last-store").write_bytes(note)

        assert "reading outweigh-runs/only" in outweigh("verdict").err


def test_nothing_is_remembered_in_a_folder_without_suite_and_stores(outweigh: Any, here: Path) -> None:
    suite = here.parent / "suite"
    write_starter(suite)

    assert outweigh("run", "-c", str(suite), "-k", "1", "-o", str(here.parent / "out")).code == 0

    assert list(here.iterdir()) == []


def test_equally_old_stores_are_taken_in_order_of_their_names(outweigh: Any, here: Path) -> None:
    for name in ("b", "c", "a"):
        a_store(here / "outweigh-runs" / name, hour=1)

    assert "reading outweigh-runs/a," in outweigh("verdict").err


def test_a_report_beside_the_records_does_not_make_a_store_the_last(outweigh: Any, here: Path) -> None:
    a_store(here / "outweigh-runs" / "new", hour=2)
    old = a_store(here / "outweigh-runs" / "old", hour=1)
    (old / "report.html").write_text("", encoding="utf-8")

    assert "reading outweigh-runs/new," in outweigh("verdict").err


def test_a_store_without_results_is_not_passed_over_in_silence(outweigh: Any, here: Path) -> None:
    a_store(here / "outweigh-runs" / "done", hour=1)
    begun = a_store(here / "outweigh-runs" / "begun", hour=2)
    (begun / "runs-engine.jsonl").unlink()

    answer = outweigh("verdict", "--policy", "gates")

    assert answer.code == 3
    assert "outweigh-runs/begun was begun last in this folder and has no results yet" in answer.err
    assert answer.err.splitlines()[1:] == ["  outweigh verdict --policy gates outweigh-runs/done"]


def test_a_half_written_record_is_refused_and_no_other_store_is_taken_instead(outweigh: Any, here: Path) -> None:
    a_store(here / "outweigh-runs" / "done", hour=1)
    torn = a_store(here / "outweigh-runs" / "torn", hour=2) / "runs-engine.jsonl"
    torn.write_bytes(torn.read_bytes()[:-40])

    answer = outweigh("verdict")

    assert answer.code == 3
    assert "outweigh-runs/torn/runs-engine.jsonl" in answer.err


def test_a_store_with_one_arm_is_none_to_compare(outweigh: Any, here: Path) -> None:
    a_store(here / "outweigh-runs" / "two-arms", hour=1)
    write_store(here / "outweigh-runs" / "check", runs_of_arm("plain", [[True]]), ("plain",))

    assert "reading outweigh-runs/two-arms," in outweigh("verdict").err


def test_files_of_a_project_are_no_stores(outweigh: Any, here: Path) -> None:
    (here / "data").mkdir()
    (here / "data" / "training.jsonl").write_text("{}\n", encoding="utf-8")
    a_store(here / ".hidden" / "store")

    assert "there is no store in this folder" in outweigh("verdict").err


@pytest.mark.parametrize("verb", [*READING, "judge", "store scan", "store export -o x.csv", "view"])
def test_a_folder_without_stores_names_the_ways_to_one(outweigh: Any, here: Path, verb: str) -> None:
    answer = outweigh(*verb.split())

    assert answer.code == 2
    assert "there is no store in this folder. `outweigh run`" in answer.err
    assert "`outweigh demo`" in answer.err


def test_inside_a_store_the_store_itself_is_meant(outweigh: Any, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(a_store(here / "outweigh-runs" / "inside"))

    assert outweigh("verdict", "--format", "json").json()["candidate"] == "new"


def test_a_folder_with_one_store_stands_for_it(outweigh: Any, here: Path) -> None:
    a_store(here / "outweigh-runs" / "only")

    answer = outweigh("verdict", "outweigh-runs", "--format", "json")

    assert answer.json()["candidate"] == "new"
    assert "reading outweigh-runs/only, the only store in outweigh-runs" in answer.err


def test_a_folder_with_several_stores_lists_commands_that_work(outweigh: Any, here: Path) -> None:
    for hour, name in enumerate(("oldest", "newest", "with space"), start=1):
        a_store(here / "outweigh-runs" / name, candidate=name, hour=hour if name != "newest" else 9)

    answer = outweigh("verdict", "outweigh-runs", "--policy", "gates")

    assert answer.code == 2
    assert answer.err.splitlines() == [
        "outweigh: outweigh-runs holds 3 stores. Name one; newest first:",
        "  outweigh verdict outweigh-runs/newest --policy gates",
        "  outweigh verdict 'outweigh-runs/with space' --policy gates",
        "  outweigh verdict outweigh-runs/oldest --policy gates",
    ]


def test_a_suite_in_the_folder_needs_no_option(outweigh: Any, here: Path) -> None:
    write_starter(here)

    answer = outweigh("run", "--dry-run")

    assert answer.code == 0
    assert answer.out.startswith("starter: 2 tasks")
    assert answer.err == "outweigh: suite: suite.toml of this folder\n"
    assert outweigh("ci", "--dry-run").err.startswith("outweigh: suite: suite.toml of this folder\n")


def test_plan_and_doctor_take_the_suite_of_the_folder(outweigh: Any, here: Path) -> None:
    write_starter(here)

    planned = outweigh("plan", "--tasks", "6", "--repeats", "1")
    examined = outweigh("doctor")

    assert (planned.code, "suite: suite.toml of this folder" in planned.err) == (0, True)
    assert "suite: suite.toml of this folder" in examined.err


def test_plan_takes_the_last_store_where_the_folder_has_no_suite(outweigh: Any, here: Path) -> None:
    a_store(here / "outweigh-runs" / "pilot")

    assert "reading outweigh-runs/pilot, the last store" in outweigh("plan", "--tasks", "6", "--repeats", "1").err


def test_doctor_needs_no_suite(outweigh: Any, here: Path) -> None:
    assert "suite" not in outweigh("doctor").err


@pytest.mark.parametrize("verb", ["run", "ci"])
def test_a_folder_without_a_suite_names_the_way_to_one(outweigh: Any, here: Path, verb: str) -> None:
    answer = outweigh(*verb.split())

    assert answer.code == 2
    assert answer.err == (
        "outweigh: there is no suite.toml in this folder; `outweigh init` writes one, and -c names one elsewhere.\n"
    )


def test_suites_below_the_folder_are_named_with_their_commands(outweigh: Any, here: Path) -> None:
    for name in ("my suite", "another"):
        write_starter(here / name)

    answer = outweigh("run", "-k", "1", "--dry-run")

    assert answer.code == 2
    assert answer.err.splitlines()[1:] == [
        "  outweigh run -k 1 --dry-run -c another",
        "  outweigh run -k 1 --dry-run -c 'my suite'",
    ]


def test_two_runs_of_the_last_store_are_put_side_by_side(outweigh: Any, here: Path) -> None:
    a_store(here / "outweigh-runs" / "only")
    runs = [f"{run.trial.task_id}/{run.trial.arm}/{run.trial.repeat}" for run in runs_of_arm("plain", [[True, True]])]

    named, open_ = outweigh("diff", "outweigh-runs/only", *runs), outweigh("diff", *runs)

    assert (named.code, open_.code, open_.out) == (0, 0, named.out)
    assert outweigh("diff", runs[0]).code == 2


def test_a_pull_request_is_not_opened_for_a_store_that_nobody_named(outweigh: Any, here: Path) -> None:
    a_store(here / "outweigh-runs" / "only")

    answer = outweigh("promote", "--execute")

    assert answer.code == 2
    assert "name the store that it rests on" in answer.err
