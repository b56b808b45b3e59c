import math

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from outweigh.stats.sequential import (
    confidence_path,
    log_normal_mixture,
    normal_mixture_bound,
    plan_looks,
    spend_obrien_fleming,
    spend_power,
    tune_normal_mixture,
)


def test_the_normal_mixture_has_its_reference_values() -> None:
    rho = tune_normal_mixture(100, 0.05)

    assert rho == pytest.approx(12.60056, abs=5e-6)
    assert log_normal_mixture(10, 100, rho) == pytest.approx(-0.6510052, abs=5e-8)
    assert float(normal_mixture_bound(100, rho, 0.05)) == pytest.approx(30.35209, abs=5e-6)


def test_the_bound_is_where_the_mixture_reaches_one_over_alpha() -> None:
    rho = tune_normal_mixture(40, 0.1)

    assert log_normal_mixture(float(normal_mixture_bound(70, rho, 0.1)), 70, rho) == pytest.approx(math.log(10))


def test_the_tuned_time_has_the_tightest_bound() -> None:
    times = [60, 80, 100, 125, 160]

    at_100 = [float(normal_mixture_bound(100, tune_normal_mixture(time, 0.05), 0.05)) for time in times]

    assert min(at_100) == at_100[2]


def last_interval(deltas: ArrayLike) -> tuple[float, float]:
    """Where the path is after the last task."""
    lows, highs = confidence_path(deltas, 100)
    return float(lows[-1]), float(highs[-1])


def test_the_interval_follows_the_formula() -> None:
    deltas = np.random.default_rng(1).normal(0.1, size=150)
    squared = (-2 * math.log(0.05) + math.log(-2 * math.log(0.05) + 1)) / 100
    width = 150 * squared + 1
    radius = deltas.std(ddof=1) * math.sqrt(2 * width / (150**2 * squared) * math.log(math.sqrt(width) / 0.05))

    assert last_interval(deltas) == pytest.approx((deltas.mean() - radius, deltas.mean() + radius))


@pytest.mark.parametrize(("tasks", "ratio"), [(100, 1.53), (200, 1.55)])
def test_the_price_of_looking_at_any_time_is_half_as_wide_again(tasks: int, ratio: float) -> None:
    deltas = np.random.default_rng(2).normal(size=tasks)
    fixed = stats.t.interval(0.95, tasks - 1, scale=stats.sem(deltas))

    low, high = last_interval(deltas)

    assert (high - low) / (fixed[1] - fixed[0]) == pytest.approx(ratio, abs=0.005)


def test_twenty_looks_break_the_fixed_test_and_not_the_sequence() -> None:
    looks = np.arange(10, 201, 10)
    rng, experiments = np.random.default_rng(4), 2000
    fixed, sequence = 0, 0
    for _ in range(experiments):
        deltas = rng.normal(size=200)
        lows, highs = confidence_path(deltas, planned_tasks=100)
        sums, squares = np.cumsum(deltas)[looks - 1], np.cumsum(deltas**2)[looks - 1]
        t = sums / np.sqrt(looks * (squares - sums**2 / looks) / (looks - 1))
        fixed += int((np.abs(t) > stats.t.ppf(0.975, looks - 1)).any())
        sequence += int(((lows > 0) | (highs < 0))[looks - 1].any())

    assert 0.20 <= fixed / experiments <= 0.28
    assert sequence / experiments <= 0.05


def test_later_tasks_do_not_change_the_path_before_them() -> None:
    deltas = np.random.default_rng(5).normal(size=60)

    lows, highs = confidence_path(deltas, 100)

    assert (lows[36], highs[36]) == pytest.approx(last_interval(deltas[:37]))


def test_the_path_is_unknown_until_the_deltas_vary() -> None:
    lows, highs = confidence_path([0.1, 0.1, 0.1, 0.5], 100)

    assert np.isnan(lows[:3]).all()
    assert np.isnan(highs[:3]).all()
    assert lows[3] < highs[3]


def test_swapping_scaling_and_shifting_move_the_interval_along() -> None:
    deltas = np.random.default_rng(6).normal(0.3, size=40)
    low, high = last_interval(deltas)

    assert last_interval(-deltas) == pytest.approx((-high, -low))
    assert last_interval(5 * deltas + 2) == pytest.approx((5 * low + 2, 5 * high + 2))


def test_the_order_of_the_tasks_does_not_matter_at_the_last_look() -> None:
    deltas = np.random.default_rng(7).normal(0.3, size=40)

    assert last_interval(deltas[::-1]) == pytest.approx(last_interval(deltas))


@pytest.mark.parametrize("deltas", [[], [0.5], [0.1] * 50, [0.0] * 50, [0.1, math.nan, 0.2]])
def test_degenerate_deltas_give_no_interval(deltas: list[float]) -> None:
    lows, highs = confidence_path(deltas, 100)

    assert len(lows) == len(highs) == len(deltas)
    assert np.isnan([lows, highs]).all()


FIVE_LOOKS = [0.2, 0.4, 0.6, 0.8, 1.0]


def test_five_equal_looks_have_the_published_boundaries() -> None:
    looks = plan_looks(FIVE_LOOKS, 0.05)

    assert [look.z for look in looks] == pytest.approx([4.877, 3.357, 2.680, 2.290, 2.031], abs=6e-4)


