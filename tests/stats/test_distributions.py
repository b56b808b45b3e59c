import math

import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from outweigh.stats.distributions import (
    beta_quantile_logit,
    binomial_cdf,
    binomial_sf,
    log_beta_cdf,
    logistic,
    normal_cdf,
    normal_quantile,
    normal_sf,
    t_cdf,
    t_quantile,
    t_sf,
)

CLOSE = 1e-10


@pytest.mark.parametrize("z", [-37.0, -8.3, -1.96, 0.0, 0.5, 3.0])
def test_normal_tails_agree_with_scipy(z: float) -> None:
    assert normal_cdf(z) == pytest.approx(scipy.special.ndtr(z), rel=1e-12)
    assert normal_sf(-z) == pytest.approx(scipy.special.ndtr(z), rel=1e-12)


@pytest.mark.parametrize("p", [1e-300, 1e-12, 0.025, 0.5, 0.975, 1 - 1e-12])
def test_normal_quantiles_agree_with_scipy(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(scipy.special.ndtri(p), rel=CLOSE, abs=1e-15)


def test_quantiles_at_certainty_are_the_ends_of_the_support() -> None:
    assert (normal_quantile(0), normal_quantile(1)) == (-math.inf, math.inf)
    assert (t_quantile(0, 3), t_quantile(1, 3)) == (-math.inf, math.inf)


@pytest.mark.parametrize("df", [0.3, 1, 2, 4.7, 30, 1e3, 9.9e4, 1.1e5, 1e9])
@pytest.mark.parametrize("t", [-40.0, -6.0, -1.7, -1e-3, 0.0, 0.4, 3.0])
def test_student_probabilities_agree_with_scipy(t: float, df: float) -> None:
    assert t_cdf(t, df) == pytest.approx(scipy.special.stdtr(df, t), rel=1e-9)
    assert t_sf(-t, df) == t_cdf(t, df)


@pytest.mark.parametrize("df", [0.5, 1, 2, 4.7, 30, 1e3, 9.9e4, 1.1e5, 1e9])
@pytest.mark.parametrize("p", [1e-12, 1e-4, 0.025, 0.24, 0.26, 0.4999, 0.8, 0.975, 1 - 1e-9])
def test_student_quantiles_agree_with_scipy(p: float, df: float) -> None:
    assert t_quantile(p, df) == pytest.approx(scipy.stats.t.ppf(p, df), rel=CLOSE)


def test_student_with_one_degree_of_freedom_is_the_cauchy_law() -> None:
    assert t_cdf(1.0, 1) == pytest.approx(0.75, rel=1e-14)
    assert t_quantile(1e-15, 1) == pytest.approx(-1 / math.tan(math.pi * 1e-15), rel=1e-12)


def test_student_with_infinite_degrees_of_freedom_is_the_normal_law() -> None:
    assert t_cdf(-1.96, math.inf) == normal_cdf(-1.96)
    assert t_quantile(0.975, math.inf) == normal_quantile(0.975)


def test_beta_functions_agree_with_scipy_over_six_orders_of_magnitude() -> None:
    rng = np.random.default_rng(1)
    for a, b, p in zip(
        10 ** rng.uniform(-2, 4, 300), 10 ** rng.uniform(-2, 4, 300), rng.uniform(size=300), strict=True
    ):
        x = scipy.special.betaincinv(a, b, p)
        if 1e-300 < x < 1:
            # Only quantiles of the lower half are sought; those of the upper half are mirrored.
            logit = beta_quantile_logit(p, a, b) if p <= 0.5 else -beta_quantile_logit(1 - p, b, a)
            assert logistic(logit) == pytest.approx(x, rel=CLOSE)
            assert math.exp(log_beta_cdf(x, 1 - x, a, b)) == pytest.approx(scipy.special.betainc(a, b, x), rel=CLOSE)


def test_a_tiny_beta_tail_keeps_its_digits() -> None:
    assert math.exp(log_beta_cdf(1e-30, 1 - 1e-30, 8, 3)) == pytest.approx(
        scipy.special.betainc(8, 3, 1e-30), rel=CLOSE
    )
    assert logistic(beta_quantile_logit(1e-200, 2, 5)) == pytest.approx(math.sqrt(1e-200 / 15), rel=CLOSE)


@pytest.mark.parametrize(("k", "n", "p"), [(0, 1, 0.5), (2, 7, 0.3), (7, 7, 0.3), (-1, 7, 0.3), (40, 100, 0.5)])
def test_binomial_probabilities_agree_with_scipy(k: int, n: int, p: float) -> None:
    assert binomial_cdf(k, n, p) == pytest.approx(scipy.stats.binom.cdf(k, n, p), rel=CLOSE)
    assert binomial_sf(k, n, p) == pytest.approx(scipy.stats.binom.sf(k, n, p), rel=CLOSE)


def test_binomial_probabilities_hold_for_a_million_trials() -> None:
    assert binomial_cdf(498_000, 1_000_000, 0.5) == pytest.approx(
        scipy.stats.binom.cdf(498_000, 1_000_000, 0.5), rel=CLOSE
    )
    assert binomial_sf(502_000, 1_000_000, 0.5) == pytest.approx(
        scipy.stats.binom.sf(502_000, 1_000_000, 0.5), rel=CLOSE
    )


def test_a_certain_trial_has_a_certain_count() -> None:
    assert (binomial_cdf(2, 3, 1.0), binomial_sf(2, 3, 1.0)) == (0, 1)
    assert (binomial_cdf(0, 3, 0.0), binomial_sf(0, 3, 0.0)) == (1, 0)


@given(p=st.floats(1e-9, 1 - 1e-9), df=st.floats(0.5, 1e7))
def test_the_student_quantile_inverts_the_distribution_function(p: float, df: float) -> None:
    assert t_cdf(t_quantile(p, df), df) == pytest.approx(p, rel=1e-9)


@given(x=st.floats(0.01, 0.99), a=st.floats(0.5, 1e4), b=st.floats(0.5, 1e4))
def test_the_beta_law_mirrors_when_its_shapes_swap(x: float, a: float, b: float) -> None:
    below, above = log_beta_cdf(x, 1 - x, a, b), log_beta_cdf(1 - x, x, b, a)

    assert math.exp(below) + math.exp(above) == pytest.approx(1, abs=1e-10)


@given(p=st.floats(1e-9, 0.5), a=st.floats(0.5, 1e4), b=st.floats(0.5, 1e4))
def test_the_beta_quantile_inverts_the_distribution_function(p: float, a: float, b: float) -> None:
    logit = beta_quantile_logit(p, a, b)

    assert math.exp(log_beta_cdf(logistic(logit), logistic(-logit), a, b)) == pytest.approx(p, rel=1e-9)


def test_nan_stays_nan_and_never_becomes_a_probability() -> None:
    assert math.isnan(t_cdf(math.nan, 5))
    assert math.isnan(t_sf(math.nan, math.inf))
    assert math.isnan(normal_cdf(math.nan))


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan])
def test_a_quantile_of_something_that_is_no_probability_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="probability"):
        t_quantile(p, 5)


@pytest.mark.parametrize("df", [0.0, -1.0, math.nan])
def test_degrees_of_freedom_that_are_not_positive_are_refused(df: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        t_cdf(1.0, df)


def test_a_t_whose_square_overflows_leaves_nothing_beyond_it() -> None:
    assert t_sf(1e200, 5.0) == 0.0
    assert t_cdf(-1e200, 5.0) == 0.0


def test_the_ends_of_a_beta_variable_are_certain() -> None:
    assert log_beta_cdf(0.0, 1.0, 0.5, 0.5) == -math.inf
    assert log_beta_cdf(1.0, 0.0, 0.5, 0.5) == 0
