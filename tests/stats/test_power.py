import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.power import TTestPower

from outweigh.stats.power import (
    DesignPrices,
    cheapest_design,
    effect_by_normal,
    effect_by_t,
    optimal_repeats,
    power_of_t,
    tabulate_detectable_effects,
    tasks_by_normal,
)
from outweigh.stats.variance import VarianceComponents


@pytest.mark.parametrize(("noise", "tasks"), [(0, 969), (2 / 6, 3876), (2 / 60, 1260)])
def test_tasks_for_three_points_with_and_without_repeat_noise(noise: float, tasks: int) -> None:
    assert math.ceil(tasks_by_normal(0.03, 1 / 9 + noise)) == tasks


@pytest.mark.parametrize(("effect", "tasks"), [(0.5, 33.367), (0.2, 198.15)])
def test_tasks_for_the_paired_t_test(effect: float, tasks: float) -> None:
    assert power_of_t(effect, tasks - 0.005) < 0.8 < power_of_t(effect, tasks + 0.005)


@pytest.mark.parametrize("tasks", [2, 3, 6, 20, 200])
@pytest.mark.parametrize("effect", [0.0, 0.2, 0.8, 1.5])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_power_of_t_agrees_with_statsmodels(effect: float, tasks: int, alpha: float) -> None:
    theirs = TTestPower().power(effect, tasks, alpha)

    assert power_of_t(effect, tasks, alpha) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(("effect", "power"), [(0.3, 0.9), (1.2, 0.8)])
def test_the_effect_of_t_agrees_with_statsmodels(effect: float, power: float) -> None:
    tasks = TTestPower().solve_power(effect, power=power, alpha=0.05)

    assert effect_by_t(tasks, 1.0, 0.05, power) == pytest.approx(effect, rel=1e-5)


def test_power_without_an_effect_is_alpha() -> None:
    assert power_of_t(0.0, 12, 0.05) == pytest.approx(0.05)


@given(effect=st.floats(0.05, 3), variance=st.floats(0.01, 10), power=st.floats(0.2, 0.99))
@settings(max_examples=12, deadline=None)
def test_tasks_and_effect_undo_each_other(effect: float, variance: float, power: float) -> None:
    tasks = tasks_by_normal(effect, variance, 0.05, power)

    assert effect_by_normal(tasks, variance, 0.05, power) == pytest.approx(effect)


@given(tasks=st.floats(2, 5000), variance=st.floats(0.01, 10), power=st.floats(0.2, 0.99))
@settings(max_examples=12, deadline=None)
def test_the_effect_of_t_has_just_the_power_it_was_asked_for(tasks: float, variance: float, power: float) -> None:
    effect = effect_by_t(tasks, variance, 0.05, power)

    assert power_of_t(effect / math.sqrt(variance), tasks, 0.05) == pytest.approx(power, rel=1e-5)


@pytest.mark.parametrize(("effect", "least", "most"), [(0.5, 1, 3), (0.02, 1.87, 1.97)])
def test_a_small_sample_needs_a_little_more_than_the_normal_law_says(effect: float, least: float, most: float) -> None:
    tasks = tasks_by_normal(effect, 1)

    assert power_of_t(effect, tasks + least) < 0.8 < power_of_t(effect, tasks + most)


def test_the_sign_of_an_effect_does_not_matter_and_its_unit_cancels() -> None:
    assert tasks_by_normal(-0.4, 1) == tasks_by_normal(0.4, 1)
    assert power_of_t(-0.4, 20) == pytest.approx(power_of_t(0.4, 20), rel=1e-14)
    assert tasks_by_normal(40, 100**2) == pytest.approx(tasks_by_normal(0.4, 1))
    assert effect_by_t(20, 100**2) == pytest.approx(100 * effect_by_t(20, 1))


def test_half_the_effect_needs_four_times_the_tasks() -> None:
    assert tasks_by_normal(0.1, 1) == pytest.approx(4 * tasks_by_normal(0.2, 1))


def test_no_effect_needs_endless_tasks() -> None:
    assert tasks_by_normal(0.0, 1.0) == math.inf


@pytest.mark.parametrize("plan", [tasks_by_normal, effect_by_normal, effect_by_t])
@pytest.mark.parametrize("variance", [0.0, -1.0, math.nan, math.inf])
def test_a_plan_without_a_variance_is_refused(plan: Callable[[float, float], float], variance: float) -> None:
    with pytest.raises(ValueError, match="variance"):
        plan(12, variance)


@pytest.mark.parametrize(("alpha", "power"), [(0.0, 0.8), (0.05, 1.0), (0.9, 0.8)])
def test_a_plan_with_impossible_error_rates_is_refused(alpha: float, power: float) -> None:
    with pytest.raises(ValueError, match="0 < alpha < power < 1"):
        tasks_by_normal(0.5, 1.0, alpha, power)


def test_one_task_has_no_t_test() -> None:
    with pytest.raises(ValueError, match="at least 2 tasks"):
        power_of_t(0.5, 1)


