import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom, quantile_test, ttest_1samp
from statsmodels.stats.weightstats import ttost_paired

from outweigh.stats.estimate import Alternative, Estimate, Interval, Unit, excludes
from outweigh.stats.means import (
    achieved_level,
    all_zero_bound,
    fixed_suite_interval,
    lower_rank,
    mean_interval,
    median_interval,
    one_sided_p,
    sample_size_needed,
    t_estimate,
)
from outweigh.stats.sample import Values

MAIZE = [6.0, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]
deltas_strategy = st.lists(st.integers(-1000, 1000), min_size=3, max_size=40).filter(lambda d: len(set(d)) > 1)


def task_mean(deltas: object, level: float = 0.95) -> Estimate:
    return mean_interval(np.array(deltas, dtype=float), level=level, unit=Unit.TASK)


def interval_of(estimate: Estimate) -> Interval:
    assert estimate.interval is not None
    return estimate.interval


def error_of(estimate: Estimate) -> float:
    assert estimate.standard_error is not None
    return estimate.standard_error


def test_the_standard_error_divides_by_n_minus_one() -> None:
    estimate = task_mean([1] * 8 + [0] * 2)

    assert estimate.point == pytest.approx(0.8)
    assert error_of(estimate) * math.sqrt(10) == pytest.approx(0.42163702135578396)


def test_fishers_maize_gives_students_t() -> None:
    estimate = task_mean(MAIZE)

    assert estimate.point is not None
    assert estimate.point / error_of(estimate) == pytest.approx(2.147987, abs=5e-7)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_the_interval_agrees_with_scipy(level: float) -> None:
    theirs = scipy.stats.ttest_1samp(MAIZE, 0).confidence_interval(level)
    ours = interval_of(task_mean(MAIZE, level))

    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-10)


@given(deltas=deltas_strategy, seed=st.integers(0, 99))
def test_the_order_of_tasks_does_not_matter(deltas: list[int], seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(deltas)

    assert interval_of(task_mean(shuffled)).low == pytest.approx(interval_of(task_mean(deltas)).low, rel=1e-9, abs=1e-9)


@given(deltas=deltas_strategy)
def test_swapping_the_arms_mirrors_the_interval(deltas: list[int]) -> None:
    forth, back = interval_of(task_mean(deltas)), interval_of(task_mean(np.negative(deltas)))

    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low), rel=1e-12, abs=1e-12)


@given(deltas=deltas_strategy, scale=st.sampled_from([1e-290, 1e-3, 60.0, 1e300]))
def test_a_change_of_units_scales_the_interval(deltas: list[int], scale: float) -> None:
    plain, scaled = interval_of(task_mean(deltas)), interval_of(task_mean(np.array(deltas) * scale))

    assert scaled.high / scale == pytest.approx(plain.high, rel=1e-9, abs=1e-9)


@given(deltas=deltas_strategy)
def test_adding_a_constant_moves_the_interval_and_keeps_its_error(deltas: list[int]) -> None:
    plain, moved = task_mean(deltas), task_mean(np.array(deltas) + 7.0)

    assert interval_of(moved).low == pytest.approx(interval_of(plain).low + 7, abs=1e-8)
    assert error_of(moved) == pytest.approx(error_of(plain), rel=1e-9)


def test_duplicating_all_tasks_shrinks_the_error_by_about_root_two() -> None:
    assert error_of(task_mean(MAIZE)) / error_of(task_mean(MAIZE * 2)) == pytest.approx(math.sqrt(2), rel=0.04)


@pytest.mark.parametrize("constant", [0.0, 0.1, -3.7e5])
def test_equal_deltas_have_a_point_but_no_interval(constant: float) -> None:
    estimate = task_mean([constant] * 10)

    assert estimate.point == pytest.approx(constant)
    assert (estimate.interval, estimate.standard_error) == (None, None)
    assert "all 10 values are equal" in estimate.warnings[0]


def test_rounding_dust_is_not_variation() -> None:
    estimate = task_mean([0.1, 0.3 - 0.2, 0.7 - 0.6, 0.1])

    assert estimate.interval is None


