import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.power import TTestPower

from outweigh.stats.power import effect_by_normal, effect_by_t, power_of_t, tasks_by_normal


@pytest.mark.parametrize(("noise", "tasks"), [(0, 969), (2 / 6, 3876), (2 / 60, 1260)])
def test_tasks_for_three_points_with_and_without_repeat_noise(noise: float, tasks: int) -> None:
    assert math.ceil(tasks_by_normal(0.03, 1 / 9 + noise)) == tasks


@pytest.mark.parametrize(("effect", "tasks"), [(0.5, 33.367), (0.2, 198.15)])
def test_tasks_for_the_paired_t_test(effect: float, tasks: float) -> None:
    assert tasks_by_t(effect, 1.0) == pytest.approx(tasks, abs=0.005)


@pytest.mark.parametrize("tasks", [2, 3, 6, 20, 200])
@pytest.mark.parametrize("effect", [0.0, 0.2, 0.8, 1.5])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_power_of_t_agrees_with_statsmodels(effect: float, tasks: int, alpha: float) -> None:
    theirs = TTestPower().power(effect, tasks, alpha)

    assert power_of_t(effect, tasks, alpha) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(("effect", "power"), [(0.3, 0.9), (1.2, 0.8)])
def test_the_tasks_of_t_agree_with_statsmodels(effect: float, power: float) -> None:
    theirs = TTestPower().solve_power(effect, power=power, alpha=0.05)

    assert tasks_by_t(effect, 1.0, 0.05, power) == pytest.approx(theirs, rel=1e-5)


def test_power_without_an_effect_is_alpha() -> None:
    assert power_of_t(0.0, 12, 0.05) == pytest.approx(0.05)


@given(effect=st.floats(0.05, 3), variance=st.floats(0.01, 10), power=st.floats(0.2, 0.99))
@settings(max_examples=12, deadline=None)
def test_tasks_and_effect_undo_each_other(effect: float, variance: float, power: float) -> None:
    tasks = tasks_by_t(effect, variance, 0.05, power)

    assert effect_by_normal(tasks_by_normal(effect, variance, 0.05, power), variance, 0.05, power) == pytest.approx(
        effect
    )
    assert tasks == 2 or effect_by_t(tasks, variance, 0.05, power) == pytest.approx(effect, rel=1e-5)


def test_a_small_sample_needs_a_little_more_than_the_normal_law_says() -> None:
    assert 1 < tasks_by_t(0.5, 1) - tasks_by_normal(0.5, 1) < 3
    assert tasks_by_t(0.02, 1) - tasks_by_normal(0.02, 1) == pytest.approx(1.92, abs=0.05)


def test_the_sign_of_an_effect_does_not_matter_and_its_unit_cancels() -> None:
    assert tasks_by_t(-0.4, 1) == tasks_by_t(0.4, 1)
    assert tasks_by_t(40, 100**2) == pytest.approx(tasks_by_t(0.4, 1))


def test_half_the_effect_needs_four_times_the_tasks() -> None:
    assert tasks_by_normal(0.1, 1) == pytest.approx(4 * tasks_by_normal(0.2, 1))


def test_no_effect_needs_endless_tasks() -> None:
    assert tasks_by_normal(0.0, 1.0) == math.inf
    assert tasks_by_t(0.0, 1.0) == math.inf


def test_a_huge_effect_still_needs_two_tasks() -> None:
    assert tasks_by_t(1000.0, 1.0) == 2


@pytest.mark.parametrize("variance", [0.0, -1.0, math.nan, math.inf])
def test_a_plan_without_a_variance_is_refused(variance: float) -> None:
    with pytest.raises(ValueError, match="variance"):
        tasks_by_t(0.5, variance)


@pytest.mark.parametrize(("alpha", "power"), [(0.0, 0.8), (0.05, 1.0), (0.9, 0.8)])
def test_a_plan_with_impossible_error_rates_is_refused(alpha: float, power: float) -> None:
    with pytest.raises(ValueError, match="0 < alpha < power < 1"):
        tasks_by_normal(0.5, 1.0, alpha, power)


def test_one_task_has_no_t_test() -> None:
    with pytest.raises(ValueError, match="at least 2 tasks"):
        power_of_t(0.5, 1)
