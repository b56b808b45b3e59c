import math

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy import linalg, stats

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.variance import (
    TaskMoments,
    VarianceComponents,
    cluster_errors,
    cluster_interval,
    estimate_components,
    summarize_runs,
)

FOUR_BY_FOUR = [1.0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0]
FOUR_LABELS = list("aaaabbbbccccdddd")


def interval_of(estimate: Estimate) -> Interval:
    assert estimate.interval is not None, estimate.warnings
    return estimate.interval


def draw_clustered(rng: np.random.Generator, sizes: list[int]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return rng.normal(size=len(sizes))[labels] + rng.normal(size=len(labels)), labels


def bias_reduced(labels: NDArray[np.int64], values: NDArray[np.float64]) -> tuple[float, float]:
    """CR2 by full matrices, with Satterthwaite degrees of freedom."""
    size = len(labels)
    annihilator = np.eye(size) - 1 / size
    columns = []
    for label in np.unique(labels):
        inside = labels == label
        block = linalg.fractional_matrix_power(annihilator[np.ix_(inside, inside)], -0.5)
        columns.append(annihilator[:, inside] @ block @ np.ones(inside.sum()) / size)
    projection = np.column_stack(columns)
    gram = projection.T @ projection
    return float(np.linalg.norm(projection.T @ values)), float(np.trace(gram) ** 2 / np.sum(gram**2))


def test_four_clusters_of_four_have_their_reference_errors() -> None:
    errors = cluster_errors(FOUR_BY_FOUR, FOUR_LABELS)

    assert errors.cr0 == pytest.approx(0.1976424, abs=5e-8)
    assert errors.cr1 == pytest.approx(0.2282177, abs=5e-8)


def test_equal_clusters_make_cr2_the_same_as_cr1_with_one_degree_less_than_clusters() -> None:
    errors = cluster_errors(FOUR_BY_FOUR, FOUR_LABELS)

    assert errors.cr2 == pytest.approx(errors.cr1)
    assert errors.cr2_df == pytest.approx(3)


def test_uneven_clusters_agree_with_statsmodels() -> None:
    values, labels = draw_clustered(np.random.default_rng(1), [2, 9, 4, 7, 3, 12])
    fit = sm.OLS(values, np.ones(len(values)))
    clustered = {"groups": labels}

    errors = cluster_errors(values, labels)

    assert errors.cr1 == pytest.approx(fit.fit(cov_type="cluster", cov_kwds=clustered).bse[0])
    uncorrected = fit.fit(cov_type="cluster", cov_kwds={**clustered, "use_correction": False})
    assert errors.cr0 == pytest.approx(uncorrected.bse[0])


def test_uneven_clusters_agree_with_the_matrix_definitions() -> None:
    values, labels = draw_clustered(np.random.default_rng(2), [1, 9, 4, 15, 3])

    errors = cluster_errors(values, labels)

    assert (errors.cr2, errors.cr2_df) == pytest.approx(bias_reduced(labels, values))


def test_one_observation_per_cluster_is_the_ordinary_t_interval() -> None:
    values = np.random.default_rng(3).normal(0.4, size=30)

    interval = interval_of(cluster_interval(values, np.arange(30)))

    assert (interval.low, interval.high) == pytest.approx(
        stats.t.interval(0.95, 29, loc=values.mean(), scale=stats.sem(values))
    )


def test_equal_clusters_are_the_t_interval_of_their_means() -> None:
    values, labels = draw_clustered(np.random.default_rng(4), [5] * 12)
    means = values.reshape(12, 5).mean(axis=1)

    interval = interval_of(cluster_interval(values, labels))

    assert (interval.low, interval.high) == pytest.approx(
        stats.t.interval(0.95, 11, loc=means.mean(), scale=stats.sem(means))
    )


def test_uneven_clusters_switch_to_cr2() -> None:
    values, labels = draw_clustered(np.random.default_rng(5), [1, 1, 2, 30, 2, 1, 3, 1, 2, 2, 1])
    errors = cluster_errors(values, labels)

    estimate = cluster_interval(values, labels)

    assert estimate.standard_error == errors.cr2
    assert errors.cr2_df < 10
    assert "CR2" in estimate.method
    assert estimate.unit == Unit.CLUSTER
    assert estimate.n == 11


def test_order_labels_shift_scale_and_sign_do_what_they_should() -> None:
    values, labels = draw_clustered(np.random.default_rng(6), [4, 6, 5, 5, 4, 6])
    order = np.random.default_rng(7).permutation(len(values))
    interval = interval_of(cluster_interval(values, labels))

    shuffled = interval_of(cluster_interval(values[order], np.array(list("zyxwvu"))[labels][order]))
    moved = interval_of(cluster_interval(3 - 2 * values, labels))

    assert (shuffled.low, shuffled.high) == pytest.approx((interval.low, interval.high))
    assert (moved.low, moved.high) == pytest.approx((3 - 2 * interval.high, 3 - 2 * interval.low))


def test_a_large_offset_costs_no_precision() -> None:
    values, labels = draw_clustered(np.random.default_rng(13), [4, 6, 5, 9])

    assert cluster_errors(values + 1e8, labels).cr1 == pytest.approx(cluster_errors(values, labels).cr1, rel=1e-6)


def test_repeating_every_observation_in_its_cluster_changes_no_clustered_error() -> None:
    values, labels = draw_clustered(np.random.default_rng(8), [4, 6, 5, 9])
    once, twice = cluster_errors(values, labels), cluster_errors(np.tile(values, 2), np.tile(labels, 2))

    assert (twice.cr0, twice.cr1, twice.cr2) == pytest.approx((once.cr0, once.cr1, once.cr2))
    assert stats.sem(np.tile(values, 2)) < 0.75 * stats.sem(values)


def test_doubling_the_clusters_shrinks_the_error_by_root_two() -> None:
    values, labels = draw_clustered(np.random.default_rng(9), [5] * 40)

    once, twice = cluster_errors(values, labels), cluster_errors(np.tile(values, 2), np.append(labels, labels + 40))

    assert twice.cr1 == pytest.approx(once.cr1 / math.sqrt(2), rel=0.01)


def test_six_clusters_ruin_the_naive_error_and_not_the_clustered_one() -> None:
    rng, experiments, rejected = np.random.default_rng(10), 1500, np.zeros(2)
    for _ in range(experiments):
        values, labels = draw_clustered(rng, [20, 25, 30, 35, 30, 40])
        errors, mean = cluster_errors(values, labels), abs(values.mean())
        rejected += mean > 1.96 * stats.sem(values), mean > stats.t.ppf(0.975, 5) * errors.cr1

    naive, clustered = rejected / experiments
    assert naive > 0.5
    assert 0.04 <= clustered <= 0.08


def test_uneven_clusters_need_cr2_to_hold_the_error_rate() -> None:
    rng, experiments, rejected = np.random.default_rng(14), 1500, np.zeros(2)
    for _ in range(experiments):
        values, labels = draw_clustered(rng, [5, 10, 20, 30, 30, 60])
        errors, interval = cluster_errors(values, labels), interval_of(cluster_interval(values, labels))
        rejected += abs(values.mean()) > stats.t.ppf(0.975, 5) * errors.cr1, not interval.low <= 0 <= interval.high

    cr1, cr2 = rejected / experiments
    assert cr1 > 0.08
    assert 0.04 <= cr2 <= 0.075


@pytest.mark.parametrize(("clusters", "warning"), [(4, "cannot support a claim"), (5, "only 5"), (9, "only 9")])
def test_few_clusters_are_warned_of(clusters: int, warning: str) -> None:
    values, labels = draw_clustered(np.random.default_rng(11), [4] * clusters)

    estimate = cluster_interval(values, labels)

    assert estimate.interval is not None
    assert warning in estimate.warnings[0]


def test_ten_clusters_need_no_warning() -> None:
    values, labels = draw_clustered(np.random.default_rng(12), [4] * 10)

    assert cluster_interval(values, labels).warnings == ()


@pytest.mark.parametrize(
    ("values", "labels", "point", "reason"),
    [
        ([], [], None, "at least 2 clusters"),
        ([1.0, 2.0], [1, 1], 1.5, "at least 2 clusters"),
        ([0.1] * 6, [1, 1, 2, 2, 3, 3], 0.1, "same mean"),
        ([0.0, 1.0, 0.0, 1.0], [1, 1, 2, 2], 0.5, "same mean"),
        ([0.0, math.nan, 0.0, 1.0], [1, 1, 2, 2], None, "not a finite number"),
        ([0.0, math.inf, 0.0, 1.0], [1, 1, 2, 2], None, "not a finite number"),
    ],
)
def test_degenerate_clusters_give_no_interval_and_a_reason(
    values: list[float], labels: list[int], point: float | None, reason: str
) -> None:
    estimate = cluster_interval(values, labels)

    assert estimate.interval is None
    assert estimate.standard_error is None
    assert estimate.point == (None if point is None else pytest.approx(point))
    assert reason in estimate.warnings[0]


def test_the_errors_of_one_cluster_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 clusters"):
        cluster_errors([1.0, 2.0], [1, 1])


def moments(runs: list[list[float]]) -> TaskMoments:
    values = [value for task in runs for value in task]
    owners = [index for index, task in enumerate(runs) for _ in task]
    return summarize_runs(values, owners, len(runs))


def simulate(rng: np.random.Generator, tasks: int, repeats: int) -> VarianceComponents:
    """True deltas with variance 0.25, candidate noise 1 and baseline noise 4."""
    level, delta = rng.normal(size=(tasks, 1)) * 3, rng.normal(0.2, 0.5, size=(tasks, 1))
    candidate = level + delta + rng.normal(0, 1, size=(tasks, repeats))
    baseline = level + rng.normal(0, 2, size=(tasks, repeats))
    return estimate_components(moments(candidate.tolist()), moments(baseline.tolist()))


def test_moments_by_hand() -> None:
    arm = moments([[1.0, 3.0], [5.0], []])

    np.testing.assert_allclose(arm.means, [2, 5, math.nan])
    np.testing.assert_allclose(arm.variances, [2, math.nan, math.nan])
    np.testing.assert_array_equal(arm.counts, [2, 1, 0])


def test_components_by_hand() -> None:
    candidate, baseline = moments([[1.0, 3.0], [10.0, 10.0], [4.0, 6.0]]), moments([[0.0, 0.0], [2.0, 4.0], [5.0, 5.0]])

    components = estimate_components(candidate, baseline)

    # Deltas 2, 7, 0 vary by 13; the runs by (2 + 0 + 2)/3 and (0 + 2 + 0)/3; the noise of the deltas is 4/6 + 2/6.
    assert components.observed_deltas == pytest.approx(13)
    assert components.candidate_runs == pytest.approx(4 / 3)
    assert components.baseline_runs == pytest.approx(2 / 3)
    assert components.true_deltas == pytest.approx(12)
    assert components.delta_variance(2, 2) == pytest.approx(13)
    assert components.delta_variance(1, 4) == pytest.approx(12 + 4 / 3 + 1 / 6)
    assert components.warnings == ()


def test_components_are_right_on_average() -> None:
    rng = np.random.default_rng(1)

    found = [simulate(rng, 200, 4) for _ in range(60)]

    assert np.mean([c.true_deltas or 0 for c in found]) == pytest.approx(0.25, abs=0.08)
    assert np.mean([c.candidate_runs or 0 for c in found]) == pytest.approx(1, rel=0.02)
    assert np.mean([c.baseline_runs or 0 for c in found]) == pytest.approx(4, rel=0.02)


def test_scaling_the_metric_scales_every_component_by_its_square() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(30, 3)) + rng.normal(0, 2, size=(30, 1)), rng.normal(size=(30, 3))
    once = estimate_components(moments(a.tolist()), moments(b.tolist()))

    scaled = estimate_components(moments((10 * a + 3).tolist()), moments((10 * b - 7).tolist()))

    assert once.true_deltas is not None
    assert once.candidate_runs is not None
    assert scaled.true_deltas == pytest.approx(100 * once.true_deltas)
    assert scaled.candidate_runs == pytest.approx(100 * once.candidate_runs)


