from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from outweigh.stats.means import all_zero_bound
from outweigh.stats.sequential import tune_normal_mixture
from outweigh.verdict.p_values import (
    AnytimePValues,
    ConstantPValues,
    SparsePValues,
    StudentPValues,
    UnknownPValues,
    confidence_bound,
)

DELTAS = np.array([0.2, -0.4, 0.6, 0.0, 0.2, 0.4, -0.2, 0.8])


def student(deltas: np.ndarray) -> StudentPValues:
    return StudentPValues(
        mean=float(deltas.mean()), error=float(deltas.std(ddof=1)) / len(deltas) ** 0.5, df=len(deltas) - 1
    )


@pytest.mark.parametrize("null", [-0.05, 0.0, 0.3])
def test_the_ordinary_case_is_a_one_sided_t_test(null: float) -> None:
    p_values = student(DELTAS)

    assert p_values.above(null) == pytest.approx(stats.ttest_1samp(DELTAS, null, alternative="greater").pvalue)
    assert p_values.below(null) == pytest.approx(stats.ttest_1samp(DELTAS, null, alternative="less").pvalue)


@pytest.mark.parametrize(("tasks", "shown"), [(58, False), (59, True)])
def test_all_zeros_need_59_tasks_to_exclude_a_loss_of_five_points(tasks: int, shown: bool) -> None:
    p_value = ConstantPValues(delta=0.0, tasks=tasks).above(-0.05)

    assert p_value is not None
    assert (p_value <= 0.05) == shown


def test_the_bound_of_all_zeros_is_the_published_one() -> None:
    low = confidence_bound(ConstantPValues(delta=0.0, tasks=20), 0.05, -1.0, 1.0, lower=True)

    assert low == pytest.approx(-(1 - 0.05 ** (1 / 20)), abs=1e-9)
    assert low == pytest.approx(-all_zero_bound(20, 0.05), abs=1e-9)


def test_zeros_are_never_evidence_of_a_difference() -> None:
    p_values = ConstantPValues(delta=0.0, tasks=10_000)

    assert p_values.above(0.0) == p_values.below(0.0) == 1.0


def test_a_total_win_on_every_task_is_evidence() -> None:
    p_value = ConstantPValues(delta=1.0, tasks=10).above(0.0)

    assert p_value == pytest.approx(0.5**10)


def test_with_few_differing_tasks_counting_must_agree_with_the_t_test() -> None:
    deltas = np.array([-0.2] + [0.0] * 29)
    sparse = SparsePValues(usual=student(deltas), gains=0, losses=1, tasks=30)

    ordinary = student(deltas).above(-0.05)
    assert ordinary is not None
    assert ordinary < 0.001
    assert sparse.above(-0.05) == pytest.approx(stats.binom.cdf(1, 30, 0.05))


def test_four_gains_are_too_few_for_superiority_however_clean() -> None:
    deltas = np.array([1.0] * 4 + [0.0] * 96)

    assert SparsePValues(usual=student(deltas), gains=4, losses=0, tasks=100).above(0.0) == pytest.approx(0.5**4)


@given(st.floats(-0.5, 0.5), st.floats(0.01, 1.0), st.integers(6, 200), st.floats(-0.3, 0.3))
def test_an_anytime_p_value_is_never_smaller_than_the_fixed_one(
    mean: float, deviation: float, tasks: int, null: float
) -> None:
    anytime = AnytimePValues(mean=mean, deviation=deviation, tasks=tasks, planned_tasks=100)
    fixed = stats.norm.sf((mean - null) * tasks**0.5 / deviation)

    value = anytime.above(null)
    assert value is not None
    assert value >= min(fixed, 1.0) - 1e-9


@given(st.floats(-0.5, 0.5), st.integers(2, 100), st.floats(-0.9, 0.9))
def test_turning_the_signs_round_swaps_the_tails(delta: float, tasks: int, null: float) -> None:
    for one, other in (
        (ConstantPValues(delta=delta, tasks=tasks), ConstantPValues(delta=-delta, tasks=tasks)),
        (StudentPValues(mean=delta, error=0.1, df=tasks), StudentPValues(mean=-delta, error=0.1, df=tasks)),
        (
            AnytimePValues(mean=delta, deviation=0.3, tasks=tasks, planned_tasks=50),
            AnytimePValues(mean=-delta, deviation=0.3, tasks=tasks, planned_tasks=50),
        ),
    ):
        assert one.above(null) == pytest.approx(other.below(-null))


def test_what_is_unknown_has_no_p_value_and_no_bound() -> None:
    assert UnknownPValues().above(0.0) is UnknownPValues().below(0.0) is None
    assert confidence_bound(UnknownPValues(), 0.05, -1.0, 1.0, lower=True) is None


def test_a_bound_that_lies_outside_the_range_is_infinite() -> None:
    wide = StudentPValues(mean=0.0, error=10.0, df=5)

    assert confidence_bound(wide, 0.05, -1.0, 1.0, lower=True) == -inf
    assert confidence_bound(wide, 0.05, -1.0, 1.0, lower=False) == inf


def test_the_bound_of_the_ordinary_case_is_the_t_interval() -> None:
    p_values = student(DELTAS)
    low, high = stats.t.interval(0.90, len(DELTAS) - 1, p_values.mean, p_values.error)

    assert confidence_bound(p_values, 0.05, -1.0, 1.0, lower=True) == pytest.approx(low, abs=1e-9)
    assert confidence_bound(p_values, 0.05, -1.0, 1.0, lower=False) == pytest.approx(high, abs=1e-9)


@given(st.floats(0.01, 0.5), st.floats(0.05, 2.0), st.integers(2, 200), st.floats(0.1, 50))
def test_an_anytime_p_value_does_not_depend_on_the_unit_of_measurement(
    mean: float, deviation: float, tasks: int, unit: float
) -> None:
    plain = AnytimePValues(mean=mean, deviation=deviation, tasks=tasks, planned_tasks=100)
    scaled = AnytimePValues(mean=mean * unit, deviation=deviation * unit, tasks=tasks, planned_tasks=100)

    assert scaled.above(-0.05 * unit) == pytest.approx(plain.above(-0.05))


def test_an_anytime_p_value_is_one_over_the_normal_mixture() -> None:
    mean, deviation, tasks, null = 0.2, 0.5, 80, -0.05
    total = tasks * (mean - null) / deviation
    rho = tune_normal_mixture(100, 0.05)
    ratio = np.sqrt(rho / (tasks + rho)) * np.exp(total**2 / (2 * (tasks + rho)))

    anytime = AnytimePValues(mean=mean, deviation=deviation, tasks=tasks, planned_tasks=100)

    assert anytime.above(null) == pytest.approx(1 / ratio)


@given(st.integers(0, 4), st.integers(0, 4), st.floats(-0.3, 0.3))
def test_few_differences_counted_from_below_are_those_counted_from_above_with_the_signs_turned(
    gains: int, losses: int, null: float
) -> None:
    usual = StudentPValues(mean=0.1, error=0.05, df=19)
    mirrored = StudentPValues(mean=-0.1, error=0.05, df=19)

    one = SparsePValues(usual=usual, gains=gains, losses=losses, tasks=20)
    other = SparsePValues(usual=mirrored, gains=losses, losses=gains, tasks=20)

    assert one.below(null) == pytest.approx(other.above(-null))
