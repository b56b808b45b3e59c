import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.ratios import fieller_interval, ratio_interval, ratio_of_ratios_interval

X = [1.2, 0.8, 2.5, 0.9, 3.1, 1.7, 0.6, 1.1, 2.2, 1.4]
Y = [3.0, 2, 4, 3, 5, 4, 1, 3, 4, 3]
ALL_METHODS = (ratio_interval, plain_ratio_interval, fieller_interval)
positive = st.integers(1, 1000).map(float)
pairs_strategy = st.lists(st.tuples(positive, positive), min_size=4, max_size=30)


def ends(estimate: Estimate) -> tuple[float, float]:
    interval = estimate.interval
    assert isinstance(interval, Interval)
    return interval.low, interval.high


def arm_ratio(cost_a: object, solved_a: object, cost_b: object, solved_b: object) -> Estimate:
    return ratio_of_ratios_interval(
        numerators_a=np.array(cost_a, dtype=float),
        denominators_a=np.array(solved_a, dtype=float),
        numerators_b=np.array(cost_b, dtype=float),
        denominators_b=np.array(solved_b, dtype=float),
        level=0.95,
        unit=Unit.TASK,
    )


def test_the_golden_ratio_has_its_three_intervals() -> None:
    on_logs, plain, fieller = (method(X, Y, level=0.95, unit=Unit.TASK) for method in ALL_METHODS)

    assert (on_logs.point, plain.point, fieller.point) == pytest.approx((0.484375,) * 3)
    assert ends(on_logs) == pytest.approx((0.4026992, 0.5826164), abs=5e-8)
    assert ends(plain) == pytest.approx((0.3949257, 0.5738243), abs=5e-8)
    assert ends(fieller) == pytest.approx((0.3800611, 0.5663586), abs=5e-8)


def test_the_log_delta_error_agrees_with_a_numeric_derivative_of_the_log_ratio() -> None:
    x, y = np.array(X), np.array(Y)
    mean, step = np.array([x.mean(), y.mean()]), 1e-6
    up, down = np.log(mean + step), np.log(mean - step)
    gradient = np.array([1, -1]) * (up - down) / (2 * step)
    error = math.sqrt(gradient @ np.cov(x, y) @ gradient / x.size)

    low, high = ends(ratio_interval(X, Y, level=0.95, unit=Unit.TASK))
    assert math.log(high / low) / 2 == pytest.approx(student.ppf(0.975, 9) * error, rel=1e-8)


def test_fieller_ends_are_where_the_t_test_of_the_residual_is_just_significant() -> None:
    critical = student.ppf(0.975, 9)
    for end in ends(fieller_interval(X, Y, level=0.95, unit=Unit.TASK)):
        residual = np.array(X) - end * np.array(Y)
        assert abs(residual.mean()) / residual.std(ddof=1) * math.sqrt(10) == pytest.approx(critical)


@given(pairs=pairs_strategy, seed=st.integers(0, 99))
def test_the_order_of_tasks_does_not_matter(pairs: list[tuple[float, float]], seed: int) -> None:
    x, y = np.array(pairs).T
    order = np.random.default_rng(seed).permutation(x.size)
    before = ratio_interval(x, y, level=0.95, unit=Unit.TASK)
    after = ratio_interval(x[order], y[order], level=0.95, unit=Unit.TASK)

    assert after.point == pytest.approx(before.point)
    if before.interval is not None:
        assert ends(after) == pytest.approx(ends(before), rel=1e-7)


def test_solved_per_dollar_inverts_dollars_per_solved() -> None:
    low, high = ends(ratio_interval(X, Y, level=0.95, unit=Unit.TASK))

    assert ends(ratio_interval(Y, X, level=0.95, unit=Unit.TASK)) == pytest.approx((1 / high, 1 / low))


@pytest.mark.parametrize("method", [ratio_interval, plain_ratio_interval, fieller_interval])
def test_cents_instead_of_dollars_scale_every_interval(method: object) -> None:
    assert callable(method)
    dollars = ends(method(X, Y, level=0.95, unit=Unit.TASK))
    cents = ends(method([100 * x for x in X], Y, level=0.95, unit=Unit.TASK))

    assert cents == pytest.approx([100 * end for end in dollars])


def test_duplicating_all_tasks_shrinks_the_error_by_about_root_two() -> None:
    once = ratio_interval(X, Y, level=0.95, unit=Unit.TASK).standard_error
    twice = ratio_interval(X * 2, Y * 2, level=0.95, unit=Unit.TASK).standard_error

    assert once is not None
    assert twice is not None
    assert once / twice == pytest.approx(math.sqrt(2), rel=0.04)


