import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from outweigh.stats.bootstrap import (
    Floats,
    Weights,
    bootstrap,
    bootstrap_means,
    expanded_percentile_interval,
    percentile_interval,
)
from outweigh.stats.estimate import Estimate, Interval, Unit

SKEWED = np.array([10, 12, 12.5, 12.5, 13.9, 15, 21, 22, 23, 34, 50, 81, 89, 121, 134, 213])


def task_weights(tasks: int, draws: int, seed: int) -> Floats:
    """The weights behind the draws: the mean of a column that is 1 for a single task is that task's share."""
    return tasks * bootstrap_means(np.eye(tasks), draws, seed)


@given(tasks=st.integers(1, 300), draws=st.integers(1, 50), seed=st.integers(0, 2**64))
@settings(max_examples=40, deadline=None)
def test_every_draw_gives_out_as_many_weights_as_there_are_tasks(tasks: int, draws: int, seed: int) -> None:
    weights = task_weights(tasks, draws, seed)

    assert weights.shape == (draws, tasks)
    np.testing.assert_allclose(weights, np.rint(weights), rtol=1e-12)
    assert (np.rint(weights).sum(axis=1) == tasks).all()
    assert weights.min() >= 0


@pytest.mark.parametrize("tasks", [2, 3, 5, 49])
def test_no_draw_is_empty_however_few_the_tasks(tasks: int) -> None:
    means = bootstrap_means(np.arange(1.0, tasks + 1), 20_000, seed=3)

    assert np.isfinite(means).all()


def test_more_draws_extend_the_weights_and_do_not_change_them() -> None:
    few, many = task_weights(700, 400, seed=5), task_weights(700, 1500, seed=5)

    np.testing.assert_array_equal(few, many[:400])


def test_blocks_together_are_the_whole_matrix() -> None:
    blocks: list[Weights] = []

    def sum_of_places(weights: Weights) -> Floats:
        blocks.append(weights)
        return weights @ np.arange(5000.0)

    sums = bootstrap(sum_of_places, 5000, 120, seed=1)

    whole = np.concatenate(blocks)
    assert len(blocks) > 1
    assert whole.shape == (120, 5000)
    # Two threads draw the blocks, so these may have been seen in another order than that of the draws.
    np.testing.assert_array_equal(np.sort(sums), np.sort(whole @ np.arange(5000.0)))


def test_a_hundred_thousand_tasks_are_drawn_in_small_blocks() -> None:
    def size_and_sum(weights: Weights) -> Floats:
        return np.column_stack([np.full(len(weights), float(weights.nbytes)), weights.sum(axis=1)])

    sizes, sums = bootstrap(size_and_sum, 100_000, 100, seed=1).T

    assert sizes.max() < 10_000_000
    assert (sums == 100_000).all()


def test_another_seed_gives_other_weights() -> None:
    assert (task_weights(20, 50, seed=1) != task_weights(20, 50, seed=2)).any()


@pytest.mark.parametrize(("tasks", "draws"), [(0, 10), (10, 0)])
def test_nothing_to_draw_is_refused(tasks: int, draws: int) -> None:
    with pytest.raises(ValueError, match="at least one task and one draw"):
        bootstrap(lambda weights: weights.sum(axis=1) / 1.0, tasks, draws, seed=1)


def test_the_weights_follow_the_multinomial_law() -> None:
    weights = np.rint(task_weights(3, 60_000, seed=11))
    outcomes = [outcome for outcome in itertools.product(range(4), repeat=3) if sum(outcome) == 3]

    for outcome in outcomes:
        share = float(np.mean((weights == outcome).all(axis=1)))
        law = math.factorial(3) / math.prod(math.factorial(k) for k in outcome) / 27
        assert share == pytest.approx(law, abs=5 * math.sqrt(law / 60_000))


