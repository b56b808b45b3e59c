"""The comparison of checkers counts the cheats that pass, and says where it is not valid."""

import math
from pathlib import Path
from typing import Any

import pytest
from benchmarks.forged_checks import OWN, doctor_judged, row, trial_judged
from benchmarks.forged_tasks import SOLVED, TASKS, UNTOUCHED, scripted_task, workspaces

from outweigh.engine.cheats import CHEATS

RIGHT = {SOLVED: True, UNTOUCHED: False}


def test_the_share_of_cheats_that_pass_is_taken_over_all_tasks_and_names_them() -> None:
    found = row("some checker", {"one": {**RIGHT, "a": True, "b": False}, "two": {**RIGHT, "a": False, "c": True}})

    assert found.measured == 0.5
    assert found.note == "2 of 4 pass: a (one), c (two)"
    assert found.outcome == "no target"


@pytest.mark.parametrize("wrong", [{SOLVED: False, UNTOUCHED: False}, {SOLVED: True, UNTOUCHED: True}])
def test_a_checker_that_judges_wrongly_without_a_cheat_has_no_share(wrong: dict[str, bool]) -> None:
    found = row(OWN, {"one": {**RIGHT, "a": False}, "two": {**wrong, "a": False}})

    assert math.isnan(found.measured)
    assert found.outcome == "missed"
    assert found.note.startswith("not valid: without a cheat, two must")


def a_doctors_task(**changes: Any) -> dict[str, Any]:
    required, optional = {"required": True, "passed": True}, {"required": False, "passed": False}
    cheats = [
        {"cheat": "a", "passes": True, "fault": None},
        {"cheat": "b", "passes": False, "fault": None},
        {"cheat": "nothing-to-change", "passes": None, "fault": None},
    ]
    untouched = [{"required": True, "passed": False}]
    task = {"task_id": "one", "oracle": [required, optional], "untouched": untouched, "cheats": cheats}
    return {"tasks": [{**task, **changes}]}


def test_a_cheat_with_nothing_to_change_is_not_counted_as_tried() -> None:
    assert doctor_judged(a_doctors_task()) == {"one": {**RIGHT, "a": True, "b": False}}


def test_a_solution_that_was_not_checked_did_not_pass() -> None:
    assert doctor_judged(a_doctors_task(oracle=None))["one"][SOLVED] is False


def test_a_cheat_that_could_not_be_tried_ends_the_comparison() -> None:
    broken = [{"cheat": "a", "passes": None, "fault": "no sandbox today"}]

    with pytest.raises(RuntimeError, match="a: no sandbox today"):
        doctor_judged(a_doctors_task(cheats=broken))


def test_without_a_task_there_is_nothing_to_compare() -> None:
    with pytest.raises(RuntimeError, match="tried no task"):
        doctor_judged({"tasks": []})


@pytest.mark.parametrize(
    ("verdict", "passes"),
    [
        ({"rewards": {"reward": 1.0}}, True),
        ({"rewards": {"reward": 0.0}}, False),
        ({"rewards": {"reward": 0.5}}, False),
        ({"rewards": None}, False),
        (None, False),
    ],
)
def test_a_trial_of_harbor_passes_with_the_whole_reward_only(verdict: Any, passes: bool) -> None:
    result = {"config": {"agent": {"kwargs": {"left": "/somewhere/exit-0"}}}, "verifier_result": verdict}

    assert trial_judged(result) == ("exit-0", passes)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_workspace_but_the_untouched_one_is_changed_or_has_a_script(task: Any, tmp_path: Path) -> None:
    left = list(workspaces(tmp_path / "left", task, scripted_task(tmp_path / "tasks", task, "/python")))
    contents = {
        one["name"]: {
            path.relative_to(one["left"]).as_posix(): path.read_text()
            for path in Path(one["left"]).rglob("*")
            if path.is_file()
        }
        for one in left
    }

    assert contents[UNTOUCHED] == dict(task.workspace)
    assert contents[SOLVED] == {**task.workspace, **task.solution}
    assert {one["name"] for one in left} <= {SOLVED, UNTOUCHED, *(cheat.name for cheat in CHEATS)}
    assert [one["name"] for one in left if contents[one["name"]] == contents[UNTOUCHED] and not one["script"]] == [
        UNTOUCHED
    ]