def test_a_single_task_has_a_point_but_no_interval() -> None:
    estimate = task_mean([0.4])

    assert (estimate.point, estimate.interval) == (0.4, None)
    assert "need >= 2 tasks" in estimate.warnings[0]


@pytest.mark.parametrize("spoiled", [[], [1, math.nan, 3], [1, math.inf, 3]])
def test_missing_or_infinite_deltas_make_the_mean_unknown(spoiled: list[float]) -> None:
    estimate = task_mean(spoiled)

    assert (estimate.point, estimate.interval, estimate.standard_error) == (None, None, None)
    assert estimate.warnings


def test_the_bound_behind_all_zero_deltas_needs_59_tasks_for_five_points() -> None:
    assert all_zero_bound(59, 0.05) == pytest.approx(1 - 0.05 ** (1 / 59), rel=1e-12)
    assert all_zero_bound(59, 0.05) < 0.05 < all_zero_bound(58, 0.05)
    assert all_zero_bound(0, 0.05) == 1


def moments(runs: list[list[float]]) -> tuple[list[float], list[float], list[float]]:
    return (
        [float(np.mean(r)) for r in runs],
        [float(np.var(r, ddof=1)) if len(r) > 1 else math.nan for r in runs],
        [float(len(r)) for r in runs],
    )


def suite_mean(runs_a: list[list[float]], runs_b: list[list[float]], level: float = 0.95) -> Estimate:
    (mean_a, var_a, n_a), (mean_b, var_b, n_b) = moments(runs_a), moments(runs_b)
    return fixed_suite_interval(mean_a=mean_a, var_a=var_a, n_a=n_a, mean_b=mean_b, var_b=var_b, n_b=n_b, level=level)


RUNS_A = [[1.0, 2.0, 4.0], [5.0, 5.5]]
RUNS_B = [[0.0, 1.0], [4.0, 6.0, 7.0, 7.0]]


def test_a_fixed_suite_counts_only_the_noise_between_runs() -> None:
    estimate = suite_mean([[1.0, 3.0], [10.0, 10.0]], [[0.0, 2.0], [5.0, 5.0]])

    # Task means differ by 1 and 5; variances are 2, 2, 0 and 0 on two runs each.
    assert estimate.point == 3
    assert error_of(estimate) == pytest.approx(math.sqrt((2 / 2 + 2 / 2) / 4))
    assert (estimate.n, estimate.unit) == (8, Unit.RUN)


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_a_fixed_suite_of_one_task_is_welchs_t(level: float) -> None:
    theirs = scipy.stats.ttest_ind(RUNS_A[0], RUNS_B[1], equal_var=False).confidence_interval(level)
    ours = interval_of(suite_mean(RUNS_A[:1], RUNS_B[1:], level))

    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-10)


def test_swapping_the_arms_mirrors_a_fixed_suite() -> None:
    forth, back = interval_of(suite_mean(RUNS_A, RUNS_B)), interval_of(suite_mean(RUNS_B, RUNS_A))

    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low))


def test_a_task_with_a_single_run_leaves_the_run_noise_unknown() -> None:
    estimate = suite_mean([[1.0, 2.0], [3.0]], RUNS_B)

    assert estimate.point is not None
    assert estimate.interval is None
    assert "need >= 2 runs per task and arm, 1 have fewer" in estimate.warnings[0]


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_runs_that_never_differ_leave_the_run_noise_unknown(value: float) -> None:
    estimate = suite_mean([[value] * 3] * 4, [[value] * 3] * 4)

    assert (estimate.point, estimate.interval) == (0, None)
    assert "run noise" in estimate.warnings[0]


def test_a_missing_task_mean_makes_a_fixed_suite_unknown() -> None:
    estimate = suite_mean([[math.nan, 1.0], [2.0, 3.0]], RUNS_B)

    assert (estimate.point, estimate.interval) == (None, None)


