import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, quantile_test

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.means import achieved_level, lower_rank, median_interval, sample_size_needed


def task_median(values: object, level: float = 0.95) -> Estimate:
    return median_interval(np.array(values, dtype=float), level=level, unit=Unit.TASK)


def interval_of(estimate: Estimate) -> Interval:
    assert estimate.interval is not None
    return estimate.interval


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
def test_swapping_the_arms_mirrors_the_interval(values: list[int]) -> None:
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
