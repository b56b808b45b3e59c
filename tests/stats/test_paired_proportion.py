import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar

from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.proportions import paired_difference_interval

Z = 1.959963984540054


def difference(wins: int, losses: int, n: int) -> Estimate:
    return paired_difference_interval(wins, losses, n, level=0.95, unit=Unit.TASK)


def ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.interval is not None
    return estimate.interval.low, estimate.interval.high


def numeric_score(wins: int, losses: int, n: int, delta: float) -> float:
    def loss(rate: float) -> float:
        cells = ((wins, rate + delta), (losses, rate), (n - wins - losses, 1 - 2 * rate - delta))
        return -sum(count * math.log(max(chance, 1e-300)) for count, chance in cells if count)

    bounds = (max(0.0, -delta), (1 - delta) / 2)
    rate = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
    return float((wins - losses - n * delta) / math.sqrt(n * (2 * rate + delta * (1 - delta))))


@pytest.mark.parametrize(("wins", "losses", "n"), [(9, 1, 100), (15, 19, 88), (3, 2, 12), (40, 5, 60)])
def test_the_ends_are_where_a_numerically_maximised_score_is_just_significant(wins: int, losses: int, n: int) -> None:
    point = (wins - losses) / n
    high = brentq(lambda delta: numeric_score(wins, losses, n, delta) + Z, point, 0.999)
    low = brentq(lambda delta: numeric_score(wins, losses, n, delta) - Z, -0.999, point)

    assert ends(difference(wins, losses, n)) == pytest.approx((low, high), abs=1e-6)


def test_pairs_without_a_winner_leave_a_symmetric_interval_with_width() -> None:
    estimate = difference(0, 0, 20)

    assert ends(estimate) == pytest.approx((-(Z**2) / (20 + Z**2), Z**2 / (20 + Z**2)))
    assert estimate.standard_error is None


def test_winning_every_pair_leaves_room_below() -> None:
    low, high = ends(difference(10, 0, 10))

    assert 0 < low < 0.9
    assert high == 1


def test_the_standard_error_is_that_of_a_mean_of_signs() -> None:
    signs = [1] * 9 + [-1] + [0] * 90
    mean = sum(signs) / 100
    variance = sum((sign - mean) ** 2 for sign in signs) / 100

    assert difference(9, 1, 100).standard_error == pytest.approx(math.sqrt(variance / 100))


@given(wins=st.integers(0, 60), losses=st.integers(0, 60), ties=st.integers(0, 60))
def test_swapping_the_arms_mirrors_the_interval_and_it_always_holds_the_point(
    wins: int, losses: int, ties: int
) -> None:
    n = max(1, wins + losses + ties)
    estimate = difference(wins, losses, n)
    low, high = ends(estimate)
    mirrored_low, mirrored_high = ends(difference(losses, wins, n))

    assert (low, high) == pytest.approx((-mirrored_high, -mirrored_low), abs=1e-12)
    assert estimate.point is not None
    assert -1 <= low <= estimate.point <= high <= 1
    assert low < high


def test_four_times_the_pairs_about_halve_the_interval() -> None:
    low, high = ends(difference(30, 10, 100))
    lower, higher = ends(difference(120, 40, 400))

    assert (high - low) / (higher - lower) == pytest.approx(2, rel=0.05)


def test_no_pairs_are_unknown() -> None:
    estimate = difference(0, 0, 0)

    assert (estimate.point, estimate.interval, estimate.warnings) == (None, None, ("no pairs",))


def test_more_winners_than_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="impossible"):
        difference(8, 3, 10)
