import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.ratios import geometric_ratio, mean_logs

COST_A = np.array([1.2, 0.8, 2.5, 0.9, 3.1, 1.7])
COST_B = np.array([1.0, 1.0, 2.0, 1.1, 2.9, 1.1])
costs = st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.01, 100)), min_size=3, max_size=30)


def ratio_of(a: object, b: object) -> Estimate:
    with np.errstate(all="ignore"):
        return geometric_ratio(np.log(a) - np.log(b), level=0.95, unit=Unit.TASK)  # type: ignore[call-overload]


def interval_of(estimate: Estimate) -> Interval:
    assert estimate.interval is not None
    return estimate.interval


def test_a_task_twice_as_dear_and_one_twice_as_cheap_cancel_out() -> None:
    estimate = geometric_ratio([math.log(2), -math.log(2)], level=0.95, unit=Unit.TASK)

    assert estimate.point == pytest.approx(1)
    assert interval_of(estimate).high == pytest.approx(math.exp(12.706204736 * math.log(2)), rel=1e-8)


def test_the_point_and_interval_agree_with_scipy_on_the_logs() -> None:
    theirs = scipy.stats.ttest_rel(np.log(COST_A), np.log(COST_B)).confidence_interval(0.95)
    ours = ratio_of(COST_A, COST_B)

    assert ours.point == pytest.approx(scipy.stats.gmean(COST_A / COST_B))
    assert interval_of(ours).low == pytest.approx(math.exp(theirs.low))
    assert interval_of(ours).high == pytest.approx(math.exp(theirs.high))


@given(pairs=costs)
def test_swapping_the_arms_inverts_the_ratio(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    forth, back = ratio_of(a, b), ratio_of(b, a)

    assert forth.point is not None
    assert back.point == pytest.approx(1 / forth.point)
    if forth.interval is not None:
        assert interval_of(back).high == pytest.approx(1 / forth.interval.low, rel=1e-8)


def test_changing_the_currency_leaves_the_ratio_alone() -> None:
    dollars, cents = ratio_of(COST_A, COST_B), ratio_of(COST_A * 100, COST_B * 100)

    assert cents.point == pytest.approx(dollars.point)
    assert cents.standard_error == pytest.approx(dollars.standard_error)


@pytest.mark.parametrize("spoiled", [0.0, -1.0, math.nan, math.inf])
def test_a_value_without_a_log_makes_the_ratio_unknown(spoiled: float) -> None:
    logs = mean_logs(np.array([1.0, 2.0, spoiled, 3.0]), np.array([0, 0, 1, 2]), 3)
    estimate = geometric_ratio(logs, level=0.95, unit=Unit.TASK)

    assert (estimate.point, estimate.interval) == (None, None)
    assert "1 of 3 tasks have no log ratio" in estimate.warnings[0]


def test_runs_are_averaged_on_the_log_scale_within_their_task() -> None:
    logs = mean_logs(np.array([1.0, 100.0, 7.0]), np.array([0, 0, 2]), 3)

    assert logs[[0, 2]] == pytest.approx([math.log(10), math.log(7)])
    assert math.isnan(logs[1])


@pytest.mark.parametrize("factor", [1.0, 1.1])
def test_the_same_ratio_everywhere_has_a_point_but_no_interval(factor: float) -> None:
    estimate = ratio_of(COST_B * factor, COST_B)

    assert estimate.point == pytest.approx(factor)
    assert (estimate.interval, estimate.standard_error) == (None, None)
    assert "equal" in estimate.warnings[0]


def test_a_single_task_has_a_ratio_but_no_interval() -> None:
    estimate = geometric_ratio([0.5], level=0.95, unit=Unit.TASK)

    assert estimate.point == pytest.approx(math.exp(0.5))
    assert estimate.interval is None


def test_an_end_beyond_all_floats_is_infinite_and_raises_nothing() -> None:
    interval = interval_of(geometric_ratio([600.0, -600.0], level=0.95, unit=Unit.TASK))

    assert (interval.low, interval.high) == (0, math.inf)