@pytest.mark.parametrize(
    ("weights", "means"), [([1, 1, 1], [3.0, 20.0]), ([3, 0, 0], [1.0, 10.0]), ([0, 1, 2], [14 / 3, 80 / 3])]
)
def test_weighted_means_by_hand(weights: list[int], means: list[float]) -> None:
    columns = [[1.0, 10.0], [2.0, 20.0], [6.0, 30.0]]

    drawn = bootstrap_means(np.column_stack([np.eye(3), columns]), 500, seed=1)

    with_these_weights = drawn[(np.rint(3 * drawn[:, :3]) == weights).all(axis=1), 3:]
    assert len(with_these_weights) > 0
    np.testing.assert_allclose(with_these_weights, np.tile(means, (len(with_these_weights), 1)))


def test_all_columns_share_their_draws_so_that_a_difference_of_means_is_the_mean_difference() -> None:
    table = np.random.default_rng(2).normal(size=(40, 2))

    together = bootstrap_means(table, 500, seed=9)
    differences = bootstrap_means(table[:, 0] - table[:, 1], 500, seed=9)

    np.testing.assert_allclose(together[:, 0] - together[:, 1], differences[:, 0], atol=1e-12)


def test_a_missing_value_spoils_its_own_column_only() -> None:
    table = np.ones((30, 3))
    table[4, 1] = np.nan

    means = bootstrap_means(table, 200, seed=1)

    np.testing.assert_array_equal(np.isnan(means).any(axis=0), [False, True, False])
    np.testing.assert_allclose(means[:, [0, 2]], 1)


def test_means_are_the_same_to_the_last_bit_in_whatever_order_they_are_added() -> None:
    table = np.random.default_rng(10).lognormal(0, 4, size=(777, 5))

    means = bootstrap_means(table, 64, seed=3)

    # How many rows and columns are multiplied at once decides in which order the sums are added.
    for column in range(5):
        np.testing.assert_array_equal(bootstrap_means(table[:, column], 64, seed=3)[:, 0], means[:, column])
    np.testing.assert_array_equal(bootstrap_means(np.tile(table, 300), 64, seed=3), np.tile(means, 300))
    np.testing.assert_array_equal(bootstrap_means(table, 6, seed=3), means[:6])
    weights = task_weights(777, 64, seed=3)
    assert (np.abs(means - weights @ table / 777) < 1e-13 * table.max(axis=0)).all()


def test_columns_of_tiny_huge_and_no_values_are_averaged_alike() -> None:
    table = np.linspace(1, 2, 20)[:, None] * [1e-200, 1e200, 0.0]

    means = bootstrap_means(table, 50, seed=1)

    np.testing.assert_allclose(means[:, 0] * 1e200, means[:, 1] / 1e200, rtol=1e-12)
    assert (means[:, 2] == 0).all()


def test_large_sums_keep_the_precision_of_doubles() -> None:
    costs = np.full(1000, 1e8) + np.linspace(0, 1, 1000)

    means = bootstrap_means(costs.astype(np.float64), 100, seed=1)

    np.testing.assert_allclose(means[:, 0], 1e8 + 0.5, atol=0.1)
    assert means.std() == pytest.approx(costs.std() / math.sqrt(1000), rel=0.3)


def test_the_spread_of_bootstrapped_means_is_the_closed_form() -> None:
    means = bootstrap_means(SKEWED, 200_000, seed=4)

    closed_form = SKEWED.std() / math.sqrt(len(SKEWED))
    assert closed_form == pytest.approx(14.2368, abs=5e-5)
    assert means.std() == pytest.approx(closed_form, rel=0.006)


def test_any_statistic_of_the_weights_can_be_bootstrapped() -> None:
    distinct_tasks = bootstrap(lambda weights: (weights > 0).sum(axis=1) / 1.0, 50, 4000, seed=2)

    assert distinct_tasks.mean() / 50 == pytest.approx(1 - (1 - 1 / 50) ** 50, rel=0.01)


