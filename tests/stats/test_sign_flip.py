import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test

from outweigh.stats.estimate import Alternative, Significance, Unit
from outweigh.stats.sign_flip import FLIPS, sign_flip_test

MAIZE = [6.0, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]
TWO_SIDED = Alternative.TWO_SIDED
deltas_strategy = st.lists(st.integers(-9, 9), min_size=1, max_size=10).filter(any)


def flip(deltas: object, alternative: Alternative = TWO_SIDED, seed: int = 0) -> Significance:
    rng = np.random.default_rng(seed)
    return sign_flip_test(np.array(deltas, dtype=float), alternative=alternative, rng=rng, unit=Unit.TASK)


def p_of(result: Significance) -> float:
    assert result.p_value is not None
    return result.p_value


def test_fishers_maize_has_1726_of_32768_flips() -> None:
    assert p_of(flip(MAIZE)) == 1726 / 32768


def test_three_equal_gains_leave_a_quarter_of_a_chance() -> None:
    assert p_of(flip([1, 1, 1])) == 2 / 8
    assert p_of(flip([1, 1, 1], Alternative.GREATER)) == 1 / 8
    assert p_of(flip([1, 1, 1], Alternative.LESS)) == 1


@given(deltas=deltas_strategy, alternative=st.sampled_from(Alternative))
def test_meeting_in_the_middle_counts_what_plain_enumeration_counts(
    deltas: list[int], alternative: Alternative
) -> None:
    sums = [sum(choice) for choice in itertools.product(*((delta, -delta) for delta in deltas))]
    observed = sum(deltas)
    reached = {
        Alternative.TWO_SIDED: [abs(s) >= abs(observed) for s in sums],
        Alternative.GREATER: [s >= observed for s in sums],
        Alternative.LESS: [s <= observed for s in sums],
    }[alternative]

    # Tenths are not exact in binary, so that sums equal on paper differ in the last digit.
    assert p_of(flip(np.array(deltas) / 10, alternative)) == sum(reached) / len(reached)


@pytest.mark.parametrize("alternative", list(Alternative))
def test_the_exact_test_agrees_with_scipy(alternative: Alternative) -> None:
    deltas = np.random.default_rng(2).normal(0.4, 1, size=11)
    theirs = permutation_test(
        (deltas,), np.mean, permutation_type="samples", alternative=alternative.value, n_resamples=np.inf
    )

    assert p_of(flip(deltas, alternative)) == pytest.approx(theirs.pvalue)


def test_twenty_tasks_are_enumerated_and_twenty_one_are_sampled() -> None:
    assert "all 1048576 flips" in flip(range(-3, 17)).method
    assert "100000 random flips" in flip(range(-3, 18)).method


@pytest.mark.parametrize("alternative", list(Alternative))
def test_random_flips_agree_with_the_normal_limit(alternative: Alternative) -> None:
    deltas = np.random.default_rng(4).normal(0.05, 1, size=997)
    z = deltas.sum() / math.sqrt((deltas**2).sum())
    upper = 0.5 * math.erfc(z / math.sqrt(2))
    expected = {
        Alternative.TWO_SIDED: 2 * min(upper, 1 - upper),
        Alternative.GREATER: upper,
        Alternative.LESS: 1 - upper,
    }

    assert p_of(flip(deltas, alternative)) == pytest.approx(expected[alternative], abs=0.008)


def test_padding_with_zero_deltas_joins_the_random_to_the_exact_p() -> None:
    assert p_of(flip(MAIZE + [0.0] * 10)) == pytest.approx(1726 / 32768, abs=0.004)


def test_a_random_p_is_never_zero() -> None:
    assert p_of(flip([1.0] * 60)) == 1 / (1 + FLIPS)


def test_the_same_seed_gives_the_same_p() -> None:
    deltas = np.random.default_rng(6).normal(0.2, 1, size=50)

    assert p_of(flip(deltas, seed=1)) == p_of(flip(deltas, seed=1))
    assert p_of(flip(deltas, seed=1)) != p_of(flip(deltas, seed=2))


@given(deltas=deltas_strategy, scale=st.sampled_from([1e-300, 0.1, 1e300]))
def test_swapping_arms_or_changing_units_keeps_the_p(deltas: list[int], scale: float) -> None:
    assert p_of(flip(np.array(deltas) * -scale)) == p_of(flip(deltas))


def test_deltas_that_are_all_zero_have_no_p() -> None:
    result = flip([0.0] * 12)

    assert result.p_value is None
    assert "every delta is zero" in result.warnings[0]


@pytest.mark.parametrize("spoiled", [[], [1.0, math.nan], [math.inf] * 30])
def test_missing_deltas_are_never_significant(spoiled: list[float]) -> None:
    result = flip(spoiled)

    assert (result.p_value, result.statistic) == (None, None)
    assert result.warnings


def test_a_thousand_tasks_are_not_too_many() -> None:
    """All their flips could not be counted in the age of the universe."""
    deltas = np.random.default_rng(8).normal(size=1000)

    assert 0 < p_of(flip(deltas)) < 1
