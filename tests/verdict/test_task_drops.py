import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.model.run_record import RunRecord
from outweigh.testing.builders import a_check, a_run, evidence_of, runs_of_arm
from outweigh.verdict.task_drops import drop_p_value, fisher_drop_p, task_drops


def tables(before: list[RunRecord], after: list[RunRecord]) -> Comparison:
    return compare_arms(evidence_of(before, after), "old", "new")


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_the_exact_test_agrees_with_scipy(runs_before: int, runs_after: int, data: st.DataObject) -> None:
    before = data.draw(st.integers(0, runs_before))
    after = data.draw(st.integers(0, runs_after))
    table = [[after, runs_after - after], [before, runs_before - before]]

    expected = stats.fisher_exact(table, alternative="less").pvalue

    assert fisher_drop_p(runs_before, before, runs_after, after) == pytest.approx(expected)


def test_shares_of_checks_are_compared_by_rank() -> None:
    p_value = drop_p_value([1.0, 0.9, 1.0, 0.95, 1.0], [0.5, 0.4, 0.6, 0.5, 0.45])

    assert p_value == pytest.approx(1 / 252)


def test_a_collapse_is_supported_and_one_lost_run_is_not() -> None:
    before = runs_of_arm("old", [[True] * 10, [True] * 10])
    after = runs_of_arm("new", [[False] * 10, [True] * 9 + [False]])

    drops = task_drops(tables(before, after).baseline_table, tables(before, after).candidate_table, 0.01)

    assert [item.task_id for item in drops.supported] == ["task-1"]
    assert drops.unsupported == ("task-2",)


def test_fewer_than_five_repeats_support_nothing() -> None:
    compared = tables(runs_of_arm("old", [[True] * 4]), runs_of_arm("new", [[False] * 4]))

    assert task_drops(compared.baseline_table, compared.candidate_table, 0.01).supported == ()


def test_a_task_without_checks_drops_nothing() -> None:
    before = [a_run("t", "old", repeat, checks=()) for repeat in range(1, 7)]
    after = [a_run("t", "new", repeat, checks=(a_check(passed=False),)) for repeat in range(1, 7)]

    compared = tables(before, after)

    assert task_drops(compared.baseline_table, compared.candidate_table, 0.01).supported == ()


def test_many_tasks_are_corrected_together() -> None:
    one = tables(runs_of_arm("old", [[True] * 5]), runs_of_arm("new", [[False] * 5]))
    hundred = tables(runs_of_arm("old", [[True] * 5] * 100), runs_of_arm("new", [[False] * 5, *[[True] * 5] * 99]))

    assert task_drops(one.baseline_table, one.candidate_table, 0.01).supported
    assert not task_drops(hundred.baseline_table, hundred.candidate_table, 0.01).supported


def test_shares_that_are_all_the_same_are_no_drop() -> None:
    assert drop_p_value([0.5] * 5, [0.5] * 5) == 1.0
