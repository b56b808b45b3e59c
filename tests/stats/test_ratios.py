import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.ratios import fieller_interval, geometric_ratio, mean_logs, ratio_interval, ratio_of_ratios_interval

COST_A = np.array([1.2, 0.8, 2.5, 0.9, 3.1, 1.7])
COST_B = np.array([1.0, 1.0, 2.0, 1.1, 2.9, 1.1])
costs = st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.01, 100)), min_size=3, max_size=30)


def ratio_of(a: object, b: object) -> Estimate:
    with np.errstate(all="ignore"):
        return geometric_ratio(np.log(a) - np.log(b), level=0.95, unit=Unit.TASK)  # type: ignore[call-overload]


def interval_of(estimate: Estimate) -> Interval:
    assert estimate.interval is not None
    return estimate.interval


def test_a_task_twice_as_dear_and_one_twice_as_cheap_cancel_out() -> None:
    estimate = geometric_ratio([math.log(2), -math.log(2)], level=0.95, unit=Unit.TASK)

    assert estimate.point == pytest.approx(1)
    assert interval_of(estimate).high == pytest.approx(math.exp(12.706204736 * math.log(2)), rel=1e-8)


def test_the_point_and_interval_agree_with_scipy_on_the_logs() -> None:
    theirs = scipy.stats.ttest_rel(np.log(COST_A), np.log(COST_B)).confidence_interval(0.95)
    ours = ratio_of(COST_A, COST_B)

    assert ours.point == pytest.approx(scipy.stats.gmean(COST_A / COST_B))
    assert interval_of(ours).low == pytest.approx(math.exp(theirs.low))
    assert interval_of(ours).high == pytest.approx(math.exp(theirs.high))


@given(pairs=costs)
def test_swapping_the_arms_inverts_the_ratio(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    forth, back = ratio_of(a, b), ratio_of(b, a)

    assert forth.point is not None
    assert back.point == pytest.approx(1 / forth.point)
    if forth.interval is not None:
        assert interval_of(back).high == pytest.approx(1 / forth.interval.low, rel=1e-8)


def test_changing_the_currency_leaves_the_ratio_alone() -> None:
    dollars, cents = ratio_of(COST_A, COST_B), ratio_of(COST_A * 100, COST_B * 100)

    assert cents.point == pytest.approx(dollars.point)
    assert cents.standard_error == pytest.approx(dollars.standard_error)


@pytest.mark.parametrize("spoiled", [0.0, -1.0, math.nan, math.inf])
def test_a_value_without_a_log_makes_the_ratio_unknown(spoiled: float) -> None:
    logs = mean_logs(np.array([1.0, 2.0, spoiled, 3.0]), np.array([0, 0, 1, 2]), 3)
    estimate = geometric_ratio(logs, level=0.95, unit=Unit.TASK)

    assert (estimate.point, estimate.interval) == (None, None)
    assert "1 of 3 tasks have no log ratio" in estimate.warnings[0]


def test_runs_are_averaged_on_the_log_scale_within_their_task() -> None:
    logs = mean_logs(np.array([1.0, 100.0, 7.0]), np.array([0, 0, 2]), 3)

    assert logs[[0, 2]] == pytest.approx([math.log(10), math.log(7)])
    assert math.isnan(logs[1])


@pytest.mark.parametrize("factor", [1.0, 1.1])
def test_the_same_ratio_everywhere_has_a_point_but_no_interval(factor: float) -> None:
    estimate = ratio_of(COST_B * factor, COST_B)

    assert estimate.point == pytest.approx(factor)
    assert (estimate.interval, estimate.standard_error) == (None, None)
    assert "equal" in estimate.warnings[0]


def test_a_single_task_has_a_geometric_ratio_but_no_interval() -> None:
    estimate = geometric_ratio([0.5], level=0.95, unit=Unit.TASK)

    assert estimate.point == pytest.approx(math.exp(0.5))
    assert estimate.interval is None


def test_an_end_beyond_all_floats_is_infinite_and_raises_nothing() -> None:
    interval = interval_of(geometric_ratio([600.0, -600.0], level=0.95, unit=Unit.TASK))

    assert (interval.low, interval.high) == (0, math.inf)


X = [1.2, 0.8, 2.5, 0.9, 3.1, 1.7, 0.6, 1.1, 2.2, 1.4]
Y = [3.0, 2, 4, 3, 5, 4, 1, 3, 4, 3]
ALL_METHODS = (ratio_interval, fieller_interval)
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


def test_the_golden_ratio_has_its_two_intervals() -> None:
    on_logs, fieller = (method(X, Y, level=0.95, unit=Unit.TASK) for method in ALL_METHODS)

    assert (on_logs.point, fieller.point) == pytest.approx((0.484375,) * 2)
    assert ends(on_logs) == pytest.approx((0.4026992, 0.5826164), abs=5e-8)
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


@pytest.mark.parametrize("method", ALL_METHODS)
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


@pytest.mark.parametrize(
    ("numerators", "denominators", "reason"),
    [([], [], "no values"), ([1.0, 2.0], [1.0, math.inf], "1 of the values are missing or infinite")],
)
def test_what_is_missing_is_not_called_a_sum_of_zero(
    numerators: list[float], denominators: list[float], reason: str
) -> None:
    assert ratio_interval(numerators, denominators, level=0.95, unit=Unit.TASK).warnings == (reason,)
