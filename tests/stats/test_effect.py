import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import brunnermunzel
from scipy.stats import t as student

from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.proportions import cliff_delta, dominance

scores = st.lists(st.integers(-5, 5), min_size=2, max_size=25)


def task_dominance(deltas: object) -> Estimate:
    return dominance(np.array(deltas, dtype=float), level=0.95, unit=Unit.TASK)


def cliff(a: object, b: object, level: float = 0.95) -> Estimate:
    return cliff_delta(np.array(a, dtype=float), np.array(b, dtype=float), level=level, unit=Unit.RUN)


def ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.interval is not None
    return estimate.interval.low, estimate.interval.high


def test_dominance_is_the_share_of_gains_less_the_share_of_losses() -> None:
    estimate = task_dominance([3, 1, 0, -2, 5, 0, 2, 1, 4, -9])

    assert estimate.point == pytest.approx(0.6 - 0.2)
    assert estimate.unit is Unit.TASK


def test_gains_on_every_task_still_leave_doubt() -> None:
    low, high = ends(task_dominance([0.1] * 8))

    assert low < 0.5 < high == 1


def test_rounding_dust_is_neither_gain_nor_loss() -> None:
    assert task_dominance([1, -1, 0.3 - 0.2 - 0.1, 1]).point == pytest.approx(0.25)


@given(deltas=st.lists(st.integers(-5, 5), min_size=1, max_size=40))
def test_swapping_the_arms_flips_dominance_and_units_do_not_matter(deltas: list[int]) -> None:
    low, high = ends(task_dominance(deltas))

    assert ends(task_dominance(np.array(deltas) * -1e3)) == pytest.approx((-high, -low), abs=1e-12)


def test_d_z_is_the_mean_over_the_sample_deviation() -> None:
    deltas = [1.0, 2.0, 3.0, 4.0]
    estimate = standardized_mean(deltas, level=0.95, unit=Unit.TASK)
    point = 2.5 / math.sqrt(5 / 3)
    error = math.sqrt(1 / 4 + point**2 / 8)

    assert estimate.point == pytest.approx(point)
    assert ends(estimate)[1] == pytest.approx(point + student.ppf(0.975, 3) * error)


def test_d_z_does_not_change_with_units_or_with_duplicated_tasks_beyond_bessel() -> None:
    deltas = np.random.default_rng(1).normal(0.5, 1, size=50)
    seconds = standardized_mean(deltas, level=0.95, unit=Unit.TASK)
    minutes = standardized_mean(deltas / 60, level=0.95, unit=Unit.TASK)
    doubled = standardized_mean(np.tile(deltas, 2), level=0.95, unit=Unit.TASK)

    assert minutes.point == pytest.approx(seconds.point)
    assert doubled.point == pytest.approx(seconds.point, rel=0.02)
    assert (seconds.standard_error or 0) / (doubled.standard_error or 1) == pytest.approx(math.sqrt(2), rel=0.02)


def test_cliffs_delta_of_a_small_example_is_counted_by_hand() -> None:
    # Of the six pairs A is above in four, below in one, and one is tied.
    assert cliff([1, 3, 4], [1, 2]).point == pytest.approx((4 - 1) / 6)


@given(a=scores, b=scores)
def test_ranks_count_the_pairs_that_a_double_loop_counts(a: list[int], b: list[int]) -> None:
    pairs = [(x > y) - (x < y) for x in a for y in b]

    assert cliff(a, b).point == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_placement_error_and_degrees_of_freedom_agree_with_brunner_and_munzel(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 9, size=12).astype(float), rng.integers(0, 12, size=19).astype(float)
    p_value = brunnermunzel(a, b).pvalue
    low, high = ends(cliff(a, b, 1 - p_value))

    # At the level of the test's own p-value, zero is just an end of the interval.
    assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-9)


def test_swapping_the_samples_flips_cliffs_delta() -> None:
    low, high = ends(cliff([1, 3, 4, 9], [1, 2, 5]))

    assert ends(cliff([1, 2, 5], [1, 3, 4, 9])) == pytest.approx((-high, -low))


def test_samples_that_do_not_overlap_have_a_delta_of_one_without_an_interval() -> None:
    estimate = cliff([5, 6, 7], [1, 2, 3])

    assert (estimate.point, estimate.interval, estimate.standard_error) == (1, None, None)
    assert "do not overlap" in estimate.warnings[0]


def test_a_single_value_has_a_delta_without_an_interval() -> None:
    assert cliff([5], [1, 9]).point == 0
    assert "need >= 2 values" in cliff([5], [1, 9]).warnings[0]


def test_no_interval_reaches_beyond_one() -> None:
    assert ends(cliff([4, 6, 7], [1, 2, 5]))[1] == 1


@pytest.mark.parametrize("spoiled", [[], [1.0, math.nan], [1.0, math.inf]])
def test_missing_values_have_no_effect_size(spoiled: list[float]) -> None:
    estimates = [
        task_dominance(spoiled),
        standardized_mean(spoiled, level=0.95, unit=Unit.TASK),
        cliff(spoiled, [1, 2]),
        cliff([1, 2], spoiled),
    ]

    assert [(estimate.point, estimate.interval) for estimate in estimates] == [(None, None)] * 4
    assert all(estimate.warnings for estimate in estimates)


def test_equal_deltas_have_no_d_z() -> None:
    assert standardized_mean([0.3] * 9, level=0.95, unit=Unit.TASK).point is None


@pytest.mark.parametrize(
    ("effect", "scale", "word"),
    [
        (0.146, ROMANO, Magnitude.NEGLIGIBLE),
        (-0.147, ROMANO, Magnitude.SMALL),
        (0.33, ROMANO, Magnitude.MEDIUM),
        (-0.474, ROMANO, Magnitude.LARGE),
        (0.109, SCYLLA, Magnitude.NEGLIGIBLE),
        (0.11, SCYLLA, Magnitude.SMALL),
        (0.28, SCYLLA, Magnitude.MEDIUM),
        (1.0, SCYLLA, Magnitude.LARGE),
    ],
)
def test_words_begin_at_their_thresholds(effect: float, scale: MagnitudeScale, word: Magnitude) -> None:
    assert magnitude(effect, scale) is word


def test_both_conventions_are_stated_with_their_thresholds() -> None:
    assert describe_magnitude(0.3) == "small (Romano: 0.147/0.33/0.474); medium (ProjectScylla: 0.11/0.28/0.43)"


def test_nan_has_no_magnitude() -> None:
    assert magnitude(math.nan, ROMANO) is None
    assert "unknown" in describe_magnitude(math.nan)


def test_two_hundred_thousand_values_are_not_too_many() -> None:
    """All their pairs would not fit into memory."""
    a, b = np.random.default_rng(2).normal(size=(2, 100_000))

    low, high = ends(cliff(a, b))

    assert -0.02 < low < high < 0.02
