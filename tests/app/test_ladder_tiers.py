r"""Tiers of arms: read from their names, or from what their records say."""

from typing import Any

import pytest

from outweigh.app.ladder_tiers import plan_tiers, read_tiers_of_names
from outweigh.compare.evidence import Evidence
from outweigh.errors import UsageError
from outweigh.model.run_record import TIER_LABEL, TIER_NAME_LABEL, RunRecord
from outweigh.testing.builders import a_run, evidence_of

NUMBER = r"T(\d+)"


def of_arms(*arms: str) -> Evidence:
    return evidence_of([a_run("task", arm) for arm in arms])


def on_tier(arm: str, number: Any, name: str | None = None, repeat: int = 1) -> RunRecord:
    labels = {TIER_LABEL: number} | ({} if name is None else {TIER_NAME_LABEL: name})
    return a_run("task", arm, repeat, extra=labels)


def test_the_first_group_is_the_number_and_the_whole_match_the_name() -> None:
    arms = ["m/T0/00", "m/T0/01", "m/T10/00"]

    assert read_tiers_of_names(NUMBER, arms) == {arms[0]: (0, "T0"), arms[1]: (0, "T0"), arms[2]: (10, "T10")}


def test_tiers_read_from_names_are_called_by_what_their_arms_share() -> None:
    plan, notes = plan_tiers(of_arms("m/T0/00", "m/T0/01", "m/T2/00"), None, pattern=NUMBER)

    assert (plan.tiers, plan.names) == ({"m/T0/00": 0, "m/T0/01": 0, "m/T2/00": 2}, {0: "T0", 2: "T2"})
    assert notes == ()


def test_a_match_that_differs_between_arms_is_no_name() -> None:
    plan, _ = plan_tiers(of_arms("T1-a", "T1-b"), None, pattern=r"T(\d+)-.*")

    assert (plan.tiers, plan.names) == ({"T1-a": 1, "T1-b": 1}, {})


def test_arms_that_do_not_match_are_listed() -> None:
    plan, notes = plan_tiers(of_arms("T0-a", "other", "T1-a", "plain"), None, pattern=NUMBER)

    assert plan.tiers == {"T0-a": 0, "T1-a": 1}
    assert notes == (r"arms that do not match --tiers 'T(\d+)' are left out: 'other', 'plain'.",)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"T(\d+", "is not a regular expression: missing )"),
        (r"T\d+", "has no group"),
        (r"X(\d+)", "matches no arm; the records hold 'T1/T2', 'T3'"),
        (r"(T)", "finds 'T' in arm 'T1/T2', which is not the number of a tier"),
        (r"T(\d+)?", "finds two numbers in arm 'T1/T2', 1 and 2"),
        (r"T|(\d+)", "finds '' in arm 'T1/T2', which is not the number of a tier"),
    ],
)
def test_an_expression_that_does_not_say_one_number_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(UsageError) as refusal:
        read_tiers_of_names(pattern, ["T1/T2", "T3"])
    assert said in str(refusal.value)
    assert pattern in str(refusal.value) or "in arm" in str(refusal.value)


def test_a_number_that_is_no_tier_is_refused() -> None:
    with pytest.raises(UsageError, match=r"finds '99999' in arm 'T99999'.*0 to 10,000"):
        read_tiers_of_names(NUMBER, ["T99999"])


def test_the_same_number_twice_is_one_number() -> None:
    assert read_tiers_of_names(NUMBER, ["T1/T1"]) == {"T1/T1": (1, "T1")}


def test_an_order_and_an_expression_contradict_each_other() -> None:
    with pytest.raises(UsageError, match="leave one of them out"):
        plan_tiers(of_arms("a", "b"), None, order=("a", "b"), pattern=NUMBER)


def test_records_that_name_their_tier_need_no_option() -> None:
    evidence = evidence_of(on_tier("a", 0, "T0"), on_tier("b", 0, "T0"), on_tier("c", 3, "T3"), a_run("task", "d"))

    plan, notes = plan_tiers(evidence, None)

    assert (plan.tiers, plan.names) == ({"a": 0, "b": 0, "c": 3}, {0: "T0", 3: "T3"})
    assert notes == ("arms whose records name no tier are left out: 'd'.",)


def test_an_expression_is_used_before_what_records_name() -> None:
    plan, _ = plan_tiers(evidence_of(on_tier("T1", 7), on_tier("T2", 7)), None, pattern=NUMBER)

    assert plan.tiers == {"T1": 1, "T2": 2}


def test_records_that_put_an_arm_on_two_tiers_are_not_used_and_said() -> None:
    evidence = evidence_of(on_tier("a", 1), on_tier("a", 2, repeat=2), on_tier("b", 1))

    plan, (note,) = plan_tiers(evidence, None)

    assert plan.tiers is None
    assert note.startswith("the records of arm 'a' put it on tier 1 and on tier 2")


@pytest.mark.parametrize("label", ["3", "T3", "t3", " 3 "])
def test_a_table_may_have_the_tier_as_a_text(label: str) -> None:
    assert plan_tiers(evidence_of(on_tier("a", label)), None).plan.tiers == {"a": 3}


@pytest.mark.parametrize("label", ["free", "3.5", "", "T", "12345", True, -1, 1.5, None])
def test_a_label_that_is_no_number_of_a_tier_is_not_taken_for_one(label: Any) -> None:
    assert plan_tiers(evidence_of(on_tier("a", label)), None).plan.tiers is None
