import numpy as np
import pytest
from scipy import stats

from outweigh.stats.estimate import Unit
from outweigh.stats.run_bootstrap import DRAWS, LEVEL, MOST_RUNS, SEED, bca_interval


@pytest.mark.parametrize(
    ("passes", "runs"), [(8, 9), (83, 90), (71, 135), (193, 216), (324, 369), (1, 40), (2, 3), (1, 2)]
)
def test_the_interval_of_a_pass_rate_is_that_of_scipy_to_the_last_digit(passes: int, runs: int) -> None:
    data = np.array([1] * passes + [0] * (runs - passes))
    found = bca_interval(data.astype(float))
    wanted = stats.bootstrap(
        (data,), np.mean, n_resamples=DRAWS, confidence_level=LEVEL, method="BCa", random_state=SEED
    ).confidence_interval

    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)
    assert (found.point, found.n, found.unit) == (passes / runs, runs, Unit.RUN)


def test_the_interval_of_other_numbers_is_that_of_scipy_too() -> None:
    data = np.random.default_rng(1).beta(5, 2, size=60)
    found = bca_interval(data)
    wanted = stats.bootstrap((data,), np.mean, n_resamples=DRAWS, method="BCa", random_state=SEED).confidence_interval

    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((wanted.low, wanted.high), abs=1e-9)


@pytest.mark.parametrize(("values", "reason"), [([1.0], "there is one run"), ([1.0, 1.0], "the same value")])
def test_runs_without_spread_have_an_interval_without_width_that_says_so(values: list[float], reason: str) -> None:
    found = bca_interval(values)

    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == (1.0, 1.0)
    assert reason in found.warnings[0]


@pytest.mark.parametrize("values", [[], [1.0, float("nan")]])
def test_missing_values_have_no_interval(values: list[float]) -> None:
    assert bca_interval(values).interval is None


def test_too_many_runs_have_no_interval_over_runs() -> None:
    found = bca_interval(np.tile([0.0, 1.0], MOST_RUNS))

    assert (found.point, found.interval) == (0.5, None)
    assert "2,000 runs at most" in found.warnings[0]