def test_arms_with_different_tasks_are_refused() -> None:
    with pytest.raises(ValueError, match="pair up"):
        suite_mean(RUNS_A, RUNS_B[:1])


def task_median(values: object, level: float = 0.95) -> Estimate:
    return median_interval(np.array(values, dtype=float), level=level, unit=Unit.TASK)


def test_six_values_are_just_enough_for_95_percent() -> None:
    estimate = task_median([-10, 2, 3, 4, 5, 6])

    assert estimate.point == 3.5
    assert (interval_of(estimate).low, interval_of(estimate).high) == (-10, 6)
    assert interval_of(estimate).level == 0.96875
    assert estimate.warnings == ()


def test_six_values_cannot_bound_the_median_at_99_percent() -> None:
    estimate = task_median([-10, 2, 3, 4, 5, 6], 0.99)

    assert estimate.point == 3.5
    assert (interval_of(estimate).low, interval_of(estimate).high) == (-math.inf, math.inf)
    assert "need >= 8 tasks" in estimate.warnings[0]


@pytest.mark.parametrize("n", range(1, 6))
def test_fewer_than_six_tasks_never_bound_the_median_at_95_percent(n: int) -> None:
    estimate = task_median(range(n))

    assert interval_of(estimate).high == math.inf
    assert "need >= 6 tasks" in estimate.warnings[0]


@pytest.mark.parametrize(
    ("n", "ranks", "achieved"),
    [(10, (2, 9), 0.97852), (20, (6, 15), 0.95861), (50, (18, 33), 0.96716), (100, (40, 61), 0.96480)],
)
def test_the_published_ranks_are_reproduced(n: int, ranks: tuple[int, int], achieved: float) -> None:
    interval = interval_of(task_median(range(1, n + 1)))

    assert (interval.low, interval.high) == ranks
    assert interval.level == pytest.approx(achieved, abs=5e-6)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [8, 9, 31, 1000, 12345])
def test_the_rank_is_the_largest_that_keeps_the_level(n: int, level: float) -> None:
    rank = lower_rank(n, level)

    assert 2 * binom.cdf(rank - 1, n, 0.5) <= 1 - level + 1e-12
    assert 2 * binom.cdf(rank, n, 0.5) > 1 - level
    assert achieved_level(n, rank) == pytest.approx(1 - 2 * binom.cdf(rank - 1, n, 0.5))


def test_the_interval_agrees_with_scipys_quantile_test() -> None:
    values = np.random.default_rng(3).exponential(size=41)
    theirs = quantile_test(values).confidence_interval(0.95)
    ours = interval_of(task_median(values))

    assert (ours.low, ours.high) == (theirs.low, theirs.high)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99, 0.999])
def test_the_sample_size_needed_is_the_smallest_with_a_rank(level: float) -> None:
    needed = sample_size_needed(level)

    assert lower_rank(needed, level) > 0
    assert lower_rank(needed - 1, level) == 0


