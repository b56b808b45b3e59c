from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.proportions import wilson_interval

Method = Callable[..., Estimate]
ALL_METHODS = (wilson_interval, clopper_pearson_interval, beta_posterior_interval)


def ends(method: Method, successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    interval = method(successes, n, level=level, unit=Unit.TASK).interval
    assert interval is not None
    return interval.low, interval.high


@pytest.mark.parametrize(
    ("successes", "n", "wilson", "clopper_pearson"),
    [
        (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
        (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
        (0, 20, (0.0, 0.1611), (0.0, 0.1684)),
        (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
    ],
)
def test_newcombes_four_cases_are_reproduced(
    successes: int, n: int, wilson: tuple[float, float], clopper_pearson: tuple[float, float]
) -> None:
    assert ends(wilson_interval, successes, n) == pytest.approx(wilson, abs=5e-5)
    assert ends(clopper_pearson_interval, successes, n) == pytest.approx(clopper_pearson, abs=5e-5)


def test_the_uniform_prior_posterior_is_reproduced() -> None:
    assert ends(beta_posterior_interval, 8, 10) == pytest.approx((0.4822, 0.9398), abs=5e-5)
    assert ends(beta_posterior_interval, 0, 10) == pytest.approx((0.0023, 0.2849), abs=5e-5)


@pytest.mark.parametrize("method", ALL_METHODS)
def test_no_success_in_ten_never_gives_walds_empty_interval(method: Method) -> None:
    estimate = method(0, 10, level=0.95, unit=Unit.TASK)

    assert estimate.interval is not None
    assert estimate.interval.high > 0.25
    assert estimate.standard_error != 0


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (3, 7), (50, 100), (99_990, 100_000)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_intervals_agree_with_scipy_and_statsmodels(successes: int, n: int, level: float) -> None:
    result = binomtest(successes, n)
    exact, score = result.proportion_ci(level, "exact"), result.proportion_ci(level, "wilson")

    assert ends(clopper_pearson_interval, successes, n, level) == pytest.approx((exact.low, exact.high), rel=1e-9)
    assert ends(wilson_interval, successes, n, level) == pytest.approx((score.low, score.high), rel=1e-9, abs=1e-15)
    assert ends(wilson_interval, successes, n, level) == pytest.approx(
        proportion_confint(successes, n, 1 - level, "wilson"), rel=1e-9, abs=1e-15
    )


@pytest.mark.parametrize("method", ALL_METHODS)
@given(n=st.integers(1, 400), share=st.floats(0, 1))
def test_counting_failures_instead_mirrors_the_interval(method: Method, n: int, share: float) -> None:
    successes = round(share * n)
    low, high = ends(method, successes, n)
    mirrored_low, mirrored_high = ends(method, n - successes, n)

    assert (low, high) == pytest.approx((1 - mirrored_high, 1 - mirrored_low), abs=1e-12)


@pytest.mark.parametrize("method", ALL_METHODS)
@given(n=st.integers(1, 400), share=st.floats(0, 1))
def test_the_point_lies_in_an_interval_that_has_width(method: Method, n: int, share: float) -> None:
    estimate = method(round(share * n), n, level=0.95, unit=Unit.RUN)

    assert estimate.interval is not None
    assert estimate.point is not None
    assert 0 <= estimate.interval.low <= estimate.point <= estimate.interval.high <= 1
    assert estimate.interval.low < estimate.interval.high


@pytest.mark.parametrize("method", ALL_METHODS)
def test_no_trials_are_unknown_and_not_zero(method: Method) -> None:
    estimate = method(0, 0, level=0.95, unit=Unit.TASK)

    assert (estimate.point, estimate.interval, estimate.warnings) == (None, None, ("no trials",))


@pytest.mark.parametrize("method", ALL_METHODS)
def test_more_successes_than_trials_are_refused(method: Method) -> None:
    with pytest.raises(ValueError, match="impossible"):
        method(11, 10, level=0.95, unit=Unit.TASK)