Method = Callable[[Floats, float, int], Estimate]

LSAT = np.array([576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594.0])
GPA = np.array([3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96])
METHODS: list[Method] = [expanded_percentile_interval, percentile_interval]


def ends(estimate: Estimate) -> tuple[float, float]:
    interval = interval_of(estimate)
    return interval.low, interval.high


def interval_of(estimate: Estimate) -> Interval:
    assert estimate.interval is not None, estimate.warnings
    return estimate.interval


def correlation(means: Floats) -> Floats:
    x, y, xx, yy, xy = means.T
    result: Floats = (xy - x * y) / np.sqrt((xx - x**2) * (yy - y**2))
    return result


@pytest.fixture(scope="module")
def skewed_means() -> Floats:
    return bootstrap_means(SKEWED, 200_000, seed=1)[:, 0]


def test_the_percentile_interval_agrees_with_a_million_resamples_in_r(skewed_means: Floats) -> None:
    estimate = percentile_interval(skewed_means, float(SKEWED.mean()), 16)

    assert ends(estimate) == pytest.approx((28.86, 84.21), rel=0.005)


def test_the_standard_error_carries_bessels_correction(skewed_means: Floats) -> None:
    estimate = expanded_percentile_interval(skewed_means, float(SKEWED.mean()), 16)

    assert skewed_means.std() == pytest.approx(14.2368, rel=0.006)
    assert estimate.standard_error == pytest.approx(SKEWED.std(ddof=1) / 4, rel=0.006)


def test_the_law_school_correlation_has_its_published_standard_error() -> None:
    table = np.column_stack([LSAT, GPA, LSAT**2, GPA**2, LSAT * GPA])
    point = float(correlation(table.mean(axis=0)[None])[0])
    draws = correlation(bootstrap_means(table, 200_000, seed=1))

    assert point == pytest.approx(0.7763745, abs=5e-8)
    assert draws.std() == pytest.approx(0.134, abs=0.001)


def test_the_expanded_percentile_is_as_wide_as_the_t_interval_on_normal_draws() -> None:
    tasks, ordered = 10, stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    draws = ordered * math.sqrt((tasks - 1) / tasks)

    estimate = expanded_percentile_interval(draws, 0.0, tasks)

    assert ends(estimate) == pytest.approx((-stats.t.ppf(0.975, 9), stats.t.ppf(0.975, 9)), rel=0.002)


def test_the_expanded_percentile_covers_where_the_percentile_does_not() -> None:
    rng = np.random.default_rng(8)
    covered = np.zeros(2)
    for seed in range(600):
        values = rng.normal(size=8)
        draws = bootstrap_means(values, 1500, seed)[:, 0]
        for method, interval in enumerate((expanded_percentile_interval, percentile_interval)):
            low, high = ends(interval(draws, float(values.mean()), 8))
            covered[method] += low <= 0 <= high

    expanded, plain = covered / 600
    assert 0.925 <= expanded <= 0.985
    assert plain <= 0.92


def test_the_percentile_interval_agrees_with_scipy(skewed_means: Floats) -> None:
    reference = stats.bootstrap((SKEWED,), np.mean, n_resamples=50_000, method="percentile", rng=2).confidence_interval

    estimate = percentile_interval(skewed_means, float(SKEWED.mean()), 16)

    assert ends(estimate) == pytest.approx((reference.low, reference.high), rel=0.02)


@pytest.mark.parametrize("method", METHODS)
def test_scaling_and_shifting_the_data_scales_and_shifts_the_interval(method: Method) -> None:
    values = np.random.default_rng(5).gamma(2, size=25)
    draws, moved = bootstrap_means(values, 4000, 1)[:, 0], bootstrap_means(3 * values + 7, 4000, 1)[:, 0]

    low, high = ends(method(draws, float(values.mean()), 25))

    assert ends(method(moved, float(3 * values.mean() + 7), 25)) == pytest.approx((3 * low + 7, 3 * high + 7))


