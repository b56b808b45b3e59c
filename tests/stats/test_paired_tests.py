import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar

from outweigh.stats.estimate import Alternative, Significance, Unit
from outweigh.stats.hypothesis_tests import mcnemar_exact, sign_test

MAIZE = [6.0, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]
TWO_SIDED = Alternative.TWO_SIDED
counts = st.integers(0, 200)


def p_of(result: Significance) -> float:
    assert result.p_value is not None
    return result.p_value


def test_the_larger_published_table_is_reproduced() -> None:
    plain = mcnemar_chi_square(15, 19, corrected=False, unit=Unit.PAIR)

    assert p_of(mcnemar_exact(15, 19, alternative=TWO_SIDED, unit=Unit.PAIR)) == pytest.approx(0.60759136127308)
    assert p_of(mcnemar_chi_square(15, 19, corrected=True, unit=Unit.PAIR)) == pytest.approx(0.606905427217951)
    assert plain.statistic == pytest.approx(0.470588235294118)
    assert p_of(plain) == pytest.approx(0.492716677227088)


def test_the_lopsided_published_table_is_reproduced() -> None:
    assert p_of(mcnemar_exact(9, 1, alternative=TWO_SIDED, unit=Unit.PAIR)) == pytest.approx(0.021484375, rel=1e-12)
    assert p_of(mcnemar_mid_p(9, 1, alternative=TWO_SIDED, unit=Unit.PAIR)) == pytest.approx(0.01171875, rel=1e-12)
    assert mcnemar_chi_square(9, 1, corrected=True, unit=Unit.PAIR).statistic == pytest.approx(4.9)


@pytest.mark.parametrize(("wins", "losses"), [(1, 0), (3, 8), (40, 41), (500, 430)])
def test_mcnemar_agrees_with_statsmodels(wins: int, losses: int) -> None:
    table = [[7, wins], [losses, 9]]

    assert p_of(mcnemar_exact(wins, losses, alternative=TWO_SIDED, unit=Unit.PAIR)) == pytest.approx(
        mcnemar(table, exact=True).pvalue
    )
    for corrected in (True, False):
        assert p_of(mcnemar_chi_square(wins, losses, corrected=corrected, unit=Unit.PAIR)) == pytest.approx(
            mcnemar(table, exact=False, correction=corrected).pvalue
        )


@pytest.mark.parametrize("alternative", list(Alternative))
def test_the_exact_test_agrees_with_scipy_in_every_direction(alternative: Alternative) -> None:
    result = mcnemar_exact(12, 5, alternative=alternative, unit=Unit.PAIR)

    assert p_of(result) == pytest.approx(binomtest(12, 17, alternative=alternative.value).pvalue)


@given(wins=counts, losses=counts.filter(bool))
def test_swapping_the_arms_swaps_the_one_sided_tests(wins: int, losses: int) -> None:
    greater = mcnemar_mid_p(wins, losses, alternative=Alternative.GREATER, unit=Unit.PAIR)
    less = mcnemar_mid_p(losses, wins, alternative=Alternative.LESS, unit=Unit.PAIR)

    assert p_of(greater) == pytest.approx(p_of(less), abs=1e-12)


@given(wins=counts, losses=counts.filter(bool))
def test_mid_p_is_never_above_the_exact_p(wins: int, losses: int) -> None:
    mid = mcnemar_mid_p(wins, losses, alternative=TWO_SIDED, unit=Unit.PAIR)
    exact = mcnemar_exact(wins, losses, alternative=TWO_SIDED, unit=Unit.PAIR)

    assert 0 < p_of(mid) <= p_of(exact) + 1e-12 <= 1 + 1e-12


def test_equal_wins_and_losses_are_no_evidence_at_all() -> None:
    assert p_of(mcnemar_exact(6, 6, alternative=TWO_SIDED, unit=Unit.PAIR)) == 1
    assert p_of(mcnemar_mid_p(6, 6, alternative=TWO_SIDED, unit=Unit.PAIR)) == pytest.approx(1)
    assert p_of(mcnemar_chi_square(6, 6, corrected=True, unit=Unit.PAIR)) == 1


def test_without_a_winner_no_test_has_a_p_value() -> None:
    results = [
        mcnemar_exact(0, 0, alternative=TWO_SIDED, unit=Unit.PAIR),
        mcnemar_mid_p(0, 0, alternative=TWO_SIDED, unit=Unit.PAIR),
        mcnemar_chi_square(0, 0, corrected=False, unit=Unit.PAIR),
        sign_test([0.0, 0.0], alternative=TWO_SIDED, unit=Unit.TASK),
    ]

    assert [result.p_value for result in results] == [None] * 4
    assert all(result.warnings for result in results)


def test_the_chi_square_test_says_when_pairs_are_few() -> None:
    assert "the exact test holds its level" in mcnemar_chi_square(9, 1, corrected=True, unit=Unit.PAIR).warnings[0]
    assert mcnemar_chi_square(15, 19, corrected=True, unit=Unit.PAIR).warnings == ()


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
