import math

import numpy as np
import pytest

from outweigh.stats.variance import TaskMoments, VarianceComponents, estimate_components, summarize_runs


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
