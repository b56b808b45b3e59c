"""A store knows its suite, so arms need no naming there; elsewhere only names that say it make an arm the baseline."""

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
    assert "name the arm to compare 'plain' with, using --candidate: 'a', 'b'" in answer.err


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
    assert "nothing says which arm is the baseline; the records hold 'plain', 'a', 'other', 'b'" in answer.err
    assert f"outweigh verdict {one} {two} --baseline other\n" in answer.err


def test_a_file_by_itself_shows_both_commands_and_either_works(outweigh: Any, tmp_path: Path) -> None:
    file = f"{a_store(tmp_path / 'one', 'plain', 'a')}/runs-engine.jsonl"

    answer = outweigh("verdict", file, "--policy", "gates")

    assert answer.code == 2
    commands = [line.split() for line in answer.err.splitlines()[1:]]
    assert [command[-4:] for command in commands] == [
        ["--baseline", "plain", "--candidate", "a"],
        ["--baseline", "a", "--candidate", "plain"],
    ]
    for command in commands:
        again = outweigh(*command[1:], "--format", "json").json()
        assert (again["policy"], again["baseline"], again["candidate"]) == ("gates", command[-3], command[-1])


def arms_in_a_file(folder: Path, *arms: str) -> str:
    return f"{a_store(folder / 'store', *arms, baseline=arms[0])}/runs-engine.jsonl"


@pytest.mark.parametrize(
    ("baseline", "candidate"),
    [
        ("baseline", "better"),
        ("Control", "treatment"),
        ("none", "skill"),
        ("base", "head"),
        ("without_skill", "with_skill"),
        ("no-skill", "skill"),
        ("before", "after"),
        ("old", "new"),
        ("baseline", "baseline with skill"),
    ],
)
@pytest.mark.parametrize("verb", ["compare", "verdict"])
def test_an_arm_whose_name_says_so_is_the_baseline_in_either_order(
    outweigh: Any, tmp_path: Path, verb: str, baseline: str, candidate: str
) -> None:
    for place, arms in (("one", (baseline, candidate)), ("other", (candidate, baseline))):
        (tmp_path / place).mkdir()
        answer = outweigh(verb, arms_in_a_file(tmp_path / place, *arms), "--format", "json")

        assert (answer.json()["baseline"], answer.json()["candidate"]) == (baseline, candidate)
        assert f"{baseline!r} is the baseline, by its name" in answer.err


@pytest.mark.parametrize(
    "arms",
    [
        ("baseline", "control"),
        ("base", "none"),
        ("a", "b"),
        ("v1", "v2"),
        ("plain", "skill"),
        ("without_tools", "with_skill"),
        ("main", "branch"),
        ("after", "new"),
        ("rebased", "controlled"),
    ],
)
def test_names_that_do_not_say_it_leave_the_direction_open(
    outweigh: Any, tmp_path: Path, arms: tuple[str, str]
) -> None:
    answer = outweigh("verdict", arms_in_a_file(tmp_path, *arms))

    assert answer.code == 2
    assert "nothing says which arm is the baseline" in answer.err
    assert answer.err.count("--baseline") == 2


def test_of_two_arms_the_other_one_needs_no_naming(outweigh: Any, tmp_path: Path) -> None:
    file = arms_in_a_file(tmp_path, "one", "two")

    by_baseline = outweigh("compare", file, "--baseline", "two", "--format", "json").json()
    by_candidate = outweigh("compare", file, "--candidate", "two", "--format", "json").json()

    assert (by_baseline["baseline"], by_baseline["candidate"]) == ("two", "one")
    assert (by_candidate["baseline"], by_candidate["candidate"]) == ("one", "two")


def test_with_a_named_baseline_every_other_arm_of_a_file_is_a_candidate(outweigh: Any, tmp_path: Path) -> None:
    file = arms_in_a_file(tmp_path, "a", "b", "c")

    verdicts = outweigh("verdict", file, "--baseline", "b", "--format", "json").json()["verdicts"]
    compared = outweigh("compare", file, "--baseline", "b")

    assert [each["candidate"] for each in verdicts] == ["a", "c"]
    assert compared.code == 2
    assert f"outweigh compare {file} --baseline b --candidate c\n" in compared.err


def test_one_arm_alone_is_nothing_to_compare(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("verdict", arms_in_a_file(tmp_path, "baseline"))

    assert answer.code == 2
    assert "the records hold one arm, 'baseline'" in answer.err


def test_a_damaged_experiment_file_is_unusable_evidence(outweigh: Any, tmp_path: Path) -> None:
    store = a_store(tmp_path / "runs", "plain", "a")
    (tmp_path / "runs" / EXPERIMENT_FILE).write_text("{")

    answer = outweigh("verdict", store)

    assert answer.code == 3
    assert EXPERIMENT_FILE in answer.err
