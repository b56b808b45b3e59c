import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import PermutationMethod, binomtest, fisher_exact, mannwhitneyu, rankdata
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from outweigh.stats.estimate import Alternative, Significance, Unit
from outweigh.stats.hypothesis_tests import (
    adjust_benjamini_hochberg,
    adjust_holm,
    average_ranks,
    doubled_ranks,
    fisher_exact_p,
    mann_whitney_test,
    mcnemar_exact,
    sign_test,
)

TWO_SIDED = Alternative.TWO_SIDED


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


@pytest.mark.parametrize(
    ("a", "b"), [([], [1.0]), ([2.0, 2.0], [2.0, 2.0]), ([1.0, math.nan], [5.0] * 9), ([1.0], [-math.inf])]
)
def test_samples_that_cannot_be_ranked_are_never_significant(a: list[float], b: list[float]) -> None:
    assert rank_sum(a, b).p_value is None
    assert rank_sum(a, b).warnings


MAIZE = [6.0, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]
counts = st.integers(0, 200)


def test_the_larger_published_table_is_reproduced() -> None:
    assert p_of(mcnemar_exact(15, 19, alternative=TWO_SIDED, unit=Unit.PAIR)) == pytest.approx(0.60759136127308)


def test_the_lopsided_published_table_is_reproduced() -> None:
    assert p_of(mcnemar_exact(9, 1, alternative=TWO_SIDED, unit=Unit.PAIR)) == pytest.approx(0.021484375, rel=1e-12)


@pytest.mark.parametrize(("wins", "losses"), [(1, 0), (3, 8), (40, 41), (500, 430)])
def test_mcnemar_agrees_with_statsmodels(wins: int, losses: int) -> None:
    table = [[7, wins], [losses, 9]]

    assert p_of(mcnemar_exact(wins, losses, alternative=TWO_SIDED, unit=Unit.PAIR)) == pytest.approx(
        mcnemar(table, exact=True).pvalue
    )


@pytest.mark.parametrize("alternative", list(Alternative))
def test_the_exact_test_agrees_with_scipy_in_every_direction(alternative: Alternative) -> None:
    result = mcnemar_exact(12, 5, alternative=alternative, unit=Unit.PAIR)

    assert p_of(result) == pytest.approx(binomtest(12, 17, alternative=alternative.value).pvalue)


@given(wins=counts, losses=counts.filter(bool))
def test_swapping_the_arms_swaps_the_one_sided_tests(wins: int, losses: int) -> None:
    greater = mcnemar_exact(wins, losses, alternative=Alternative.GREATER, unit=Unit.PAIR)
    less = mcnemar_exact(losses, wins, alternative=Alternative.LESS, unit=Unit.PAIR)

    assert p_of(greater) == pytest.approx(p_of(less), abs=1e-12)


def test_equal_wins_and_losses_are_no_evidence_at_all() -> None:
    assert p_of(mcnemar_exact(6, 6, alternative=TWO_SIDED, unit=Unit.PAIR)) == 1


def test_without_a_winner_no_test_has_a_p_value() -> None:
    results = [
        mcnemar_exact(0, 0, alternative=TWO_SIDED, unit=Unit.PAIR),
        sign_test([0.0, 0.0], alternative=TWO_SIDED, unit=Unit.TASK),
    ]

    assert [result.p_value for result in results] == [None] * 2
    assert all(result.warnings for result in results)


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        mcnemar_exact(-1, 3, alternative=TWO_SIDED, unit=Unit.PAIR)


def test_the_sign_test_of_fishers_maize_is_reproduced() -> None:
    assert p_of(sign_test(MAIZE, alternative=TWO_SIDED, unit=Unit.TASK)) == pytest.approx(0.0073853, abs=5e-8)


def test_zero_deltas_and_rounding_dust_have_no_winner() -> None:
    result = sign_test([0.5, 0.2, 0.0, 0.3 - 0.2 - 0.1, -0.1], alternative=TWO_SIDED, unit=Unit.TASK)

    assert result.n == 3


@pytest.mark.parametrize("spoiled", [[], [1.0, math.nan], [-math.inf, 1.0]])
def test_missing_deltas_are_never_significant(spoiled: list[float]) -> None:
    result = sign_test(spoiled, alternative=TWO_SIDED, unit=Unit.TASK)

    assert result.p_value is None
    assert result.warnings


Adjust = Callable[[Sequence[float | None]], NDArray[np.float64]]