def test_swapping_the_arms_swaps_their_noise_only() -> None:
    a, b = moments([[1.0, 3.0], [10.0, 11.0], [4.0, 6.0]]), moments([[0.0, 0.0], [2.0, 4.0], [5.0, 5.0]])
    one, other = estimate_components(a, b), estimate_components(b, a)

    assert one.true_deltas == pytest.approx(other.true_deltas)
    assert (one.candidate_runs, one.baseline_runs) == (other.baseline_runs, other.candidate_runs)


def test_single_repeats_cannot_separate_noise_from_tasks() -> None:
    components = estimate_components(moments([[1.0], [2.0], [4.0]]), moments([[0.0], [0.0], [1.0]]))

    assert components.true_deltas is None
    assert components.delta_variance(1, 1) is None
    assert components.observed_deltas == pytest.approx(1)
    assert "2 repeats" in components.warnings[0]


def test_a_task_that_ran_once_borrows_the_average_noise() -> None:
    candidate, baseline = moments([[1.0, 3.0], [10.0], [4.0, 6.0]]), moments([[0.0, 0.0], [2.0, 4.0], [5.0, 5.0]])

    components = estimate_components(candidate, baseline)

    # Deltas 2, 7, 0; candidate noise 2, so its means vary by (1 + 2 + 1)/3; the baseline's by (0 + 1 + 0)/3.
    assert components.true_deltas == pytest.approx(13 - 4 / 3 - 1 / 3)


