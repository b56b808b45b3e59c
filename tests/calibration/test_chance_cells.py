"""Chances as forecasts: the arithmetic of drawing effects towards 0, and what the cells find on fewer draws."""

import numpy as np
import pytest
from calibration.chance_cells import (
    BETTER,
    KNOWING_SPREAD,
    REPEATED,
    SPREAD,
    chance_readings,
    forecast_with_spread,
    gap_by_tenth,
    share_kept,
    sign_seen,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from outweigh.verdict.gate_result import chances_of
from outweigh.verdict.p_values import StudentPValues

MEANS = st.floats(-1.0, 1.0)
ERRORS = st.floats(0.01, 1.0)


def test_half_of_an_effect_is_kept_where_effects_scatter_as_much_as_their_error() -> None:
    law = StudentPValues(mean=0.1, error=0.05, df=19)

    assert share_kept(0.05, 0.05) == pytest.approx(0.5)
    # The mean of a repetition is 0.05, with the variance (1 + 1/2) · 0.05².
    assert forecast_with_spread(law, 0.5) == pytest.approx(stats.t.cdf(0.05 / (np.sqrt(1.5) * 0.05), df=19))


@given(MEANS, ERRORS)
def test_with_an_endless_spread_the_forecast_is_what_a_verdict_states(mean: float, error: float) -> None:
    law = StudentPValues(mean=mean, error=error, df=12)

    assert forecast_with_spread(law, 1.0) == pytest.approx(chances_of(law, 0.05).gain_if_repeated)


@given(MEANS, ERRORS, st.floats(0.0, 1.0))
def test_a_forecast_that_knows_the_spread_is_never_surer_than_a_verdict(mean: float, error: float, kept: float) -> None:
    law = StudentPValues(mean=mean, error=error, df=12)
    stated = chances_of(law, 0.05).gain_if_repeated

    assert stated is not None
    assert abs(forecast_with_spread(law, kept) - 0.5) <= abs(stated - 0.5) + 1e-9


def test_the_forecast_is_the_predictive_law_of_normal_effects_with_normal_errors() -> None:
    """By Bayes' rule on a grid of effects, for an error that many tasks make known."""
    effect, spread, error = 0.08, 0.03, 0.05
    grid = np.linspace(-1, 1, 20_001)
    weights = stats.norm.pdf(grid, 0, spread) * stats.norm.pdf(effect, grid, error)
    by_bayes = float((weights * stats.norm.sf(0, grid, error)).sum() / weights.sum())
    law = StudentPValues(mean=effect, error=error, df=1e7)

    assert forecast_with_spread(law, share_kept(spread, error)) == pytest.approx(by_bayes, abs=1e-6)


def test_gaps_are_taken_tenth_by_tenth_and_a_rare_tenth_is_left_out() -> None:
    stated = np.array([0.55] * 100 + [0.95] * 100 + [0.05])
    came = np.array([1.0] * 60 + [0.0] * 40 + [1.0] * 90 + [0.0] * 10 + [1.0])

    assert [gap for gap, _ in gap_by_tenth(stated, came)] == pytest.approx([0.05, -0.05])
    # The errors are those of shares of 60 and 90 %.
    assert [error for _, error in gap_by_tenth(stated, came)] == pytest.approx([0.0492, 0.0302], abs=1e-4)


def test_a_tie_is_half_a_gain() -> None:
    assert sign_seen(np.array([[0.2, -0.2], [0.2, 0.0], [-0.4, 0.2]])).tolist() == [0.5, 1.0, 0.0]


def test_stated_chances_come_true_where_arms_differ_by_more_than_errors_hide() -> None:
    found = chance_readings(1.0, 20, 5, 8_000, 3)

    assert found[SPREAD].value > 2
    for name in (BETTER, REPEATED, KNOWING_SPREAD):
        assert found[name].value <= 0.05 + 3 * found[name].error


def test_stated_chances_are_too_sure_among_arms_that_hardly_differ_and_the_spread_mends_it() -> None:
    found = chance_readings(0.1, 20, 5, 8_000, 3)

    assert found[SPREAD].value < 0.5
    assert found[REPEATED].value > 0.25
    assert found[BETTER].value > 0.2
    assert found[KNOWING_SPREAD].value <= 0.05
