import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outweigh.stats.betting import betting_confidence_sequence, log_capital, plan_stakes
from outweigh.stats.estimate import Estimate, Interval


def interval_of(estimate: Estimate) -> Interval:
    assert estimate.interval is not None, estimate.warnings
    return estimate.interval


def test_the_first_stakes_by_hand() -> None:
    stakes = plan_stakes(np.array([1.0, 0.0]), 0.05)

    # Before any task the variance is taken as 1/4; after x = 1 the mean is 3/4 and the variance (1/4 + 1/16) / 2.
    first = math.sqrt(2 * math.log(40) / (0.25 * 1 * math.log(2)))
    second = math.sqrt(2 * math.log(40) / (5 / 32 * 2 * math.log(3)))
    np.testing.assert_allclose(stakes, [first, second])


def test_the_capital_by_hand() -> None:
    capital = log_capital(np.array([1.0, 0.0, 1.0]), np.array([0.4, 0.4, 3.0]), 0.5)

    # The stakes are capped at 0.5 / 0.5 = 1.
    assert capital == pytest.approx(math.log(1.2) + math.log(0.8) + math.log(1.5))


def test_stakes_never_look_at_their_own_task() -> None:
    shares = np.random.default_rng(1).uniform(size=20)
    changed = shares.copy()
    changed[12] = 1 - changed[12]

    np.testing.assert_array_equal(plan_stakes(shares, 0.05)[:13], plan_stakes(changed, 0.05)[:13])


def test_the_interval_is_the_set_of_means_that_neither_gambler_refutes() -> None:
    deltas = np.random.default_rng(2).uniform(-0.6, 1, size=80)
    shares, stakes = (deltas + 1) / 2, plan_stakes((deltas + 1) / 2, 0.05)
    grid = np.linspace(-0.999, 0.999, 3997)
    kept = [
        mean
        for mean in grid
        if max(log_capital(shares, stakes, (mean + 1) / 2), log_capital(1 - shares, stakes, (1 - mean) / 2))
        < math.log(40)
    ]

    interval = interval_of(betting_confidence_sequence(deltas))

    assert (interval.low, interval.high) == pytest.approx((min(kept), max(kept)), abs=6e-4)


def test_no_look_in_twenty_refutes_a_true_mean_too_often() -> None:
    rng, refuted = np.random.default_rng(3), 0
    for _ in range(400):
        deltas = rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.8, 0.1], size=200)
        shares = (deltas + 1) / 2
        stakes = np.minimum(plan_stakes(shares, 0.05), 1.0)
        higher, lower = np.cumsum(np.log1p([stakes * (shares - 0.5), -stakes * (shares - 0.5)]), axis=1)
        refuted += max(higher[9::10].max(), lower[9::10].max()) >= math.log(40)

    assert refuted / 400 <= 0.05


def test_many_tasks_find_a_real_effect() -> None:
    deltas = np.random.default_rng(4).choice([-1.0, 0.0, 1.0], p=[0.1, 0.6, 0.3], size=400)

    interval = interval_of(betting_confidence_sequence(deltas))

    assert 0 < interval.low < 0.2 < interval.high < 0.4


def test_equal_deltas_get_an_interval_that_narrows_with_tasks_and_never_closes() -> None:
    few, many = (interval_of(betting_confidence_sequence(np.zeros(tasks))) for tasks in (10, 200))

    assert few.low < many.low < 0 < many.high < few.high
    assert many.high - many.low > 0.01


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40))
@settings(max_examples=40, deadline=None)
def test_swapping_the_arms_mirrors_the_interval(deltas: list[float]) -> None:
    interval = interval_of(betting_confidence_sequence(deltas))
    swapped = interval_of(betting_confidence_sequence([-delta for delta in deltas]))

    assert (swapped.low, swapped.high) == pytest.approx((-interval.high, -interval.low), abs=1e-6)
    assert -1 <= interval.low < interval.high <= 1


def test_other_bounds_scale_the_interval() -> None:
    deltas = np.random.default_rng(5).uniform(-1, 1, size=30)
    interval = interval_of(betting_confidence_sequence(deltas))

    scaled = interval_of(betting_confidence_sequence(100 * deltas, lowest=-100, highest=100))

    assert (scaled.low, scaled.high) == pytest.approx((100 * interval.low, 100 * interval.high), abs=1e-5)


@pytest.mark.parametrize(
    ("deltas", "reason"),
    [([], "at least 1 task"), ([0.5, math.nan], "not a finite"), ([0.5, math.inf], "not a finite"), ([1.5], "outside")],
)
def test_deltas_that_cannot_be_bet_on_give_no_interval_and_a_reason(deltas: list[float], reason: str) -> None:
    estimate = betting_confidence_sequence(deltas)

    assert estimate.point is None
    assert estimate.interval is None
    assert reason in estimate.warnings[0]
