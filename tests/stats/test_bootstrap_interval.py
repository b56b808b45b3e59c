import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from outweigh.stats.bootstrap import bootstrap_means, expanded_percentile_interval, percentile_interval
from outweigh.stats.estimate import Estimate, Interval, Unit

Floats = NDArray[np.float64]
Method = Callable[[Floats, float, int], Estimate]

SKEWED = np.array([10, 12, 12.5, 12.5, 13.9, 15, 21, 22, 23, 34, 50, 81, 89, 121, 134, 213])
LSAT = np.array([576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594.0])
GPA = np.array([3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96])
METHODS: list[Method] = [expanded_percentile_interval, percentile_interval, basic_interval]


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


def test_percentile_basic_and_bca_agree_with_a_million_resamples_in_r(skewed_means: Floats) -> None:
    mean = float(SKEWED.mean())

    assert ends(percentile_interval(skewed_means, mean, 16)) == pytest.approx((28.86, 84.21), rel=0.005)
    assert ends(basic_interval(skewed_means, mean, 16)) == pytest.approx((23.77, 79.12), rel=0.01)
    bca = bca_interval(skewed_means, mean, jackknife_means(SKEWED)[:, 0])
    assert ends(bca) == pytest.approx((32.31, 91.43), rel=0.005)


def test_the_acceleration_of_the_skewed_mean_is_the_closed_form() -> None:
    assert acceleration(SKEWED - SKEWED.mean()) == pytest.approx(0.06153, abs=5e-6)


def test_the_standard_error_carries_bessels_correction(skewed_means: Floats) -> None:
    estimate = expanded_percentile_interval(skewed_means, float(SKEWED.mean()), 16)

    assert skewed_means.std() == pytest.approx(14.2368, rel=0.006)
    assert estimate.standard_error == pytest.approx(SKEWED.std(ddof=1) / 4, rel=0.006)


def test_the_law_school_correlation_has_its_published_interval() -> None:
    table = np.column_stack([LSAT, GPA, LSAT**2, GPA**2, LSAT * GPA])
    point = float(correlation(table.mean(axis=0)[None])[0])
    draws = correlation(bootstrap_means(table, 200_000, seed=1))

    estimate = bca_interval(draws, point, correlation(jackknife_means(table)))

    assert point == pytest.approx(0.7763745, abs=5e-8)
    assert draws.std() == pytest.approx(0.134, abs=0.001)
    assert ends(estimate) == pytest.approx((0.331, 0.942), abs=0.003)


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


@pytest.mark.parametrize(("ours", "theirs"), [(percentile_interval, "percentile"), (basic_interval, "basic")])
def test_intervals_agree_with_scipy(ours: Method, theirs: str, skewed_means: Floats) -> None:
    reference = stats.bootstrap((SKEWED,), np.mean, n_resamples=50_000, method=theirs, rng=2).confidence_interval

    estimate = ours(skewed_means, float(SKEWED.mean()), 16)

    assert ends(estimate) == pytest.approx((reference.low, reference.high), rel=0.02)


def test_bca_agrees_with_scipy(skewed_means: Floats) -> None:
    reference = stats.bootstrap((SKEWED,), np.mean, n_resamples=50_000, method="BCa", rng=2).confidence_interval

    estimate = bca_interval(skewed_means, float(SKEWED.mean()), jackknife_means(SKEWED)[:, 0])

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


def test_bca_without_variation_between_tasks_gives_no_interval() -> None:
    estimate = bca_interval(np.linspace(0, 1, 1000), 0.5, np.full(10, 0.5))

    assert estimate.interval is None
    assert "too uneven" in estimate.warnings[0]


def test_bca_gives_no_interval_when_every_draw_is_on_one_side() -> None:
    estimate = bca_interval(np.linspace(1, 2, 1000), 0.5, np.linspace(0, 1, 10))

    assert bias_correction(np.linspace(1, 2, 1000), 0.5) is None
    assert estimate.interval is None


def test_ties_with_the_point_count_half_in_the_bias_correction() -> None:
    assert bias_correction([1.0, 2.0, 2.0, 3.0], 2.0) == pytest.approx(0)


def test_rounding_does_not_break_ties_with_the_point() -> None:
    tenths = np.array([0, 1, 1, 2, 3, 3, 4, 7.0])
    whole, broken = (bootstrap_means(values, 5000, seed=1)[:, 0] for values in (tenths, tenths / 10))

    assert bias_correction(broken, float((tenths / 10).mean())) == bias_correction(whole, float(tenths.mean()))