@pytest.mark.parametrize("method", METHODS)
def test_swapping_the_arms_mirrors_the_interval(method: Method) -> None:
    deltas = np.random.default_rng(6).normal(0.2, size=30)
    draws = bootstrap_means(deltas, 4000, 1)[:, 0]

    low, high = ends(method(draws, float(deltas.mean()), 30))

    assert ends(method(-draws, float(-deltas.mean()), 30)) == pytest.approx((-high, -low))


def test_duplicating_every_task_shrinks_the_standard_error_by_root_two() -> None:
    values = np.random.default_rng(7).normal(size=60)
    once = expanded_percentile_interval(bootstrap_means(values, 8000, 1)[:, 0], float(values.mean()), 60)
    twice_values = np.tile(values, 2)
    twice = expanded_percentile_interval(bootstrap_means(twice_values, 8000, 1)[:, 0], float(values.mean()), 120)

    assert once.standard_error is not None
    assert twice.standard_error == pytest.approx(once.standard_error / math.sqrt(2), rel=0.04)


def test_an_estimate_says_what_it_is() -> None:
    estimate = expanded_percentile_interval(np.linspace(-1, 1, 10_001), 0.25, 40, level=0.9)

    assert (estimate.point, estimate.n, estimate.unit) == (0.25, 40, Unit.TASK)
    assert interval_of(estimate).level == 0.9
    assert estimate.warnings == ()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("draws", "point", "tasks", "reason"),
    [
        ([1.0, 2.0, 3.0], math.nan, 10, "not a finite number"),
        ([1.0, 2.0, 3.0], math.inf, 10, "not a finite number"),
        ([1.0, math.nan, 3.0], 2.0, 10, "1 of 3 draws"),
        ([], 2.0, 10, "0 of 0 draws"),
        ([2.0, 2.0, 2.0], 2.0, 10, "same value"),
        ([1.0, 2.0, 3.0], 2.0, 1, "at least 2 tasks"),
    ],
)
def test_unusable_draws_give_no_interval_and_a_reason(
    method: Method, draws: list[float], point: float, tasks: int, reason: str
) -> None:
    estimate = method(np.array(draws), point, tasks)

    assert estimate.interval is None
    assert estimate.standard_error is None
    assert reason in estimate.warnings[0]
    assert estimate.point == (point if math.isfinite(point) else None)


@pytest.mark.parametrize("method", METHODS)
def test_the_rounding_of_equal_values_is_not_taken_for_uncertainty(method: Method) -> None:
    draws = bootstrap_means(np.full(33, 0.1), 2000, seed=1)[:, 0]

    estimate = method(draws, 0.1, 33)

    assert estimate.interval is None
    assert "same value" in estimate.warnings[0]


def test_infinite_draws_leave_that_side_unbounded() -> None:
    draws = np.append(np.linspace(1, 2, 9000), np.full(1000, np.inf))

    estimate = percentile_interval(draws, 1.5, 40)

    assert ends(estimate)[1] == math.inf
    assert ends(estimate)[0] == pytest.approx(1.03, abs=0.01)
    assert estimate.standard_error is None


def test_draws_that_agree_at_both_ends_never_give_an_interval_of_no_width() -> None:
    draws = np.append(np.zeros(9999), 1.0)

    estimate = percentile_interval(draws, 0.0, 40)

    assert estimate.interval is None
    assert "width is unknown" in estimate.warnings[0]


def test_three_tasks_are_told_that_the_interval_ends_at_the_most_extreme_draw() -> None:
    draws = bootstrap_means([1.0, 2.0, 4.0], 10_000, seed=1)[:, 0]

    estimate = expanded_percentile_interval(draws, 7 / 3, 3)

    assert ends(estimate) == (1, 4)
    assert "most extreme draw" in estimate.warnings[0]
