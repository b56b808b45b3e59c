import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp
from statsmodels.stats.weightstats import ttost_paired

from outweigh.stats.estimate import Alternative, Estimate, Interval, Significance, Unit
from outweigh.stats.means import excludes, mean_interval, one_sided_p
from outweigh.stats.sample import Values

# The clinic trial that the equivalence package of R and statsmodels use: two groups of fifteen, two variables.
FIRST_1 = np.array([2.84, 2.51, 2.41, 2.95, 3.14, 3.79, 4.14, 3.85, 3.02, 3.45, 5.37, 3.81, 4.19, 3.16, 3.84])
SECOND_1 = np.array([2.6, 2.82, 2.18, 3.46, 4.01, 3.04, 3.47, 4.06, 2.91, 3.59, 4.51, 3.16, 3.86, 3.31, 3.02])
FIRST_2 = np.array([4.0, 3.26, 4.14, 3.42, 3.25, 4.34, 4.97, 4.31, 3.11, 3.41, 5.02, 4.21, 4.59, 5.3, 4.32])
SECOND_2 = np.array([3.76, 3.66, 3.65, 3.6, 3.48, 2.87, 3.24, 3.92, 3.99, 4.21, 4.21, 3.31, 3.61, 2.97, 2.73])
HIGHER, LOWER = Alternative.GREATER, Alternative.LESS


def estimate_of(deltas: Values, level: float = 0.9) -> Estimate:
    return mean_interval(deltas, level=level, unit=Unit.TASK)


def p_of(result: Significance) -> float:
    assert result.p_value is not None
    return result.p_value


def test_the_published_trial_that_is_not_equivalent_is_reproduced() -> None:
    estimate = estimate_of(FIRST_2 - SECOND_2)

    assert (estimate.point, estimate.standard_error) == pytest.approx((0.5626667, 0.2478276), abs=5e-8)
    assert estimate.interval is not None
    assert (estimate.interval.low, estimate.interval.high) == pytest.approx((0.1261653, 0.9991680), abs=5e-8)
    assert p_of(equivalence(estimate, df=14, margin=0.6)) == pytest.approx(0.4412034046, abs=5e-11)


def test_the_published_trial_that_is_equivalent_is_reproduced() -> None:
    estimate = estimate_of(FIRST_1 - SECOND_1)

    assert (estimate.point, estimate.standard_error) == pytest.approx((0.1646667, 0.1357514), abs=5e-8)
    assert p_of(equivalence(estimate, df=14, margin=0.6)) == pytest.approx(0.003166881489, abs=5e-13)


def test_the_published_equivalence_of_ratios_is_reproduced() -> None:
    estimate = estimate_of(np.log(FIRST_1) - np.log(SECOND_1))

    assert p_of(equivalence_ratio(estimate, df=14, margin=0.25)) == pytest.approx(0.0001664157929, abs=5e-14)


@pytest.mark.parametrize("margin", [0.1, 0.3, 0.6])
def test_equivalence_agrees_with_statsmodels(margin: float) -> None:
    theirs, _, _ = ttost_paired(FIRST_2, SECOND_2, -margin, margin)

    assert p_of(equivalence(estimate_of(FIRST_2 - SECOND_2), df=14, margin=margin)) == pytest.approx(theirs)


@pytest.mark.parametrize("direction", [HIGHER, LOWER])
@pytest.mark.parametrize("null", [-0.2, 0.0, 0.4])
def test_the_one_sided_p_agrees_with_scipy(null: float, direction: Alternative) -> None:
    deltas = FIRST_1 - SECOND_1
    error = deltas.std(ddof=1) / math.sqrt(15)
    theirs = ttest_1samp(deltas, null, alternative=direction.value).pvalue

    assert one_sided_p(deltas.mean(), error, 14, null, direction) == pytest.approx(theirs)


@given(mean=st.floats(-2, 2), error=st.floats(0.01, 1), margin=st.floats(0.01, 2), df=st.integers(2, 99))
def test_equivalence_holds_exactly_when_the_90_percent_interval_lies_within_the_margin(
    mean: float, error: float, margin: float, df: int
) -> None:
    estimate = dataclasses.replace(estimate_of([1.0, 2.0]), point=mean, standard_error=error)
    inside = all(
        p_of(non_inferiority(estimate, df=df, margin=margin, better=better)) < 0.05 for better in (HIGHER, LOWER)
    )

    assert (p_of(equivalence(estimate, df=df, margin=margin)) < 0.05) == inside


