"""`outweigh suite triggers`: every skill with recall and false triggers, as text, as JSON and as a picture."""

from pathlib import Path
from typing import Any

from tests.cli.stores import write_store
from tests.compare.test_trigger_outcomes import a_trigger_run, loaded

from outweigh.model.run_record import RunRecord
from outweigh.testing.builders import a_run


def some_runs() -> list[RunRecord]:
    """The new description fires in every case, and the old one loses half of them to another skill."""
    return [
        a_trigger_run(f"{kind}-{number}", _asked(kind, arm, number), arm=arm)
        for arm in ("old", "new")
        for kind in ("fires", "ignores")
        for number in range(8)
    ]


def _asked(kind: str, arm: str, number: int) -> list[str]:
    if kind == "ignores":
        return []
    return ["notes"] if arm == "new" or number % 2 else ["thief"]


def test_the_table_names_the_rates_and_the_skill_that_was_asked_for_instead(outweigh: Any, tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", some_runs(), ["old", "new"])
    answer = outweigh("suite", "triggers", store)

    assert answer.code == 0
    assert "1 skill in 2 arms (16 trigger cases, 32 runs)" in answer.out
    assert "thief (4)" in answer.out
    assert "notes in old: thief was asked for instead in 4 runs." in answer.out


def test_json_has_the_same_numbers(outweigh: Any, tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", some_runs(), ["old", "new"])
    payload = outweigh("suite", "triggers", store, "--format", "json").json()
    skills = {each["arm"]: each for each in payload["skills"]}

    assert {arm: each["recall"]["value"] for arm, each in skills.items()} == {"old": 0.5, "new": 1.0}
    assert skills["old"]["false_triggers"]["interval"]["high"] < 0.5
    assert skills["old"]["asked_instead"] == {"thief": 4}
    assert {"arm": "old", "expected": "notes", "asked": "thief", "runs": 4} in payload["confusion"]


def test_the_confusion_matrix_is_a_picture_of_its_own(outweigh: Any, tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", some_runs(), ["old", "new"])
    answer = outweigh("suite", "triggers", store, "-o", f"{tmp_path}/out/")

    assert answer.code == 0
    drawn = (tmp_path / "out/figures/triggers-old.svg").read_text()
    assert "of 8 runs of cases for notes, 4 asked for thief" in drawn
    assert (tmp_path / "out/figures/triggers-old.csv").read_text().splitlines() == [
        "expected,notes,thief,no skill",
        "notes,4,4,0",
        "not notes,0,0,8",
    ]
    assert "triggers" in (tmp_path / "out/triggers.html").read_text()


def test_records_without_a_trigger_case_are_refused_with_what_to_do(outweigh: Any, tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", [a_run("task-1", "old"), a_run("task-1", "new")], ["old", "new"])
    answer = outweigh("suite", "triggers", store)

    assert answer.code == 3
    assert "no counted run of a trigger case" in answer.err


def test_a_file_may_say_what_the_tasks_of_imported_runs_expect(outweigh: Any, tmp_path: Path) -> None:
    runs = [a_run("convert", "with", loaded=loaded(None, ("pdf",))), a_run("chat", "with", loaded=loaded(None, ()))]
    store = write_store(tmp_path / "store", runs, ["with", "without"])
    cases = tmp_path / "cases.toml"
    cases.write_text(
        '[[case]]\ntask = "convert"\nskill = "pdf"\nshould_fire = true\n\n'
        '[[case]]\ntask = "chat"\nskill = "pdf"\nshould_fire = false\n'
    )
    (skill,) = outweigh("suite", "triggers", store, "--cases", str(cases), "--format", "json").json()["skills"]

    assert (skill["recall"]["value"], skill["false_triggers"]["value"], skill["listed"]) == (1.0, 0.0, 1)

    cases.write_text(cases.read_text() * 2)
    twice = outweigh("suite", "triggers", store, "--cases", str(cases))
    assert (twice.code, "twice" in twice.err) == (2, True)
