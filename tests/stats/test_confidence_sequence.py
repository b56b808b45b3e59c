import math

import numpy as np
import pytest
from scipy import stats

from outweigh.stats.estimate import Estimate, Interval
from outweigh.stats.sequential import confidence_path, log_normal_mixture, normal_mixture_bound, tune_normal_mixture


def interval_of(estimate: Estimate) -> Interval:
    assert estimate.interval is not None, estimate.warnings
    return estimate.interval


def test_the_normal_mixture_has_its_reference_values() -> None:
    rho = tune_normal_mixture(100, 0.05)

    assert rho == pytest.approx(12.60056, abs=5e-6)
    assert log_normal_mixture(10, 100, rho) == pytest.approx(-0.6510052, abs=5e-8)
    assert float(normal_mixture_bound(100, rho, 0.05)) == pytest.approx(30.35209, abs=5e-6)


def test_the_bound_is_where_the_mixture_reaches_one_over_alpha() -> None:
    rho = tune_normal_mixture(40, 0.1)

    assert log_normal_mixture(float(normal_mixture_bound(70, rho, 0.1)), 70, rho) == pytest.approx(math.log(10))


def test_the_tuned_time_has_the_tightest_bound() -> None:
    times = [60, 80, 100, 125, 160]

    at_100 = [float(normal_mixture_bound(100, tune_normal_mixture(time, 0.05), 0.05)) for time in times]

    assert min(at_100) == at_100[2]


def test_the_interval_follows_the_formula() -> None:
    deltas = np.random.default_rng(1).normal(0.1, size=150)
    squared = (-2 * math.log(0.05) + math.log(-2 * math.log(0.05) + 1)) / 100
    width = 150 * squared + 1
    radius = deltas.std(ddof=1) * math.sqrt(2 * width / (150**2 * squared) * math.log(math.sqrt(width) / 0.05))

    interval = interval_of(asymptotic_confidence_sequence(deltas, 100))

    assert (interval.low, interval.high) == pytest.approx((deltas.mean() - radius, deltas.mean() + radius))


@pytest.mark.parametrize(("tasks", "ratio"), [(100, 1.53), (200, 1.55)])
def test_the_price_of_looking_at_any_time_is_half_as_wide_again(tasks: int, ratio: float) -> None:
    deltas = np.random.default_rng(2).normal(size=tasks)
    fixed = stats.t.interval(0.95, tasks - 1, scale=stats.sem(deltas))

    interval = interval_of(asymptotic_confidence_sequence(deltas, 100))

    assert (interval.high - interval.low) / (fixed[1] - fixed[0]) == pytest.approx(ratio, abs=0.005)


def test_twenty_looks_break_the_fixed_test_and_not_the_sequence() -> None:
    looks = np.arange(10, 201, 10)
    rng, experiments = np.random.default_rng(4), 2000
    fixed, sequence = 0, 0
    for _ in range(experiments):
        deltas = rng.normal(size=200)
        lows, highs = confidence_path(deltas, planned_tasks=100)
        sums, squares = np.cumsum(deltas)[looks - 1], np.cumsum(deltas**2)[looks - 1]
        t = sums / np.sqrt(looks * (squares - sums**2 / looks) / (looks - 1))
        fixed += int((np.abs(t) > stats.t.ppf(0.975, looks - 1)).any())
        sequence += int(((lows > 0) | (highs < 0))[looks - 1].any())

    assert 0.20 <= fixed / experiments <= 0.28
    assert sequence / experiments <= 0.05


def test_the_path_ends_where_the_estimate_is() -> None:
    deltas = np.random.default_rng(5).normal(size=60)

    lows, highs = confidence_path(deltas, 100)

    interval = interval_of(asymptotic_confidence_sequence(deltas[:37], 100))
    assert (lows[36], highs[36]) == pytest.approx((interval.low, interval.high))


def test_the_path_is_unknown_until_the_deltas_vary() -> None:
    lows, highs = confidence_path([0.1, 0.1, 0.1, 0.5], 100)

    assert np.isnan(lows[:3]).all()
    assert np.isnan(highs[:3]).all()
    assert lows[3] < highs[3]


def test_swapping_scaling_and_shifting_move_the_interval_along() -> None:
    deltas = np.random.default_rng(6).normal(0.3, size=40)
    interval = interval_of(asymptotic_confidence_sequence(deltas, 100))

    swapped = interval_of(asymptotic_confidence_sequence(-deltas, 100))
    moved = interval_of(asymptotic_confidence_sequence(5 * deltas + 2, 100))

    assert (swapped.low, swapped.high) == pytest.approx((-interval.high, -interval.low))
    assert (moved.low, moved.high) == pytest.approx((5 * interval.low + 2, 5 * interval.high + 2))


def test_the_order_of_the_tasks_does_not_matter_at_the_last_look() -> None:
    deltas = np.random.default_rng(7).normal(0.3, size=40)

    one, other = (interval_of(asymptotic_confidence_sequence(d, 100)) for d in (deltas, deltas[::-1]))

    assert (one.low, one.high) == pytest.approx((other.low, other.high))


@pytest.mark.parametrize(
    ("deltas", "point", "reason"),
    [
        ([], None, "at least 2 tasks"),
        ([0.5], 0.5, "at least 2 tasks"),
        ([0.1] * 50, 0.1, "all deltas are equal"),
        ([0.0] * 50, 0.0, "all deltas are equal"),
        ([0.1, math.nan, 0.2], None, "not a finite number"),
        ([0.1, math.inf, 0.2], None, "not a finite number"),
    ],
)
def test_degenerate_deltas_give_no_interval_and_a_reason(deltas: list[float], point: float | None, reason: str) -> None:
    estimate = asymptotic_confidence_sequence(deltas, 100)

    assert estimate.interval is None
    assert estimate.point == (None if point is None else pytest.approx(point))
    assert reason in estimate.warnings[0]


def test_few_tasks_are_told_that_the_guarantee_is_for_many() -> None:
    assert "few" in asymptotic_confidence_sequence([0.1, 0.3, 0.2], 100).warnings[0]