def test_cost_per_solved_pools_over_tasks_and_stays_finite_with_an_unsolved_task() -> None:
    estimate = ratio_interval([1.0, 2.0, 3.0], [1.0, 1.0, 0.0], level=0.95, unit=Unit.TASK)

    assert estimate.point == pytest.approx(3)
    assert all(map(math.isfinite, ends(estimate)))


def test_the_ratio_of_two_arms_has_a_hand_computed_interval() -> None:
    # Influences: 2/3 - 1, 4/3 - 1 for A's cost, 1/2 - 1, 3/2 - 1 for B's; solved counts are constant.
    estimate = arm_ratio([2, 4], [1, 1], [1, 3], [1, 1])
    error = math.sqrt(((1 / 6) ** 2) * 2) / math.sqrt(2)

    assert estimate.point == pytest.approx(1.5)
    assert ends(estimate)[1] == pytest.approx(1.5 * math.exp(12.7062047 * error), rel=1e-6)


def test_swapping_the_arms_inverts_the_ratio_of_ratios() -> None:
    forth, back = arm_ratio(X, Y, Y, X), arm_ratio(Y, X, X, Y)

    assert ends(back) == pytest.approx((1 / ends(forth)[1], 1 / ends(forth)[0]))


def test_an_arm_that_is_cheaper_by_a_third_on_every_task_has_no_interval() -> None:
    estimate = arm_ratio(np.array(X) / 3, Y, X, Y)

    assert estimate.point == pytest.approx(1 / 3)
    assert (estimate.interval, estimate.standard_error) == (None, None)


@pytest.mark.parametrize("method", ALL_METHODS)
def test_denominators_that_sum_to_zero_make_the_ratio_unknown(method: object) -> None:
    assert callable(method)
    estimate = method(X, [0.0] * 10, level=0.95, unit=Unit.TASK)

    assert (estimate.point, estimate.interval) == (None, None)
    assert estimate.warnings == ("the denominators sum to zero",)


def test_an_arm_that_solves_nothing_makes_the_comparison_unknown() -> None:
    estimate = arm_ratio(X, [0.0] * 10, X, Y)

    assert (estimate.point, estimate.interval) == (None, None)


def test_a_free_baseline_makes_the_comparison_unknown_and_a_free_candidate_makes_it_zero() -> None:
    assert arm_ratio(X, Y, [0.0] * 10, Y).point is None
    assert arm_ratio([0.0] * 10, Y, X, Y).point == 0
    assert arm_ratio([0.0] * 10, Y, X, Y).interval is None


def test_a_denominator_that_may_be_zero_leaves_fieller_unbounded() -> None:
    estimate = fieller_interval([1.0, 2, 3, 4], [5.0, -4, 3, -2], level=0.95, unit=Unit.TASK)

    assert ends(estimate) == (-math.inf, math.inf)
    assert "unbounded" in estimate.warnings[0]


@pytest.mark.parametrize("method", ALL_METHODS)
def test_proportional_costs_have_a_point_but_no_interval(method: object) -> None:
    assert callable(method)
    estimate = method([0.1 * y for y in Y], Y, level=0.95, unit=Unit.TASK)

    assert estimate.point == pytest.approx(0.1)
    assert estimate.interval is None
    assert "move together" in estimate.warnings[0]


@pytest.mark.parametrize("method", ALL_METHODS)
@pytest.mark.parametrize(("x", "y"), [([math.nan, 1.0], [1.0, 1.0]), ([1.0, 1.0], [math.inf, 1.0]), ([], [])])
def test_missing_values_make_the_ratio_unknown(method: object, x: list[float], y: list[float]) -> None:
    assert callable(method)
    estimate = method(x, y, level=0.95, unit=Unit.TASK)

    assert (estimate.point, estimate.interval) == (None, None)
    assert estimate.warnings


@pytest.mark.parametrize("method", ALL_METHODS)
def test_a_single_task_has_a_ratio_but_no_interval(method: object) -> None:
    assert callable(method)
    estimate = method([3.0], [2.0], level=0.95, unit=Unit.TASK)

    assert (estimate.point, estimate.interval) == (1.5, None)
    assert "need >= 2 tasks" in estimate.warnings[0]


def test_samples_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="pair up"):
        ratio_interval(X, Y[:-1], level=0.95, unit=Unit.TASK)
