import math

import numpy as np
import pytest
from scipy import stats

from outweigh.stats.sequential import plan_looks, spend_obrien_fleming

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


def test_a_plan_that_ends_early_leaves_alpha_unspent() -> None:
    looks = plan_looks([0.2, 0.4], 0.05)

    assert looks[-1].alpha_spent < 0.001


@pytest.mark.parametrize("fractions", [[], [0.0, 1.0], [0.5, 0.5], [0.8, 0.4], [0.5, 1.2], [math.nan, 1.0]])
def test_fractions_that_do_not_increase_within_the_plan_are_refused(fractions: list[float]) -> None:
    with pytest.raises(ValueError, match="must increase"):
        plan_looks(fractions)
