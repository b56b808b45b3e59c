"""Claims about what is reported of arms that another arm was chosen by."""

import msgspec
import numpy as np
import pytest
from numpy.testing import assert_allclose

from outweigh.compare.evidence import gather
from outweigh.compare.held_out import describe_choices, reported_repeats, shrink_means
from outweigh.errors import EvidenceError
from outweigh.model.codec import LocatedRecord, Record
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import Trial
from outweigh.model.tiers import InheritSpec
from outweigh.testing.builders import a_choice, a_judgment, a_run, evidence_of, runs_of_arm

OPEN = InheritSpec(best_of=[0], held_out=False)


def first_two_of_a(_: str, trial: Trial) -> bool:
    return trial.arm == "a" and trial.repeat <= 2


def test_only_the_repeats_after_those_for_choosing_are_reported() -> None:
    found = reported_repeats({"a": 3}, ["b"])
    assert found["a"].first == 4
    assert not found["a"].is_optimistic
    assert found["b"].first == 1
    assert found["b"].is_optimistic
    assert "c" not in found


def test_an_arm_with_held_out_repeats_is_not_optimistic() -> None:
    assert not reported_repeats({"a": 3}, ["a"])["a"].is_optimistic


def test_runs_for_choosing_and_their_judgments_are_in_no_figure() -> None:
    runs = [a_run("task-1", "a", repeat) for repeat in (1, 2, 3)]
    records: list[Record] = [*runs, *(a_judgment(run) for run in runs), a_run("task-1", "b", 1)]
    located = [LocatedRecord(record, "records", number) for number, record in enumerate(records, start=1)]
    evidence = gather(located, prices=PriceTables(), is_for_choosing=first_two_of_a)
    assert [score.repeat for score in evidence.arms["a"]] == [3]
    assert [score.repeat for score in evidence.arms["b"]] == [1]
    assert evidence.chosen_by == {"a": 2}
    assert len(list(evidence.judge_calls(["a"]))) == 1
    assert not evidence.warnings, "judgments of runs that are set aside are not judgments of unknown runs"


def test_a_store_with_runs_for_choosing_alone_says_so() -> None:
    located = [LocatedRecord(a_run("task-1", "a", 1), "records", 1)]
    with pytest.raises(EvidenceError, match="for choosing which arm others are built on"):
        gather(located, prices=PriceTables(), is_for_choosing=first_two_of_a)


def test_arms_that_differ_by_chance_alone_are_shrunken_to_their_mean() -> None:
    table = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    assert_allclose(shrink_means(table), [0.5, 0.5])


def test_arms_that_differ_on_every_task_alike_keep_their_means() -> None:
    table = np.array([[0.1, 0.5, 0.3], [0.3, 0.7, 0.5]])
    assert_allclose(shrink_means(table), table.mean(axis=1))


def test_the_share_that_is_kept_is_one_minus_one_over_f() -> None:
    table = np.array([[1.0, 1.0, 0.5, 1.0], [0.5, 0.0, 0.5, 0.0], [0.5, 1.0, 0.0, 0.5]])
    means = table.mean(axis=1)
    # By hand: 4 × var(means) = 19/48, and a residual sum of squares of 17/24 on 6 degrees of freedom, so F = 57/17.
    assert_allclose(shrink_means(table) - means.mean(), 40 / 57 * (means - means.mean()))


@pytest.mark.parametrize("table", [[[0.5], [0.7]], [[0.5, 0.1]]])
def test_one_arm_or_one_task_tells_nothing_about_chance(table: list[list[float]]) -> None:
    assert_allclose(shrink_means(np.array(table)), np.array(table).mean(axis=1))


def test_a_reader_is_told_which_runs_are_set_aside() -> None:
    (said,) = describe_choices({"two": a_choice("two")}, {"baseline": 4, "variant": 4}, {})
    assert said.startswith("8 runs of 'baseline', 'variant' were made to choose")


def test_an_arm_that_nothing_was_chosen_for_was_not_run() -> None:
    (said,) = describe_choices({"two": a_choice("two", None, reason="no arm can be chosen")}, {}, {})
    assert said == "'two' was not run: no arm can be chosen."


def test_without_held_out_repeats_the_gain_of_the_chosen_arm_is_called_optimistic_and_shrunken() -> None:
    arms = evidence_of(
        runs_of_arm("baseline", [[True], [True], [True], [False]]),
        runs_of_arm("variant", [[True], [False], [False], [True]]),
    ).arms
    (said,) = describe_choices({"two": a_choice("two", inherit=OPEN)}, {}, arms)
    assert "'baseline' was chosen for 'two' by the runs that are reported (held_out = false)" in said
    assert said.endswith("optimistic: +12 points above the mean of the 2 arms, +0 when shrunken for the choice.")


def test_a_candidate_without_reported_runs_does_not_lend_its_place_to_another_arm() -> None:
    arms = evidence_of(
        runs_of_arm("variant", [[True], [True], [True], [False]]),
        runs_of_arm("third", [[False], [False], [False], [False]]),
    ).arms
    missing, variant = a_choice().candidates
    third = msgspec.structs.replace(variant, arm="third")
    choice = a_choice("two", "variant", inherit=OPEN, candidates=(missing, variant, third))
    (said,) = describe_choices({"two": choice}, {}, arms)
    assert "optimistic: +38 points above the mean of the 2 arms" in said


def test_nothing_is_said_about_the_gain_of_an_arm_without_reported_runs() -> None:
    arms = evidence_of(runs_of_arm("baseline", [[True], [False]])).arms
    (said,) = describe_choices({"two": a_choice("two", "variant", inherit=OPEN)}, {}, arms)
    assert said.endswith("so its figures are optimistic.")
