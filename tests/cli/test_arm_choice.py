"""A store knows its suite, so arms need no naming there; nowhere else is a role guessed."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.stores import write_store

from outweigh.store.experiment_file import EXPERIMENT_FILE
from outweigh.testing.builders import runs_of_arm

ALL_PASS = [[True, True]] * 2


def a_store(folder: Path, *arms: str, baseline: str = "plain", recorded: tuple[str, ...] | None = None) -> str:
    runs = [run for arm in recorded or arms for run in runs_of_arm(arm, ALL_PASS)]
    return write_store(folder, runs, arms, baseline=baseline)


@pytest.mark.parametrize("verb", ["compare", "verdict"])
def test_the_two_arms_of_a_store_need_no_naming(outweigh: Any, tmp_path: Path, verb: str) -> None:
    # The baseline comes second in the suite and in the records: neither order decides.
    store = a_store(tmp_path / "runs", "new", "plain")

    answer = outweigh(verb, store, "--format", "json").json()

    assert (answer["baseline"], answer["candidate"]) == ("plain", "new")


def test_every_other_arm_of_a_store_is_a_candidate_of_its_verdict(outweigh: Any, tmp_path: Path) -> None:
    store = a_store(tmp_path / "runs", "b", "plain", "a", recorded=("a", "b", "plain"))

    answer = outweigh("verdict", store, "--format", "json").json()

    assert [(each["baseline"], each["candidate"]) for each in answer["verdicts"]] == [("plain", "b"), ("plain", "a")]


def test_compare_asks_which_of_several(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("compare", a_store(tmp_path / "runs", "plain", "a", "b"))

    assert answer.code == 2
    assert "name the arm to compare 'plain' with by --candidate: 'a', 'b'" in answer.err


def test_named_arms_win_over_the_suites(outweigh: Any, tmp_path: Path) -> None:
    store = a_store(tmp_path / "runs", "plain", "a", "b")

    both = outweigh("verdict", store, "--baseline", "b", "--candidate", "a", "--format", "json").json()
    one = outweigh("compare", store, "--candidate", "b", "--format", "json").json()

    assert (both["baseline"], both["candidate"]) == ("b", "a")
    assert (one["baseline"], one["candidate"]) == ("plain", "b")


def test_an_arm_that_has_no_record_yet_is_not_left_out_in_silence(outweigh: Any, tmp_path: Path) -> None:
    store = a_store(tmp_path / "runs", "plain", "a", "late", recorded=("plain", "a"))

    answer = outweigh("verdict", store)

    assert answer.code == 2
    assert "there is no arm 'late'" in answer.err


def test_two_stores_leave_the_naming_to_the_caller(outweigh: Any, tmp_path: Path) -> None:
    one = a_store(tmp_path / "one", "plain", "a")
    two = a_store(tmp_path / "two", "other", "b", baseline="other")

    answer = outweigh("verdict", one, two)

    assert answer.code == 2
    assert "name both arms" in answer.err


def test_a_file_by_itself_leaves_the_naming_to_the_caller(outweigh: Any, tmp_path: Path) -> None:
    store = a_store(tmp_path / "one", "plain", "a")

    answer = outweigh("verdict", f"{store}/runs-engine.jsonl")

    assert answer.code == 2
    assert "name both arms" in answer.err


def test_a_damaged_experiment_file_is_unusable_evidence(outweigh: Any, tmp_path: Path) -> None:
    store = a_store(tmp_path / "runs", "plain", "a")
    (tmp_path / "runs" / EXPERIMENT_FILE).write_text("{")

    answer = outweigh("verdict", store)

    assert answer.code == 3
    assert EXPERIMENT_FILE in answer.err
