"""The difference of two proportions, against an independent implementation and at its edges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep

from outweigh.stats.estimate import Unit
from outweigh.stats.proportions import proportion_difference_interval


@pytest.mark.parametrize(("won", "n", "won_before", "n_before"), [(4, 5, 1, 5), (0, 5, 5, 5), (56, 70, 48, 80)])
def test_it_agrees_with_statsmodels(won: int, n: int, won_before: int, n_before: int) -> None:
    ours = proportion_difference_interval(won, n, won_before, n_before, level=0.95, unit=Unit.RUN).interval

    low, high = confint_proportions_2indep(won, n, won_before, n_before, method="newcomb", compare="diff")
    assert ours is not None
    assert (ours.low, ours.high) == pytest.approx((low, high))


def test_newcombes_own_example() -> None:
    found = proportion_difference_interval(56, 70, 48, 80, level=0.95, unit=Unit.RUN).interval

    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (0.0524, 0.3339)


def test_without_a_trial_on_one_side_nothing_is_known() -> None:
    found = proportion_difference_interval(1, 2, 0, 0, level=0.95, unit=Unit.RUN)

    assert (found.point, found.interval) == (None, None)
    assert found.warnings


@given(st.integers(0, 9), st.integers(0, 9))
def test_the_difference_lies_within_its_interval_and_that_within_one(won: int, won_before: int) -> None:
    found = proportion_difference_interval(won, 9, won_before, 9, level=0.9, unit=Unit.RUN)

    assert found.interval is not None
    assert found.point is not None
    assert -1 <= found.interval.low <= found.point <= found.interval.high <= 1
