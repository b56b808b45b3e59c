import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outweigh.stats.bootstrap import bootstrap, bootstrap_means

SKEWED = np.array([10, 12, 12.5, 12.5, 13.9, 15, 21, 22, 23, 34, 50, 81, 89, 121, 134, 213])


@given(tasks=st.integers(1, 300), draws=st.integers(1, 50), seed=st.integers(0, 2**64))
@settings(max_examples=40, deadline=None)
def test_every_draw_gives_out_as_many_weights_as_there_are_tasks(tasks: int, draws: int, seed: int) -> None:
    weights = task_weights(tasks, draws, seed)

    assert weights.shape == (draws, tasks)
    assert (weights.sum(axis=1) == tasks).all()
    assert weights.min() >= 0


@pytest.mark.parametrize("tasks", [2, 3, 5, 49])
def test_no_draw_is_empty_however_few_the_tasks(tasks: int) -> None:
    means = bootstrap_means(np.arange(1.0, tasks + 1), 20_000, seed=3)

    assert np.isfinite(means).all()


def test_more_draws_extend_the_weights_and_do_not_change_them() -> None:
    few, many = task_weights(700, 400, seed=5), task_weights(700, 1500, seed=5)

    np.testing.assert_array_equal(few, many[:400])


def test_blocks_together_are_the_whole_matrix() -> None:
    blocks = list(weight_blocks(5000, 120, seed=1))

    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate(blocks), task_weights(5000, 120, seed=1))


def test_a_hundred_thousand_tasks_are_drawn_in_small_blocks() -> None:
    block = next(weight_blocks(100_000, 10_000, seed=1))

    assert block.nbytes < 10_000_000
    assert (block.sum(axis=1) == 100_000).all()


def test_another_seed_gives_other_weights() -> None:
    assert (task_weights(20, 50, seed=1) != task_weights(20, 50, seed=2)).any()


@pytest.mark.parametrize(("tasks", "draws"), [(0, 10), (10, 0)])
def test_nothing_to_draw_is_refused(tasks: int, draws: int) -> None:
    with pytest.raises(ValueError, match="at least one task and one draw"):
        task_weights(tasks, draws, seed=1)


def test_the_weights_follow_the_multinomial_law() -> None:
    weights = task_weights(3, 60_000, seed=11)
    outcomes = [outcome for outcome in itertools.product(range(4), repeat=3) if sum(outcome) == 3]

    for outcome in outcomes:
        share = float(np.mean((weights == outcome).all(axis=1)))
        law = math.factorial(3) / math.prod(math.factorial(k) for k in outcome) / 27
        assert share == pytest.approx(law, abs=5 * math.sqrt(law / 60_000))


def test_weighted_means_by_hand() -> None:
    weights = [[1, 1, 1], [3, 0, 0], [0, 1, 2]]
    columns = [[1.0, 10.0], [2.0, 20.0], [6.0, 30.0]]

    means = weighted_means(weights, columns)

    np.testing.assert_allclose(means, np.array([[3.0, 20.0], [1.0, 10.0], [14 / 3, 80 / 3]]))


def test_all_columns_share_their_draws_so_that_a_difference_of_means_is_the_mean_difference() -> None:
    table = np.random.default_rng(2).normal(size=(40, 2))

    together = bootstrap_means(table, 500, seed=9)
    differences = bootstrap_means(table[:, 0] - table[:, 1], 500, seed=9)

    np.testing.assert_allclose(together[:, 0] - together[:, 1], differences[:, 0], atol=1e-12)


def test_a_missing_value_spoils_its_own_column_only() -> None:
    table = np.ones((30, 3))
    table[4, 1] = np.nan

    means = bootstrap_means(table, 200, seed=1)

    np.testing.assert_array_equal(np.isnan(means).any(axis=0), [False, True, False])
    np.testing.assert_allclose(means[:, [0, 2]], 1)


def test_means_are_the_same_to_the_last_bit_in_whatever_order_they_are_added() -> None:
    rng = np.random.default_rng(10)
    table = rng.lognormal(0, 4, size=(777, 5))
    weights, order = task_weights(777, 64, seed=3), rng.permutation(777)

    means = weighted_means(weights, table)

    np.testing.assert_array_equal(weighted_means(weights[:, order], table[order]), means)
    np.testing.assert_array_equal(weighted_means(weights[5:6], table)[0], means[5])
    assert (np.abs(means - weights @ table / 777) < 1e-13 * table.max(axis=0)).all()


def test_columns_of_tiny_huge_and_no_values_are_averaged_alike() -> None:
    table = np.linspace(1, 2, 20)[:, None] * [1e-200, 1e200, 0.0]

    means = bootstrap_means(table, 50, seed=1)

    np.testing.assert_allclose(means[:, 0] * 1e200, means[:, 1] / 1e200, rtol=1e-12)
    assert (means[:, 2] == 0).all()


def test_large_sums_keep_the_precision_of_doubles() -> None:
    costs = np.full(1000, 1e8) + np.linspace(0, 1, 1000)

    means = bootstrap_means(costs.astype(np.float64), 100, seed=1)

    np.testing.assert_allclose(means[:, 0], 1e8 + 0.5, atol=0.1)
    assert means.std() == pytest.approx(costs.std() / math.sqrt(1000), rel=0.3)


def test_the_spread_of_bootstrapped_means_is_the_closed_form() -> None:
    means = bootstrap_means(SKEWED, 200_000, seed=4)

    closed_form = SKEWED.std() / math.sqrt(len(SKEWED))
    assert closed_form == pytest.approx(14.2368, abs=5e-5)
    assert means.std() == pytest.approx(closed_form, rel=0.006)


def test_the_bootstrap_law_of_the_median_of_thirteen_is_the_exact_one() -> None:
    medians = bootstrap_medians(np.arange(13.0), 200_000, seed=6)

    shares = np.bincount(medians.astype(int), minlength=13) / len(medians)
    half = [0, 0.0015, 0.0142, 0.0549, 0.1243, 0.1936, 0.2229]
    np.testing.assert_allclose(shares, half + half[-2::-1], atol=0.004)


@given(
    values=st.lists(st.integers(-20, 20), min_size=1, max_size=12),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_weighted_medians_are_the_medians_of_the_repeated_values(values: list[int], seed: int) -> None:
    weights = task_weights(len(values), 20, seed)

    expected = [np.median(np.repeat(values, row)) for row in weights]
    np.testing.assert_array_equal(weighted_medians(weights, values), expected)


def test_the_median_of_missing_values_is_unknown() -> None:
    assert np.isnan(bootstrap_medians([1.0, np.nan, 2.0], 10, seed=1)).all()


def test_any_statistic_of_the_weights_can_be_bootstrapped() -> None:
    distinct_tasks = bootstrap(lambda weights: (weights > 0).sum(axis=1) / 1.0, 50, 4000, seed=2)

    assert distinct_tasks.mean() / 50 == pytest.approx(1 - (1 - 1 / 50) ** 50, rel=0.01)


def test_the_jackknife_leaves_every_task_out_once() -> None:
    table = np.random.default_rng(3).normal(size=(7, 2))

    left_out = jackknife_means(table)

    expected = np.stack([np.delete(table, task, axis=0).mean(axis=0) for task in range(7)])
    np.testing.assert_allclose(left_out, expected)
