import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.means import all_zero_bound, fixed_suite_interval, mean_interval

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
