import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from outweigh.stats.hypothesis_tests import adjust_benjamini_hochberg, adjust_holm

Adjust = Callable[[Sequence[float | None]], NDArray[np.float64]]

BENJAMINI_HOCHBERG_1995 = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1,
]  # fmt: skip
METHODS: list[tuple[Adjust, str]] = [
    (adjust_bonferroni, "bonferroni"),
    (adjust_holm, "holm"),
    (adjust_benjamini_hochberg, "fdr_bh"),
]
p_value_lists = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_the_1995_example_has_its_published_q_values() -> None:
    q = adjust_benjamini_hochberg(BENJAMINI_HOCHBERG_1995)

    expected = [0.0015, 0.003, 0.0095, 0.035625, 0.0603, 0.063857, 0.063857, 0.0645, 0.0765]
    np.testing.assert_allclose(q[:9], expected, atol=5e-7)


def test_the_1995_example_rejects_four_by_false_discovery_rate_and_three_by_bonferroni() -> None:
    assert (adjust_benjamini_hochberg(BENJAMINI_HOCHBERG_1995) <= 0.05).sum() == 4
    assert (adjust_bonferroni(BENJAMINI_HOCHBERG_1995) <= 0.05).sum() == 3


def test_four_p_values_by_hand_come_back_in_their_order() -> None:
    p_values = [0.01, 0.04, 0.03, 0.005]

    np.testing.assert_allclose(adjust_holm(p_values), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(adjust_benjamini_hochberg(p_values), [0.02, 0.04, 0.04, 0.02])
    np.testing.assert_allclose(adjust_bonferroni(p_values), [0.04, 0.16, 0.12, 0.02])


@pytest.mark.parametrize(("adjust", "name"), METHODS)
@given(p_values=p_value_lists)
@settings(max_examples=30, deadline=None)
def test_adjusted_p_values_agree_with_statsmodels(adjust: Adjust, name: str, p_values: list[float]) -> None:
    theirs = multipletests(p_values, method=name)[1]

    np.testing.assert_allclose(adjust(p_values), theirs, rtol=1e-9, atol=1e-300)


@given(p_values=p_value_lists)
@settings(max_examples=30, deadline=None)
def test_the_methods_never_lower_a_p_value_and_are_ordered_by_caution(p_values: list[float]) -> None:
    bonferroni, holm, bh = (adjust(p_values) for adjust, _ in METHODS)

    assert (bh >= np.array(p_values) - 1e-15).all()
    assert (holm >= bh - 1e-12).all()
    assert (bonferroni >= holm - 1e-12).all()
    assert (bonferroni <= 1).all()


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


def test_step_down_max_t_by_hand() -> None:
    null = np.array([[1.0, 0.0], [-3.0, 1.0], [0.5, 2.5], [0.1, -0.2]])

    adjusted = adjust_max_t([2.0, -2.8], null)

    # -2.8 is the larger: max|null| = 1, 3, 2.5, 0.2 exceeds 2.8 once; then |null of the first| exceeds 2 once.
    np.testing.assert_allclose(adjusted, [2 / 5, 2 / 5])


def test_one_sided_max_t_ignores_the_other_side() -> None:
    null = np.array([[1.0], [-3.0], [0.5], [0.1]])

    assert adjust_max_t([2.0], null, two_sided=False)[0] == pytest.approx(1 / 5)
    assert adjust_max_t([2.0], null, two_sided=True)[0] == pytest.approx(2 / 5)
    assert adjust_max_t([-2.0], null, two_sided=False)[0] == pytest.approx(4 / 5)


def test_max_t_on_identical_hypotheses_costs_nothing_where_holm_pays_for_each() -> None:
    delta = np.random.default_rng(1).normal(0.35, size=50)
    copies = np.tile(delta[:, None], 10)

    adjusted = adjust_max_t(t_statistics(copies), centred_t_draws(copies, 4000, seed=1))
    single = adjust_max_t(t_statistics(copies[:, :1]), centred_t_draws(copies[:, :1], 4000, seed=1))

    np.testing.assert_allclose(adjusted, single[0])
    assert single[0] == pytest.approx(stats.ttest_1samp(delta, 0).pvalue, abs=0.015)
    assert adjust_holm([float(p) for p in np.tile(single, 10)])[0] > 5 * single[0]


def test_max_t_on_independent_hypotheses_is_close_to_the_sidak_step_down() -> None:
    table = np.random.default_rng(4).normal([0.0, 0.1, 0.16, 0.2], size=(200, 4))
    t = t_statistics(table)

    adjusted = adjust_max_t(t, centred_t_draws(table, 20_000, seed=2))

    raw = stats.ttest_1samp(table, 0).pvalue
    np.testing.assert_allclose(adjusted, multipletests(raw, method="holm-sidak")[1], atol=0.03)


def test_max_t_holds_the_family_wise_error_rate_of_six_correlated_true_nulls() -> None:
    rng, rejected, experiments = np.random.default_rng(2), 0, 500
    for seed in range(experiments):
        table = rng.normal(size=(30, 6)) + rng.normal(size=(30, 1))
        rejected += adjust_max_t(t_statistics(table), centred_t_draws(table, 400, seed)).min() <= 0.05

    assert 0.02 <= rejected / experiments <= 0.08


def test_max_t_does_not_depend_on_the_order_of_the_hypotheses() -> None:
    table = np.random.default_rng(3).normal(0.2, size=(40, 5))
    order = np.array([3, 0, 4, 1, 2])

    adjusted = adjust_max_t(t_statistics(table), centred_t_draws(table, 1000, seed=5))
    shuffled = adjust_max_t(t_statistics(table[:, order]), centred_t_draws(table[:, order], 1000, seed=5))

    np.testing.assert_allclose(shuffled, adjusted[order])


def test_swapping_the_arms_or_scaling_a_metric_keeps_the_two_sided_answer() -> None:
    table = np.random.default_rng(6).normal(0.3, size=(40, 3))
    adjusted = adjust_max_t(t_statistics(table), centred_t_draws(table, 1000, seed=5))

    rescaled = table * [-1, 100, -0.01]

    np.testing.assert_allclose(adjust_max_t(t_statistics(rescaled), centred_t_draws(rescaled, 1000, 5)), adjusted)


def test_t_statistics_agree_with_scipy() -> None:
    table = np.random.default_rng(7).normal(0.3, size=(25, 3))

    np.testing.assert_allclose(t_statistics(table), stats.ttest_1samp(table, 0).statistic)


@pytest.mark.parametrize("column", [[0.0] * 20, [0.1] * 20, [math.nan, 1.0] * 10, [math.inf, 1.0] * 10])
def test_a_hypothesis_without_a_t_statistic_is_never_rejected_and_harms_no_other(column: list[float]) -> None:
    good = np.random.default_rng(8).normal(2, size=20)
    table = np.column_stack([column, good])

    adjusted = adjust_max_t(t_statistics(table), centred_t_draws(table, 500, seed=1))

    assert adjusted[0] == 1
    assert adjusted[1] == pytest.approx(1 / 501, abs=0.01)


def test_draws_that_could_not_be_computed_speak_for_the_null() -> None:
    assert adjust_max_t([5.0], np.full((99, 1), np.nan))[0] == 1


@pytest.mark.parametrize("tasks", [0, 1])
def test_fewer_than_two_tasks_reject_nothing(tasks: int) -> None:
    table = np.ones((tasks, 2))

    np.testing.assert_array_equal(adjust_max_t(t_statistics(table), centred_t_draws(table, 99, seed=1)), [1, 1])
