"""Several contrasts at once: by hand for one contrast, as properties for many, and beside scipy's multivariate t."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from outweigh.stats.max_t import max_t

DELTAS = np.array([6.0, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75])  # Darwin's maize, see Fisher
RNG = np.random.default_rng(7)
CORRELATED = RNG.normal(0.4, 1, (20, 1)) + RNG.normal(0, 1, (20, 5)) * 0.5


def test_one_contrast_is_a_t_test() -> None:
    only = max_t(DELTAS.mean(), DELTAS[:, None], draws=20_000).contrasts[0]

    assert only.t == pytest.approx(2.147987, abs=1e-6)
    assert only.p_value == only.holm == pytest.approx(0.0497029, abs=1e-7)
    assert only.adjusted == pytest.approx(0.0497, abs=0.005)
    assert only.interval is not None
    assert (only.interval.low, only.interval.high) == pytest.approx((0.0312, 41.8354), abs=1e-3)


def test_the_critical_value_lies_between_one_test_and_bonferroni() -> None:
    result = max_t(CORRELATED.mean(axis=0), CORRELATED, draws=20_000)

    assert result.critical is not None
    assert stats.t.ppf(0.975, 19) < result.critical < stats.t.ppf(1 - 0.025 / 5, 19)


def test_independent_contrasts_need_the_critical_value_of_sidak() -> None:
    independent = np.random.default_rng(3).normal(size=(400, 6))

    critical = max_t(independent.mean(axis=0), independent, draws=40_000).critical

    assert critical == pytest.approx(stats.t.ppf((1 + 0.95 ** (1 / 6)) / 2, 399), abs=0.04)


def test_with_many_units_the_critical_value_is_that_of_a_multivariate_t_from_scipy() -> None:
    many = np.random.default_rng(8).normal(0.4, 1, (400, 1)) + np.random.default_rng(9).normal(0, 0.5, (400, 5))
    normal = stats.multivariate_normal(cov=np.corrcoef(many.T)).rvs(200_000, random_state=1)
    deviate = np.quantile(np.abs(normal).max(axis=1), 0.95)

    critical = max_t(many.mean(axis=0), many, draws=40_000).critical

    assert critical == pytest.approx(stats.t.ppf(stats.norm.cdf(deviate), 399), abs=0.03)


def test_the_fewer_units_the_nearer_is_the_critical_value_to_bonferroni() -> None:
    """Copies show it alone: by draws they are one contrast, by the bound they are five."""
    shares = []
    for units in (9, 20, 80, 400):
        copies = np.repeat(np.random.default_rng(units).normal(size=(units, 1)), 5, axis=1)
        critical = max_t(copies.mean(axis=0), copies, draws=20_000).critical
        assert critical is not None
        chance = 2 * stats.t.sf(critical, units - 1)
        shares.append((1 / chance - 1 / 0.05) / (5 / 0.05 - 1 / 0.05))

    assert shares == pytest.approx([8 / 9, 8 / 20, 8 / 80, 8 / 400], abs=0.02)


def test_an_interval_excludes_zero_exactly_if_its_p_value_says_so() -> None:
    """Of the contrast with the largest t: further ones are tested by stepping down, which calls more."""
    agree = 0
    for seed in range(100):
        table = np.random.default_rng(seed).normal(0.6, 1, (12, 1)) + np.random.default_rng(seed + 1000).normal(
            0, 0.7, (12, 4)
        )
        first = max(max_t(table.mean(axis=0), table, draws=500).contrasts, key=lambda each: abs(each.t or 0))
        assert first.simultaneous is not None
        assert first.adjusted is not None
        agree += (first.simultaneous.low > 0 or first.simultaneous.high < 0) == (first.adjusted <= 0.05)

    assert agree == 100


def test_stepping_down_never_makes_a_p_value_smaller_than_its_own_or_larger_than_bonferroni() -> None:
    shifted = CORRELATED + np.array([0, 0.2, -0.9, 0.4, -0.5])
    result = max_t(shifted.mean(axis=0), shifted, draws=20_000)

    for contrast in result.contrasts:
        assert contrast.p_value is not None
        assert contrast.adjusted is not None
        assert contrast.p_value - 0.006 <= contrast.adjusted <= min(1.0, 5 * contrast.p_value) + 0.006
    largest_first = sorted(result.contrasts, key=lambda contrast: -abs(contrast.t or 0))
    adjusted = [contrast.adjusted for contrast in largest_first if contrast.adjusted is not None]
    assert adjusted == sorted(adjusted)


def test_signs_units_and_order_do_not_matter() -> None:
    result = max_t(CORRELATED.mean(axis=0), CORRELATED)
    turned = max_t(-3 * CORRELATED.mean(axis=0)[::-1], -3 * CORRELATED[:, ::-1])

    assert turned.critical == pytest.approx(result.critical)
    assert [contrast.adjusted for contrast in turned.contrasts] == [
        contrast.adjusted for contrast in result.contrasts[::-1]
    ]


def test_influences_may_be_centred() -> None:
    centred = CORRELATED - CORRELATED.mean(axis=0)
    one, other = (max_t(CORRELATED.mean(axis=0), table) for table in (CORRELATED, centred))

    assert [c.t for c in one.contrasts] == pytest.approx([c.t for c in other.contrasts])
    assert one.critical == pytest.approx(other.critical)


def test_a_contrast_that_does_not_vary_has_no_interval_and_changes_no_other() -> None:
    constant = np.column_stack([DELTAS, np.full(15, 0.1)])
    alone, beside = max_t(DELTAS.mean(), DELTAS[:, None]), max_t([DELTAS.mean(), 0.1], constant)

    assert beside.contrasts[0] == alone.contrasts[0]
    assert (beside.contrasts[1].simultaneous, beside.contrasts[1].adjusted) == (None, None)
    assert "same value" in (beside.contrasts[1].reason or "")


def test_one_unit_shows_no_spread() -> None:
    result = max_t([1.0, 2.0], [[1.0, 2.0]])

    assert result.critical is None
    assert {contrast.reason for contrast in result.contrasts} == {"an interval needs at least 2 units, not 1"}


def test_what_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        max_t([1.0], [[1.0], [np.nan]])


def test_of_twelve_tasks_without_any_effect_few_studies_call_one() -> None:
    called = 0
    for seed in range(200):
        tasks = np.random.default_rng(seed).normal(size=(12, 1)) + np.random.default_rng(seed + 999).normal(
            size=(12, 6)
        )
        result = max_t(tasks.mean(axis=0), tasks, draws=400, seed=seed)
        called += any(contrast.adjusted is not None and contrast.adjusted <= 0.05 for contrast in result.contrasts)

    assert called <= 16  # 5 % of 200 and two standard deviations


@pytest.mark.parametrize("units", [2, 3, 7])
def test_with_few_units_holm_and_bonferroni_stand_in_for_a_bootstrap_without_tails(units: int) -> None:
    table = np.random.default_rng(units).normal(1.0, 0.2, (units, 4))

    tested = max_t(table.mean(axis=0), table)

    assert [each.adjusted for each in tested.contrasts] == pytest.approx([each.holm for each in tested.contrasts])
    assert tested.critical == pytest.approx(stats.t.ppf(1 - 0.05 / 8, units - 1))


@given(st.integers(8, 40), st.integers(1, 6), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_a_p_value_among_several_is_never_below_its_own(units: int, contrasts: int, seed: int) -> None:
    table = np.random.default_rng(seed).normal(0.5, 1.0, (units, contrasts))

    tested = max_t(table.mean(axis=0), table, draws=500)

    for each in tested.contrasts:
        assert each.adjusted is not None
        assert each.p_value is not None
        assert each.adjusted >= each.p_value