BENJAMINI_HOCHBERG_1995 = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1,
]  # fmt: skip
METHODS: list[tuple[Adjust, str]] = [
    (adjust_holm, "holm"),
    (adjust_benjamini_hochberg, "fdr_bh"),
]
p_value_lists = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_the_1995_example_has_its_published_q_values() -> None:
    q = adjust_benjamini_hochberg(BENJAMINI_HOCHBERG_1995)

    expected = [0.0015, 0.003, 0.0095, 0.035625, 0.0603, 0.063857, 0.063857, 0.0645, 0.0765]
    np.testing.assert_allclose(q[:9], expected, atol=5e-7)


def test_the_1995_example_rejects_four_by_false_discovery_rate_and_three_by_holm() -> None:
    assert (adjust_benjamini_hochberg(BENJAMINI_HOCHBERG_1995) <= 0.05).sum() == 4
    assert (adjust_holm(BENJAMINI_HOCHBERG_1995) <= 0.05).sum() == 3


def test_four_p_values_by_hand_come_back_in_their_order() -> None:
    p_values = [0.01, 0.04, 0.03, 0.005]

    np.testing.assert_allclose(adjust_holm(p_values), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(adjust_benjamini_hochberg(p_values), [0.02, 0.04, 0.04, 0.02])


@pytest.mark.parametrize(("adjust", "name"), METHODS)
@given(p_values=p_value_lists)
@settings(max_examples=30, deadline=None)
def test_adjusted_p_values_agree_with_statsmodels(adjust: Adjust, name: str, p_values: list[float]) -> None:
    theirs = multipletests(p_values, method=name)[1]

    np.testing.assert_allclose(adjust(p_values), theirs, rtol=1e-9, atol=1e-300)


@given(p_values=p_value_lists)
@settings(max_examples=30, deadline=None)
def test_the_methods_never_lower_a_p_value_and_are_ordered_by_caution(p_values: list[float]) -> None:
    holm, bh = (adjust(p_values) for adjust, _ in METHODS)
    bonferroni = np.minimum(np.array(p_values) * len(p_values), 1)

    assert (bh >= np.array(p_values) - 1e-15).all()
    assert (holm >= bh - 1e-12).all()
    assert (bonferroni >= holm - 1e-12).all()


@pytest.mark.parametrize(("adjust", "name"), METHODS)
@pytest.mark.parametrize("unknown", [None, math.nan])
def test_an_unknown_p_value_counts_as_one(adjust: Adjust, name: str, unknown: float | None) -> None:
    adjusted = adjust([0.01, unknown, 0.02])

    np.testing.assert_array_equal(adjusted, adjust([0.01, 1.0, 0.02]))
    assert adjusted[1] == 1


@pytest.mark.parametrize(("adjust", "name"), METHODS)
def test_no_p_values_give_no_answers(adjust: Adjust, name: str) -> None:
    assert len(adjust([])) == 0


@pytest.mark.parametrize("impossible", [-0.1, 1.1, math.inf])
def test_a_p_value_outside_zero_and_one_is_refused(impossible: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjust_holm([0.5, impossible])


def test_fishers_lady_tasting_tea_is_reproduced() -> None:
    # Of the 70 ways to choose four cups, 36 have two right; the others are as unlikely as this or more so.
    assert fisher_exact_p(3, 4, 1, 4) == pytest.approx(34 / 70)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 40), st.integers(1, 40))
def test_fishers_exact_test_agrees_with_an_independent_implementation(a: int, b: int, n_a: int, n_b: int) -> None:
    a, b = min(a, n_a), min(b, n_b)

    assert fisher_exact_p(a, n_a, b, n_b) == pytest.approx(fisher_exact([[a, n_a - a], [b, n_b - b]]).pvalue, rel=1e-6)


def test_fishers_exact_test_of_nothing_finds_nothing() -> None:
    assert fisher_exact_p(0, 0, 3, 9) == 1
    assert fisher_exact_p(0, 5, 0, 9) == 1


@pytest.mark.parametrize(("a", "b"), [(15_000, 15_300), (15_000, 15_600), (200, 40_000)])
def test_many_tables_are_counted_from_the_likeliest_outwards(a: int, b: int) -> None:
    n = 50_000

    assert fisher_exact_p(a, n, b, n) == pytest.approx(
        fisher_exact([[a, n - a], [b, n - b]]).pvalue, rel=1e-9, abs=1e-300
    )
