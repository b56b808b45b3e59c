"""Rank tests: textbook cases by hand, properties, and agreement with scipy and statsmodels."""

import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.formula.api import ols

from outweigh.stats.distributions import chi_square_sf
from outweigh.stats.estimate import Alternative, Unit
from outweigh.stats.rank_tests import (
    friedman_test,
    kruskal_wallis_test,
    scheirer_ray_hare_test,
    wilcoxon_test,
)

MAIZE = np.array([6.0, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75])
TIED = np.random.default_rng(2).integers(0, 4, (9, 5)).astype(float)


@pytest.mark.parametrize("df", [1, 2, 3, 6, 11, 66, 301])
@pytest.mark.parametrize("x", [0.01, 0.5, 3.0, 12.59, 80.0, 400.0])
def test_chi_square_tails_agree_with_scipy(x: float, df: int) -> None:
    assert chi_square_sf(x, df) == pytest.approx(stats.chi2.sf(x, df), rel=1e-9, abs=1e-300)


def test_nothing_is_below_zero_in_a_chi_square_law() -> None:
    assert chi_square_sf(0.0, 3) == 1.0
    with pytest.raises(ValueError, match="degrees of freedom"):
        chi_square_sf(1.0, 0)


def test_wilcoxon_on_darwins_maize() -> None:
    found = wilcoxon_test(MAIZE, alternative=Alternative.TWO_SIDED, unit=Unit.TASK)

    assert found.statistic == 24.0
    assert found.p_value == pytest.approx(0.0412598, abs=1e-7)


@pytest.mark.parametrize("alternative", list(Alternative))
@pytest.mark.parametrize("size", [4, 12, 49])
def test_wilcoxon_without_ties_agrees_with_scipy(size: int, alternative: Alternative) -> None:
    deltas = np.random.default_rng(size).normal(0.3, 1, size)

    ours = wilcoxon_test(deltas, alternative=alternative, unit=Unit.TASK).p_value
    assert ours == pytest.approx(stats.wilcoxon(deltas, alternative=alternative.value, method="exact").pvalue)


def test_wilcoxon_with_many_ties_agrees_with_scipys_normal_approximation() -> None:
    deltas = np.random.default_rng(5).integers(-3, 5, 200).astype(float)

    ours = wilcoxon_test(deltas, alternative=Alternative.TWO_SIDED, unit=Unit.TASK).p_value
    theirs = stats.wilcoxon(deltas, zero_method="wilcox", correction=False, method="asymptotic").pvalue
    assert ours == pytest.approx(theirs, rel=1e-9)


def test_wilcoxon_with_ties_counts_every_choice_of_signs() -> None:
    # |deltas| 1, 1, 2 have ranks 1.5, 1.5, 3: the sums 0 … 6 of the 8 sign choices are 0, 1.5 (twice), 3 (twice), 4.5
    # (twice), 6, so a sum of 6 or more has a chance of 1 in 8.
    found = wilcoxon_test([1.0, 1.0, 2.0], alternative=Alternative.GREATER, unit=Unit.TASK)

    assert found.p_value == 1 / 8


def test_wilcoxon_of_no_difference_is_unknown() -> None:
    found = wilcoxon_test([0.0, 0.0], alternative=Alternative.TWO_SIDED, unit=Unit.TASK)

    assert found.p_value is None
    assert found.warnings


def test_friedman_by_hand() -> None:
    # Ranks 1 2 3 on each of four tasks: sums 4, 8, 12; 12 / (4·3·4) · 224 − 3·4·4 = 8.
    found = friedman_test(np.array([[1.0, 2.0, 3.0]] * 4), unit=Unit.TASK)

    assert found.statistic == pytest.approx(8.0)
    assert found.p_value == pytest.approx(np.exp(-4))


@pytest.mark.parametrize("table", [TIED, np.random.default_rng(1).normal(size=(12, 7))])
def test_friedman_agrees_with_scipy_ties_included(table: np.ndarray) -> None:
    found = friedman_test(table, unit=Unit.TASK)
    theirs = stats.friedmanchisquare(*table.T)

    assert (found.statistic, found.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_friedman_leaves_out_incomplete_tasks_and_says_what_it_needs() -> None:
    with_gap = np.vstack([TIED, [np.nan, 1, 2, 3, 4]])

    assert friedman_test(with_gap, unit=Unit.TASK) == friedman_test(TIED, unit=Unit.TASK)
    assert friedman_test(TIED[:1], unit=Unit.TASK).p_value is None
    assert friedman_test(np.ones((5, 3)), unit=Unit.TASK).p_value is None


def test_friedman_does_not_see_what_all_treatments_of_a_task_share() -> None:
    shifted = TIED + 100 * np.arange(9)[:, None]

    assert friedman_test(shifted.astype(np.float64), unit=Unit.TASK) == friedman_test(TIED, unit=Unit.TASK)


def test_kruskal_wallis_by_hand_and_by_scipy() -> None:
    # Ranks 1 2 | 3 4: 12 / (4·5) · (9/2 + 49/2) − 3·5 = 2.4.
    by_hand = kruskal_wallis_test([1.0, 2, 3, 4], np.array([0, 0, 1, 1]), unit=Unit.RUN)
    groups = np.repeat(np.arange(5), 9)
    found = kruskal_wallis_test(TIED.T.ravel(), groups, unit=Unit.RUN)
    theirs = stats.kruskal(*TIED.T)

    assert by_hand.statistic == pytest.approx(2.4)
    assert (found.statistic, found.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_kruskal_wallis_needs_two_groups_that_differ_somewhere() -> None:
    assert kruskal_wallis_test([1.0, 2], np.array([0, 0]), unit=Unit.RUN).p_value is None
    assert kruskal_wallis_test([1.0, 1], np.array([0, 1]), unit=Unit.RUN).p_value is None


def test_scheirer_ray_hare_agrees_with_an_analysis_of_variance_of_ranks() -> None:
    rng = np.random.default_rng(4)
    one, other = np.repeat(np.arange(3), 8), np.tile(np.repeat(np.arange(4), 2), 3)
    values = rng.integers(0, 9, 24) + 2.0 * one
    frame = {"rank": stats.rankdata(values), "one": one, "other": other}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # statsmodels' own
        table = sm.stats.anova_lm(ols("rank ~ C(one) * C(other)", frame).fit(), typ=2)
    mean_square = np.var(stats.rankdata(values), ddof=1)

    found = scheirer_ray_hare_test(values, one, other, unit=Unit.RUN)

    expected = [table.loc[row, "sum_sq"] / mean_square for row in ("C(one)", "C(other)", "C(one):C(other)")]
    parts = (found.first, found.second, found.interaction)
    assert [part.statistic for part in parts] == pytest.approx(expected)
    assert [part.p_value for part in parts] == pytest.approx(
        [stats.chi2.sf(value, df) for value, df in zip(expected, (2, 3, 6), strict=True)]
    )


def test_scheirer_ray_hare_of_one_level_is_unknown_and_of_uneven_cells_doubtful() -> None:
    one, other = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 1])
    uneven = scheirer_ray_hare_test([1.0, 2, 3, 4, 5], one, other, unit=Unit.RUN)

    assert uneven.first.warnings
    assert scheirer_ray_hare_test([1.0, 2], np.array([0, 0]), np.array([0, 1]), unit=Unit.RUN).first.p_value is None
