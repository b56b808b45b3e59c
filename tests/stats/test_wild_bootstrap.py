import itertools
import math

import numpy as np
import pytest
from scipy import stats

from outweigh.stats.cluster import cluster_errors
from outweigh.stats.wild_bootstrap import RADEMACHER, WEBB, wild_cluster_test


def p_value(values: list[float], labels: list[int], seed: int = 1) -> float:
    significance = wild_cluster_test(values, labels, seed)
    assert significance.p_value is not None, significance.warnings
    return significance.p_value


@pytest.mark.parametrize("weights", [RADEMACHER, WEBB])
def test_the_weights_have_mean_zero_and_variance_one(weights: list[float]) -> None:
    assert np.mean(weights) == pytest.approx(0, abs=1e-15)
    assert np.var(weights) == pytest.approx(1)


def test_the_statistic_is_the_mean_over_its_clustered_error() -> None:
    values = np.random.default_rng(1).normal(0.5, size=30)
    labels = np.repeat(np.arange(6), [3, 4, 5, 6, 7, 5])

    significance = wild_cluster_test(values, labels, seed=1)

    assert significance.statistic == pytest.approx(values.mean() / cluster_errors(values, labels).cr1)


def test_random_signs_approach_the_full_enumeration() -> None:
    sums = np.random.default_rng(2).normal(0.4, size=11)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=11)))
    t = np.abs(stats.ttest_1samp(signs * sums, 0, axis=1).statistic)
    exact = float(np.mean(t >= abs(stats.ttest_1samp(sums, 0).statistic) * (1 - 1e-9)))

    assert p_value(sums.tolist(), list(range(11))) == pytest.approx(exact, abs=0.012)


def test_webb_weights_approach_their_full_enumeration() -> None:
    sums = np.array([0.9, 0.2, 1.4, -0.3, 0.8])
    weights = np.array(list(itertools.product(WEBB, repeat=5)))
    drawn = weights * sums
    t = np.abs(drawn.mean(axis=1) / (drawn.std(axis=1, ddof=1) / math.sqrt(5)))
    exact = float(np.mean(t >= abs(stats.ttest_1samp(sums, 0).statistic) * (1 - 1e-9)))

    assert p_value(sums.tolist(), list(range(5))) == pytest.approx(exact, abs=0.015)


def test_many_equal_clusters_agree_with_the_t_test_of_their_means() -> None:
    values = np.random.default_rng(3).normal(0.28, size=50)

    ours = wild_cluster_test(np.repeat(values, 3), np.repeat(np.arange(50), 3), seed=1).p_value

    assert ours == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=0.012)


def test_the_null_can_be_any_number_and_the_arms_can_be_swapped() -> None:
    values, labels = np.random.default_rng(4).normal(0.7, size=24), np.repeat(np.arange(8), 3)
    plain = wild_cluster_test(values, labels, seed=5)

    assert wild_cluster_test(values + 10, labels, seed=5, null=10).p_value == plain.p_value
    assert wild_cluster_test(-values, labels, seed=5).p_value == plain.p_value
    assert wild_cluster_test(1000 * values, labels, seed=5).p_value == plain.p_value


def test_the_seed_decides_the_draws() -> None:
    values, labels = np.random.default_rng(5).normal(0.3, size=24), np.repeat(np.arange(8), 3)

    p_values = [wild_cluster_test(values, labels, seed).p_value for seed in (1, 1, 2)]

    assert p_values[0] == p_values[1] != p_values[2]


def test_six_uneven_clusters_reject_a_true_null_about_as_often_as_they_may() -> None:
    rng, sizes = np.random.default_rng(6), [5, 10, 20, 30, 30, 60]
    labels = np.repeat(np.arange(6), sizes)
    rejected = 0
    for seed in range(500):
        values = rng.normal(size=6)[labels] + rng.normal(size=len(labels))
        rejected += (wild_cluster_test(values, labels, seed, draws=399).p_value or 0) <= 0.05

    assert 0.02 <= rejected / 500 <= 0.085


def test_an_effect_without_noise_between_clusters_has_no_p_value() -> None:
    significance = wild_cluster_test([0.1] * 12, [1, 2, 3] * 4, seed=1)

    assert significance.p_value is None
    assert "same mean" in significance.warnings[0]


@pytest.mark.parametrize(
    ("values", "labels", "reason"),
    [
        ([], [], "at least 2 clusters"),
        ([1.0, 2.0], [1, 1], "at least 2 clusters"),
        ([1.0, math.nan], [1, 2], "not a finite number"),
        ([1.0, math.inf], [1, 2], "not a finite number"),
    ],
)
def test_unusable_values_have_no_p_value_and_a_reason(values: list[float], labels: list[int], reason: str) -> None:
    significance = wild_cluster_test(values, labels, seed=1)

    assert significance.p_value is None
    assert significance.statistic is None
    assert reason in significance.warnings[0]


def test_few_clusters_are_warned_of() -> None:
    assert "cannot support a claim" in wild_cluster_test([1.0, 2.0, 4.0], [1, 2, 3], seed=1).warnings[0]