def test_two_equal_looks_have_the_published_boundaries() -> None:
    looks = plan_looks([0.5, 1.0], 0.05)

    assert [look.z for look in looks] == pytest.approx([2.963, 1.969], abs=6e-4)


@pytest.mark.parametrize(("two_sided", "z"), [(True, 1.959964), (False, 1.644854)])
def test_a_single_look_at_the_end_is_the_ordinary_test(two_sided: bool, z: float) -> None:
    (look,) = plan_looks([1.0], 0.05, two_sided=two_sided)

    assert look.z == pytest.approx(z, abs=1e-6)
    assert look.nominal_p == pytest.approx(0.05)


def test_spending_follows_the_formula_and_ends_at_alpha() -> None:
    assert spend_obrien_fleming(0.25, 0.05) == pytest.approx(2 - 2 * stats.norm.cdf(1.959964 / 0.5), rel=1e-4)
    assert spend_obrien_fleming(1.0, 0.05) == pytest.approx(0.05)
    assert spend_obrien_fleming(0.0, 0.05) == 0


def test_the_power_family_spends_alpha_times_the_power_of_the_information() -> None:
    spend = spend_power(2.0)

    assert [spend(information, 0.05) for information in (0.0, 0.1, 0.5, 1.0, 1.5)] == pytest.approx(
        [0.0, 0.0005, 0.0125, 0.05, 0.05]
    )


def test_three_looks_of_the_power_family_have_their_errors_from_a_multivariate_normal() -> None:
    times, alpha = np.array([0.2, 0.6, 1.0]), 0.05
    looks = plan_looks(list(times), alpha, two_sided=False, spending=spend_power(1.5))
    correlations = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    bounds = np.array([look.z for look in looks])

    def spent(number: int) -> float:
        law = stats.multivariate_normal(mean=np.zeros(number), cov=correlations[:number, :number])
        return float(1 - law.cdf(bounds[:number], rng=np.random.default_rng(2)))

    assert [spent(number) for number in (1, 2, 3)] == pytest.approx(list(alpha * times**1.5), abs=2e-4)


def test_many_close_looks_are_integrated_as_well_as_a_few() -> None:
    steps = np.random.default_rng(5).normal(size=(200_000, 30)) / np.sqrt(30)
    times = np.arange(1, 31) / 30
    looks = plan_looks(list(times), 0.02, two_sided=False, spending=spend_power(2.0))

    crossed = (np.cumsum(steps, axis=1) >= np.sqrt(times) * [look.z for look in looks]).any(axis=1).mean()

    assert crossed == pytest.approx(0.02, abs=0.001)


@pytest.mark.parametrize("two_sided", [True, False])
def test_boundaries_agree_with_multivariate_normal_probabilities(two_sided: bool) -> None:
    times = np.array([0.3, 0.7, 1.0])
    looks = plan_looks(list(times), 0.05, two_sided=two_sided)
    correlations = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    upper = np.array([look.z for look in looks])
    lower = -upper if two_sided else np.full(3, -np.inf)

    stay = stats.multivariate_normal(cov=correlations).cdf(upper, lower_limit=lower, rng=np.random.default_rng(1))

    assert 1 - stay == pytest.approx(0.05, abs=2e-4)


def test_simulated_paths_cross_with_probability_alpha() -> None:
    looks = plan_looks([0.25, 0.4, 0.8, 1.0], 0.1)
    times = np.array([look.information for look in looks])
    steps = np.random.default_rng(3).normal(size=(100_000, 4)) * np.sqrt(np.diff([0, *times]))
    z = np.cumsum(steps, axis=1) / np.sqrt(times)

    crossed = (np.abs(z) >= [look.z for look in looks]).any(axis=1).mean()

    assert crossed == pytest.approx(0.1, abs=0.004)


def test_a_two_sided_plan_looks_like_a_one_sided_one_at_half_alpha() -> None:
    two, one = plan_looks(FIVE_LOOKS, 0.05), plan_looks(FIVE_LOOKS, 0.025, two_sided=False)

    assert [look.z for look in two] == pytest.approx([look.z for look in one], abs=1e-4)


def test_boundaries_fall_while_spending_rises() -> None:
    looks = plan_looks([k / 20 for k in range(1, 21)], 0.05)

    assert (np.diff([look.z for look in looks]) < 0).all()
    assert (np.diff([look.alpha_spent for look in looks]) > 0).all()
    assert looks[-1].alpha_spent == pytest.approx(0.05)
    assert looks[-1].z > 1.96


def test_a_look_right_after_another_moves_no_boundary_that_follows() -> None:
    once, twice = plan_looks([0.5, 1.0]), plan_looks([0.5, 0.50001, 1.0])

    assert twice[-1].z == pytest.approx(once[-1].z, abs=1e-5)


def test_a_plan_that_ends_early_leaves_alpha_unspent() -> None:
    looks = plan_looks([0.2, 0.4], 0.05)

    assert looks[-1].alpha_spent < 0.001


@pytest.mark.parametrize("fractions", [[], [0.0, 1.0], [0.5, 0.5], [0.8, 0.4], [0.5, 1.2], [math.nan, 1.0]])
def test_fractions_that_do_not_increase_within_the_plan_are_refused(fractions: list[float]) -> None:
    with pytest.raises(ValueError, match="must increase"):
        plan_looks(fractions)