def components(true_deltas: float | None, noise: float | None) -> VarianceComponents:
    half = None if noise is None else noise / 2
    return VarianceComponents(
        true_deltas=true_deltas, candidate_runs=half, baseline_runs=half, observed_deltas=None, tasks=50, warnings=()
    )


PILOT = components(0.115, 0.1335)
PRICES = DesignPrices(task_usd=2.0, candidate_run_usd=0.5, baseline_run_usd=0.5)


def test_more_tasks_beat_more_repeats() -> None:
    table = tabulate_detectable_effects(PILOT, [80, 200], [1, 3, 5, 10], detect=effect_by_normal)

    np.testing.assert_allclose(100 * table, [[15.6, 12.5, 11.8, 11.2], [9.9, 7.9, 7.5, 7.1]], atol=0.05)
    assert table[1, 0] < table[0, 3]


def test_the_small_sample_table_is_a_little_more_modest() -> None:
    t = tabulate_detectable_effects(PILOT, [10, 80, 2000], [1, 3])
    normal = tabulate_detectable_effects(PILOT, [10, 80, 2000], [1, 3], detect=effect_by_normal)

    assert (t > normal).all()
    np.testing.assert_allclose((t / normal)[:, 0], [1.13, 1.013, 1.0005], atol=0.02)


def test_unknown_components_give_an_unknown_table() -> None:
    assert np.isnan(tabulate_detectable_effects(components(None, None), [10], [1, 2])).all()
    assert np.isnan(tabulate_detectable_effects(components(0.0, 0.0), [10], [1, 2])).all()


def test_the_optimal_repeats_by_hand() -> None:
    # The square root of (4 × 9) / (1 × 1) is 6.
    prices = DesignPrices(task_usd=9.0, candidate_run_usd=0.75, baseline_run_usd=0.25)

    assert optimal_repeats(components(1.0, 4.0), prices) == 6


@pytest.mark.parametrize("task_usd", [0.0, 0.3, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("noise", [0.01, 0.5, 3.0])
def test_no_other_repeats_buy_more_precision_per_dollar(task_usd: float, noise: float) -> None:
    pilot, prices = components(0.2, noise), DesignPrices(task_usd=task_usd, candidate_run_usd=0.4, baseline_run_usd=0.6)

    best = optimal_repeats(pilot, prices)

    price = {r: (pilot.delta_variance(r, r) or 0) * prices.cost_usd(1, r) for r in range(1, 60)}
    assert best == min(price, key=lambda repeats: price[repeats])


@pytest.mark.parametrize(
    ("pilot", "prices", "repeats"),
    [
        (components(None, None), PRICES, None),
        (components(0.0, 1.0), PRICES, None),
        (components(1.0, 1.0), DesignPrices(task_usd=1.0, candidate_run_usd=0.0, baseline_run_usd=0.0), None),
        (components(1.0, 0.0), PRICES, 1),
        (components(0.0, 0.0), PRICES, 1),
        (components(0.0, 1.0), DesignPrices(task_usd=0.0, candidate_run_usd=1.0, baseline_run_usd=1.0), 1),
    ],
)
def test_the_limits_of_the_optimal_repeats(
    pilot: VarianceComponents, prices: DesignPrices, repeats: int | None
) -> None:
    assert optimal_repeats(pilot, prices) == repeats


def test_the_cheapest_design_has_the_power_and_no_cheaper_offer_has_it() -> None:
    tasks, repeats = range(10, 301, 10), [1, 2, 3, 5, 10]

    design = cheapest_design(PILOT, 0.1, PRICES, tasks, repeats)

    assert design is not None
    assert design.power >= 0.8
    assert design.cost_usd == PRICES.cost_usd(design.tasks, design.repeats)
    for task in tasks:
        for repeat in repeats:
            reached = power_of_t(0.1 / (PILOT.delta_variance(repeat, repeat) or 1) ** 0.5, task) >= 0.8
            assert not reached or PRICES.cost_usd(task, repeat) >= design.cost_usd


def test_expensive_tasks_are_repeated_and_expensive_runs_are_not() -> None:
    noisy, tasks, repeats = components(0.05, 0.4), range(20, 801, 5), range(1, 21)
    dear_tasks = DesignPrices(task_usd=50.0, candidate_run_usd=0.1, baseline_run_usd=0.1)
    dear_runs = DesignPrices(task_usd=0.0, candidate_run_usd=5.0, baseline_run_usd=5.0)

    repeated = cheapest_design(noisy, 0.1, dear_tasks, tasks, repeats)
    single = cheapest_design(noisy, 0.1, dear_runs, tasks, repeats)

    assert repeated is not None
    assert single is not None
    assert repeated.repeats > 5
    assert single.repeats == 1


def test_no_design_is_better_than_one_that_cannot_see_the_effect() -> None:
    assert cheapest_design(PILOT, 0.01, PRICES, [10, 50], [1, 3]) is None
    assert cheapest_design(components(None, None), 0.5, PRICES, [100], [3]) is None
    assert cheapest_design(PILOT, 0.5, PRICES, [0, 1], [3]) is None