def test_less_variance_than_noise_is_cut_at_zero_and_said() -> None:
    components = estimate_components(moments([[0.0, 9.0], [1.0, 8.0]]), moments([[0.0, 9.0], [1.0, 8.0]]))

    assert components.true_deltas == 0
    assert "taken as 0" in components.warnings[0]


def test_tasks_of_one_arm_are_left_out_and_said() -> None:
    candidate = moments([[1.0, 3.0], [9.0, 9.0], [10.0, 10.0], [4.0, 6.0]])
    baseline = moments([[0.0, 0.0], [], [2.0, 4.0], [5.0, 5.0]])

    components = estimate_components(candidate, baseline)

    assert components.tasks == 3
    assert components.true_deltas == pytest.approx(12)
    assert "1 tasks" in components.warnings[0]


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        ([[1.0, 2.0]], "fewer than 2 paired tasks"),
        ([[1.0, math.nan], [1.0, 2.0]], "not a finite"),
        ([], "fewer than 2"),
    ],
)
def test_unusable_runs_leave_every_component_unknown(candidate: list[list[float]], reason: str) -> None:
    baseline = [[0.0, 1.0] for _ in candidate]

    components = estimate_components(moments(candidate), moments(baseline))

    assert components.true_deltas is None
    assert components.observed_deltas is None
    assert reason in components.warnings[0]


def test_an_offset_at_which_eighths_are_just_representable_costs_no_digit() -> None:
    values, labels = np.arange(24) % 7 / 8, np.repeat(np.arange(6), 4)

    shifted, plain = cluster_errors(values + 2.0**49, labels), cluster_errors(values, labels)

    assert (shifted.cr0, shifted.cr1, shifted.cr2) == pytest.approx((plain.cr0, plain.cr1, plain.cr2), rel=1e-9)
