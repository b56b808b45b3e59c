import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import PermutationMethod, mannwhitneyu, rankdata, wilcoxon

from outweigh.stats.estimate import Alternative, Significance, Unit
from outweigh.stats.hypothesis_tests import average_ranks, doubled_ranks, mann_whitney_test

MAIZE = [6.0, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]
TWO_SIDED = Alternative.TWO_SIDED


def signed_rank(deltas: object, alternative: Alternative = TWO_SIDED) -> Significance:
    return wilcoxon_test(np.array(deltas, dtype=float), alternative=alternative, unit=Unit.TASK)


def rank_sum(a: object, b: object, alternative: Alternative = TWO_SIDED) -> Significance:
    first, second = np.array(a, dtype=float), np.array(b, dtype=float)
    return mann_whitney_test(first, second, alternative=alternative, unit=Unit.RUN)


def p_of(result: Significance) -> float:
    assert result.p_value is not None
    return result.p_value


@given(values=st.lists(st.integers(-5, 5), min_size=1))
def test_average_ranks_are_scipys(values: list[int]) -> None:
    sample = np.array(values, dtype=float)

    assert average_ranks(sample).tolist() == rankdata(sample).tolist()
    assert doubled_ranks(sample).tolist() == (2 * rankdata(sample)).tolist()


def test_fishers_maize_has_a_rank_sum_of_24() -> None:
    result = signed_rank(MAIZE)

    assert result.statistic == 24
    assert p_of(result) == pytest.approx(0.0412598, abs=5e-8)


@pytest.mark.parametrize("alternative", list(Alternative))
@pytest.mark.parametrize("n", [1, 5, 30, 50])
def test_exact_signed_ranks_agree_with_scipy(n: int, alternative: Alternative) -> None:
    deltas = np.random.default_rng(n).normal(0.3, 1, size=n)
    theirs = wilcoxon(deltas, alternative=alternative.value, method="exact")

    assert p_of(signed_rank(deltas, alternative)) == pytest.approx(theirs.pvalue)
    assert signed_rank(deltas, alternative).statistic == theirs.statistic


def test_exact_signed_ranks_with_ties_agree_with_scipys_full_permutation() -> None:
    deltas = np.array([1.0, 1, -1, 2, 2, 3, -3, 3, 5, 1])
    theirs = wilcoxon(deltas, method=PermutationMethod(n_resamples=np.inf))

    assert p_of(signed_rank(deltas)) == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("alternative", list(Alternative))
def test_many_signed_ranks_agree_with_scipys_normal_approximation(alternative: Alternative) -> None:
    deltas = np.random.default_rng(9).integers(-6, 8, size=300).astype(float)
    theirs = wilcoxon(deltas, alternative=alternative.value, method="asymptotic")

    assert p_of(signed_rank(deltas, alternative)) == pytest.approx(theirs.pvalue)


def test_zero_deltas_are_left_out_of_the_signed_ranks() -> None:
    assert p_of(signed_rank([*MAIZE, 0, 0])) == p_of(signed_rank(MAIZE))


def test_swapping_the_arms_swaps_the_one_sided_signed_rank_tests() -> None:
    forth, back = signed_rank(MAIZE, Alternative.GREATER), signed_rank(np.negative(MAIZE), Alternative.LESS)

    assert p_of(forth) == pytest.approx(p_of(back))


@pytest.mark.parametrize(("n", "smallest"), [(3, 0.1), (4, 0.0285714), (5, 0.0079365)])
def test_the_smallest_p_of_separated_samples_depends_on_their_size(n: int, smallest: float) -> None:
    assert p_of(rank_sum(range(n), range(n, 2 * n))) == pytest.approx(smallest, abs=5e-8)


def test_samples_tied_within_themselves_are_ranked_exactly() -> None:
    assert p_of(rank_sum([-1] * 4, [1] * 4)) == pytest.approx(0.02857142857)


def test_interleaved_samples_have_the_published_u() -> None:
    result = rank_sum([2, 1, 3, 5], [0, 4, 6, 7])

    assert result.statistic == 5
    assert p_of(result) == pytest.approx(0.4857142857)


def test_large_samples_have_the_published_u() -> None:
    result = rank_sum(np.arange(500) * 2, np.arange(600) * 2 - 41)

    assert result.statistic == 135250
    assert p_of(result) == pytest.approx(0.00493353608, abs=5e-12)


@pytest.mark.parametrize("alternative", list(Alternative))
@pytest.mark.parametrize(("n_a", "n_b"), [(1, 4), (7, 3), (50, 40)])
def test_exact_rank_sums_agree_with_scipy(n_a: int, n_b: int, alternative: Alternative) -> None:
    rng = np.random.default_rng(n_a)
    a, b = rng.normal(0.5, 1, size=n_a), rng.normal(size=n_b)
    theirs = mannwhitneyu(a, b, alternative=alternative.value, method="exact")

    assert rank_sum(a, b, alternative).statistic == theirs.statistic
    assert p_of(rank_sum(a, b, alternative)) == pytest.approx(theirs.pvalue)


def test_exact_rank_sums_with_ties_agree_with_scipys_full_permutation() -> None:
    a, b = [1.0, 2, 2, 3, 5], [2.0, 3, 3, 5, 5, 6]
    theirs = mannwhitneyu(a, b, method=PermutationMethod(n_resamples=np.inf))

    assert p_of(rank_sum(a, b)) == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("alternative", list(Alternative))
def test_many_tied_values_agree_with_scipys_normal_approximation(alternative: Alternative) -> None:
    rng = np.random.default_rng(10)
    a, b = rng.integers(0, 9, size=120).astype(float), rng.integers(0, 10, size=70).astype(float)
    theirs = mannwhitneyu(a, b, alternative=alternative.value, method="asymptotic")

    assert p_of(rank_sum(a, b, alternative)) == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("spoiled", [[], [0.0, 0.0], [1.0, math.nan], [math.inf, 2.0]])
def test_deltas_that_cannot_be_ranked_are_never_significant(spoiled: list[float]) -> None:
    assert signed_rank(spoiled).p_value is None
    assert signed_rank(spoiled).warnings


@pytest.mark.parametrize(
    ("a", "b"), [([], [1.0]), ([2.0, 2.0], [2.0, 2.0]), ([1.0, math.nan], [5.0] * 9), ([1.0], [-math.inf])]
)
def test_samples_that_cannot_be_ranked_are_never_significant(a: list[float], b: list[float]) -> None:
    assert rank_sum(a, b).p_value is None
    assert rank_sum(a, b).warnings
