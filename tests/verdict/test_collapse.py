"""Tasks that collapse are counted, and their number is compared with what chance gives."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.testing.builders import evidence_of, runs_of_arm
from outweigh.verdict.collapse import chance_of_a_drop, collapse_test, count_collapses, count_p_value, rule_of_three
from outweigh.verdict.evidence_settings import ERROR_RATES


def tables(before: list[list[bool]], after: list[list[bool]]) -> Comparison:
    return compare_arms(evidence_of(runs_of_arm("old", before), runs_of_arm("new", after)), "old", "new")


def suite(tasks: int, collapsed: int, repeats: int = 5) -> Comparison:
    """So many tasks that always pass, some of which never pass in the candidate."""
    passing = [[True] * repeats for _ in range(tasks)]
    return tables(passing, [[False] * repeats if place < collapsed else runs for place, runs in enumerate(passing)])


def raises_alarm(compared: Comparison) -> bool:
    return collapse_test(compared.baseline_table, compared.candidate_table).is_alarm(ERROR_RATES.task_alarm)


@pytest.mark.parametrize("tasks", [20, 50, 100])
@pytest.mark.parametrize("collapsed", [2, 3, 5])
def test_two_collapses_are_detected_with_five_repeats(tasks: int, collapsed: int) -> None:
    assert raises_alarm(suite(tasks, collapsed))


@pytest.mark.parametrize("tasks", [20, 100])
def test_nothing_is_detected_where_nothing_fell(tasks: int) -> None:
    assert not raises_alarm(suite(tasks, 0))


@pytest.mark.parametrize("collapsed", [2, 20])
def test_with_four_repeats_no_collapse_can_be_detected(collapsed: int) -> None:
    assert not raises_alarm(suite(20, collapsed, repeats=4))


def test_one_deep_collapse_is_detected_among_many_tasks_with_ten_repeats() -> None:
    assert raises_alarm(suite(100, 1, repeats=10))


def raises_alarm_for(before: np.ndarray, after: np.ndarray) -> bool:
    """The same for passes as tasks × runs, without records."""
    arms = [{str(task): runs.astype(float).tolist() for task, runs in enumerate(arm)} for arm in (before, after)]
    return count_collapses(*arms).is_alarm(ERROR_RATES.task_alarm)


def test_two_collapses_are_detected_among_tasks_that_toss_a_coin() -> None:
    dice = np.random.default_rng(3)
    detected = 0
    for _ in range(200):
        before, after = (dice.random((50, 5)) < 0.5 for _ in range(2))
        before[:2], after[:2] = True, False
        detected += raises_alarm_for(before, after)

    assert detected >= 198


@pytest.mark.parametrize(("ease", "repeats"), [(0.5, 5), (0.5, 10), (0.8, 7)])
def test_identical_arms_are_alarmed_in_one_of_a_hundred_experiments_at_most(ease: float, repeats: int) -> None:
    dice = np.random.default_rng(repeats)
    experiments, tasks = 1000, 40
    alarms = 0
    for _ in range(experiments):
        before, after = (dice.random((tasks, repeats)) < ease for _ in range(2))
        alarms += raises_alarm_for(before, after)

    # Two standard errors of the simulation above 1 %.
    assert alarms / experiments <= 0.01 + 0.0063


def test_the_number_of_events_is_tested_against_the_poisson_binomial_law() -> None:
    chances = [0.1, 0.5, 0.25]
    exact = sum(
        np.prod([chance if hit else 1 - chance for hit, chance in zip(hits, chances, strict=True)])
        for hits in product((True, False), repeat=3)
        if sum(hits) >= 2
    )

    assert count_p_value(2, chances) == pytest.approx(exact)


def test_with_equal_chances_it_is_the_binomial_law() -> None:
    assert count_p_value(3, [0.02] * 50) == pytest.approx(float(stats.binom.sf(2, 50, 0.02)))
    assert count_p_value(0, [0.02] * 50) == 1.0
    assert count_p_value(1, []) == count_p_value(1, [0.0, 0.0]) == 0.0


@pytest.mark.parametrize(
    ("before", "after", "chance"),
    [
        ([1, 1, 1, 1, 1], [0, 0, 0, 0, 0], 1 / 252),
        ([1, 0, 1, 0, 1], [0, 1, 0, 0, 1], 1 / 252),
        ([1, 1, 1, 1, 1], [1, 0, 0, 0, 0], 0.0),
        ([1, 1, 1, 1], [0, 0, 0, 0], 0.0),
        ([1, 1, 1, 1, 1], [1, 1, 1, 1, 1], 0.0),
    ],
)
def test_the_chance_of_a_drop_is_what_the_outcomes_of_a_task_could_show_at_all(
    before: list[int], after: list[int], chance: float
) -> None:
    outcomes = [float(value) for value in before], [float(value) for value in after]

    assert chance_of_a_drop(*outcomes, 0.01) == pytest.approx(chance)


def test_a_fall_of_less_than_80_points_is_counted_only_by_its_depth() -> None:
    """From 9 of 10 to 2 of 10 is none; 11 passes could have been 10 and 1, in 11 of C(20, 10) ways."""
    before, after = [1.0] * 9 + [0.0], [1.0] * 2 + [0.0] * 8

    assert chance_of_a_drop(before, after, 0.01) > 0.002
    assert chance_of_a_drop(before, after, 0.01, fall=0.8) == pytest.approx(11 / 184_756)


@pytest.mark.parametrize("tasks", [100, 300])
def test_effects_that_differ_by_task_and_cancel_out_are_no_collapses(tasks: int) -> None:
    dice, detected = np.random.default_rng(tasks), 0
    for _ in range(100):
        logits = dice.normal(0.4, 1.6, (tasks, 1))
        moved = logits + dice.normal(0, 0.4, (tasks, 1))
        before, after = (dice.random((tasks, 10)) < 1 / (1 + np.exp(-chance)) for chance in (logits, moved))
        detected += raises_alarm_for(before, after)

    assert detected <= 3


def test_a_task_that_fell_beyond_chance_is_never_among_those_that_may_be_chance() -> None:
    before, after = [True] * 9 + [False], [True] * 2 + [False] * 8
    compared = tables([before] * 30, [after, *[before] * 29])

    found = collapse_test(compared.baseline_table, compared.candidate_table)

    assert [task.p_value for task in found.dropped] == [pytest.approx(0.0027, rel=0.1)]
    assert found.lesser == ()


def test_a_task_with_shares_of_checks_is_given_the_whole_level() -> None:
    assert chance_of_a_drop([1.0, 0.9, 1.0, 0.95, 1.0], [0.5, 0.4, 0.6, 0.5, 0.45], 0.01) == 0.01


def test_what_may_break_unseen_follows_the_rule_of_three() -> None:
    assert rule_of_three(100) == pytest.approx(3 / 100, rel=0.02)
    assert (1 - rule_of_three(60)) ** 60 == pytest.approx(0.05)
    assert rule_of_three(0) == 1.0