@given(values=st.lists(st.integers(-50, 50), min_size=1, max_size=60), seed=st.integers(0, 99))
def test_the_median_is_numpys_whatever_the_order(values: list[int], seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(values)

    assert task_median(shuffled).point == np.median(values)
    assert task_median(shuffled) == task_median(values)


@given(values=st.lists(st.integers(-50, 50), min_size=6, max_size=60))
def test_swapping_the_arms_mirrors_the_interval_of_the_median(values: list[int]) -> None:
    forth, back = task_median(values).interval, task_median(np.negative(values)).interval

    assert (forth is None) == (back is None)
    if forth is not None and back is not None:
        assert (forth.low, forth.high) == (-back.high, -back.low)


def test_an_increasing_transformation_moves_the_interval_with_the_data() -> None:
    values = np.random.default_rng(5).normal(size=25)

    assert interval_of(task_median(np.exp(values))).low == pytest.approx(math.exp(interval_of(task_median(values)).low))


def test_tied_ranks_give_a_point_but_never_an_interval_without_width() -> None:
    estimate = task_median([-1] + [0] * 18 + [1])

    assert (estimate.point, estimate.interval) == (0, None)
    assert "tied" in estimate.warnings[0]


@pytest.mark.parametrize("spoiled", [[], [1, math.nan, 2], [1, math.inf, 2]])
def test_missing_values_make_the_median_unknown(spoiled: list[float]) -> None:
    estimate = task_median(spoiled)

    assert (estimate.point, estimate.interval) == (None, None)
    assert estimate.warnings


def test_a_hundred_thousand_values_are_not_too_many() -> None:
    interval = task_median(np.random.default_rng(7).normal(size=100_000)).interval

    assert interval is not None
    assert interval.low < 0 < interval.high


# The clinic trial that the equivalence package of R and statsmodels use: two groups of fifteen, two variables.
FIRST_1 = np.array([2.84, 2.51, 2.41, 2.95, 3.14, 3.79, 4.14, 3.85, 3.02, 3.45, 5.37, 3.81, 4.19, 3.16, 3.84])
SECOND_1 = np.array([2.6, 2.82, 2.18, 3.46, 4.01, 3.04, 3.47, 4.06, 2.91, 3.59, 4.51, 3.16, 3.86, 3.31, 3.02])
FIRST_2 = np.array([4.0, 3.26, 4.14, 3.42, 3.25, 4.34, 4.97, 4.31, 3.11, 3.41, 5.02, 4.21, 4.59, 5.3, 4.32])
SECOND_2 = np.array([3.76, 3.66, 3.65, 3.6, 3.48, 2.87, 3.24, 3.92, 3.99, 4.21, 4.21, 3.31, 3.61, 2.97, 2.73])
HIGHER, LOWER = Alternative.GREATER, Alternative.LESS


def estimate_of(deltas: Values, level: float = 0.9) -> Estimate:
    return mean_interval(deltas, level=level, unit=Unit.TASK)


def beyond(estimate: Estimate, null: float, direction: Alternative) -> float:
    """The one-sided p-value of the mean lying beyond a margin, as the verdict asks for it."""
    assert estimate.point is not None
    assert estimate.standard_error is not None
    p_value = one_sided_p(estimate.point, estimate.standard_error, estimate.n - 1, null, direction)
    assert p_value is not None
    return p_value


def within(estimate: Estimate, margin: float) -> float:
    """Two one-sided tests, of which the weaker counts."""
    return max(beyond(estimate, -margin, HIGHER), beyond(estimate, margin, LOWER))


def test_the_published_trial_that_is_not_equivalent_is_reproduced() -> None:
    estimate = estimate_of(FIRST_2 - SECOND_2)

    assert (estimate.point, estimate.standard_error) == pytest.approx((0.5626667, 0.2478276), abs=5e-8)
    assert estimate.interval is not None
    assert (estimate.interval.low, estimate.interval.high) == pytest.approx((0.1261653, 0.9991680), abs=5e-8)
    assert within(estimate, 0.6) == pytest.approx(0.4412034046, abs=5e-11)


def test_the_published_trial_that_is_equivalent_is_reproduced() -> None:
    estimate = estimate_of(FIRST_1 - SECOND_1)

    assert (estimate.point, estimate.standard_error) == pytest.approx((0.1646667, 0.1357514), abs=5e-8)
    assert within(estimate, 0.6) == pytest.approx(0.003166881489, abs=5e-13)


def test_the_published_equivalence_of_ratios_is_reproduced() -> None:
    estimate = estimate_of(np.log(FIRST_1) - np.log(SECOND_1))

    assert within(estimate, math.log1p(0.25)) == pytest.approx(0.0001664157929, abs=5e-14)


@pytest.mark.parametrize("margin", [0.1, 0.3, 0.6])
def test_equivalence_agrees_with_statsmodels(margin: float) -> None:
    theirs, _, _ = ttost_paired(FIRST_2, SECOND_2, -margin, margin)

    assert within(estimate_of(FIRST_2 - SECOND_2), margin) == pytest.approx(theirs)


@pytest.mark.parametrize("direction", [HIGHER, LOWER])
@pytest.mark.parametrize("null", [-0.2, 0.0, 0.4])
def test_the_one_sided_p_agrees_with_scipy(null: float, direction: Alternative) -> None:
    deltas = FIRST_1 - SECOND_1
    error = deltas.std(ddof=1) / math.sqrt(15)
    theirs = ttest_1samp(deltas, null, alternative=direction.value).pvalue

    assert one_sided_p(deltas.mean(), error, 14, null, direction) == pytest.approx(theirs)


@given(mean=st.floats(-2, 2), error=st.floats(0.01, 1), margin=st.floats(0.01, 2), tasks=st.integers(3, 99))
def test_equivalence_holds_exactly_when_the_90_percent_interval_lies_within_the_margin(
    mean: float, error: float, margin: float, tasks: int
) -> None:
    estimate = t_estimate(mean, error, df=tasks - 1, level=0.9, n=tasks, unit=Unit.TASK, method="any")
    p_value = within(estimate, margin)
    assume(abs(p_value - 0.05) > 1e-9)

    assert estimate.interval is not None
    inside = -margin < estimate.interval.low and estimate.interval.high < margin
    assert (p_value < 0.05) == inside


def test_non_inferiority_holds_when_the_lower_bound_of_the_90_percent_interval_clears_the_margin() -> None:
    estimate = estimate_of(FIRST_1 - SECOND_1)
    assert estimate.interval is not None
    bound = -estimate.interval.low

    assert beyond(estimate, -bound * 1.001, HIGHER) < 0.05
    assert beyond(estimate, -bound * 0.999, HIGHER) > 0.05


def test_swapping_the_arms_and_the_better_side_keeps_every_p() -> None:
    forth, back = estimate_of(FIRST_1 - SECOND_1), estimate_of(SECOND_1 - FIRST_1)

    assert beyond(forth, 0.0, HIGHER) == pytest.approx(beyond(back, 0.0, LOWER))
    assert beyond(forth, 0.1, LOWER) == pytest.approx(beyond(back, -0.1, HIGHER))
    assert within(forth, 0.3) == pytest.approx(within(back, 0.3))


def test_non_inferiority_is_easier_than_superiority() -> None:
    estimate = estimate_of(FIRST_1 - SECOND_1)

    assert beyond(estimate, -0.05, HIGHER) < beyond(estimate, 0.0, HIGHER)


@pytest.mark.parametrize(
    ("mean", "error", "df"),
    [(math.nan, 1.0, 5.0), (1.0, math.nan, 5.0), (1.0, 0.0, 5.0), (1.0, 1.0, 0.0), (1.0, 1.0, math.nan)],
)
def test_a_missing_number_gives_no_p(mean: float, error: float, df: float) -> None:
    assert one_sided_p(mean, error, df, 0.0, HIGHER) is None


def test_an_interval_of_nan_excludes_nothing() -> None:
    nan_interval = Interval(low=math.nan, high=math.nan, level=0.95, method="broken")

    assert not excludes(nan_interval, 0.0)
    assert not excludes(None, 0.0)


def test_an_interval_excludes_what_lies_outside_it() -> None:
    interval = Interval(low=0.1, high=0.3, level=0.95, method="any")

    assert excludes(interval, 0.0)
    assert excludes(interval, 0.4)
    assert not excludes(interval, 0.1)
    assert not excludes(interval, math.nan)


def test_a_one_sided_test_without_a_side_is_refused() -> None:
    with pytest.raises(ValueError, match="direction"):
        one_sided_p(1.0, 1.0, 5, 0.0, Alternative.TWO_SIDED)


def test_equal_values_that_bound_the_median_leave_an_interval_without_width_unknown() -> None:
    assert task_median([3.0] * 6).warnings == (
        "the values of ranks 1 and 6 are tied, so the interval would have no width",
    )
    assert task_median([3.0] * 6).interval is None
    assert interval_of(task_median([3.0] * 5)).high == math.inf
    assert "need >= 6 tasks" in task_median([3.0] * 5).warnings[0]