def test_non_inferiority_holds_when_the_lower_bound_of_the_90_percent_interval_clears_the_margin() -> None:
    estimate = estimate_of(FIRST_1 - SECOND_1)
    assert estimate.interval is not None
    bound = -estimate.interval.low

    assert p_of(non_inferiority(estimate, df=14, margin=bound * 1.001, better=HIGHER)) < 0.05
    assert p_of(non_inferiority(estimate, df=14, margin=bound * 0.999, better=HIGHER)) > 0.05


def test_swapping_the_arms_and_the_better_side_keeps_every_p() -> None:
    forth, back = estimate_of(FIRST_1 - SECOND_1), estimate_of(SECOND_1 - FIRST_1)

    assert p_of(superiority(forth, df=14, better=HIGHER)) == pytest.approx(p_of(superiority(back, df=14, better=LOWER)))
    assert p_of(non_inferiority(forth, df=14, margin=0.1, better=LOWER)) == pytest.approx(
        p_of(non_inferiority(back, df=14, margin=0.1, better=HIGHER))
    )
    assert p_of(equivalence(forth, df=14, margin=0.3)) == pytest.approx(p_of(equivalence(back, df=14, margin=0.3)))


def test_a_cost_margin_of_five_percent_is_log_of_1_05() -> None:
    estimate = estimate_of(np.log(FIRST_1) - np.log(SECOND_1))
    direct = one_sided_p(estimate.point or 0, estimate.standard_error or 0, 14, math.log(1.05), LOWER)

    assert p_of(non_inferiority_ratio(estimate, df=14, margin=0.05, better=LOWER)) == pytest.approx(direct)


def test_non_inferiority_is_easier_than_superiority() -> None:
    estimate = estimate_of(FIRST_1 - SECOND_1)

    assert p_of(non_inferiority(estimate, df=14, margin=0.05, better=HIGHER)) < p_of(
        superiority(estimate, df=14, better=HIGHER)
    )


@pytest.mark.parametrize("deltas", [[], [0.3], [0.0] * 30, [0.3] * 30, [1.0, math.nan, 2.0], [math.inf, 1.0]])
def test_unusable_deltas_are_never_significant(deltas: list[float]) -> None:
    estimate = estimate_of(deltas)
    results = [
        superiority(estimate, df=29, better=HIGHER),
        non_inferiority(estimate, df=29, margin=0.05, better=HIGHER),
        equivalence(estimate, df=29, margin=5.0),
        equivalence_ratio(estimate, df=29, margin=5.0),
    ]

    assert [result.p_value for result in results] == [None] * 4
    assert all(result.warnings for result in results)


@pytest.mark.parametrize(
    ("mean", "error", "df"),
    [(math.nan, 1.0, 5.0), (1.0, math.nan, 5.0), (1.0, 0.0, 5.0), (1.0, 1.0, 0.0), (1.0, 1.0, math.nan)],
)
def test_a_missing_number_gives_no_p(mean: float, error: float, df: float) -> None:
    assert one_sided_p(mean, error, df, 0.0, HIGHER) is None


def test_an_interval_of_nan_excludes_nothing() -> None:
    nan_interval = Interval(low=math.nan, high=math.nan, level=0.95, method="broken")

    assert not excludes(nan_interval, 0.0)
    assert not excludes(None, 0.0)


def test_an_interval_excludes_what_lies_outside_it() -> None:
    interval = Interval(low=0.1, high=0.3, level=0.95, method="any")

    assert excludes(interval, 0.0)
    assert excludes(interval, 0.4)
    assert not excludes(interval, 0.1)
    assert not excludes(interval, math.nan)


def test_a_one_sided_test_without_a_side_is_refused() -> None:
    with pytest.raises(ValueError, match="direction"):
        one_sided_p(1.0, 1.0, 5, 0.0, Alternative.TWO_SIDED)


@pytest.mark.parametrize("margin", [0.0, -0.05, math.nan])
def test_a_margin_that_is_not_positive_is_refused(margin: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        equivalence(estimate_of([1.0, 2.0]), df=1, margin=margin)
