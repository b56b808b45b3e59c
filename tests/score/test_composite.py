from math import isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.score.composite import COST_SIGNALS, EVEN, OBJECTIVE_FIRST, Dimension, Profile, composite, cost_adjustment

REFERENCE = dict.fromkeys(COST_SIGNALS, 100.0)
unit = st.floats(0, 1)


def dimensions(
    objective: float | None, judge: float | None, passed: float | None = 1.0
) -> dict[Dimension, float | None]:
    return {Dimension.OBJECTIVE: objective, Dimension.JUDGE_SCORE: judge, Dimension.PASSED: passed}


def scaled(factor: float) -> dict[str, float | None]:
    return dict.fromkeys(COST_SIGNALS, 100.0 * factor)


def test_objective_and_judge_are_weighed_six_to_four() -> None:
    assert composite(dimensions(0.75, 0.8), OBJECTIVE_FIRST, 0.0).value == pytest.approx(0.77)


def test_without_a_judge_the_objective_alone_is_the_base() -> None:
    assert composite(dimensions(0.75, None), OBJECTIVE_FIRST, 0.0).value == pytest.approx(0.75)


def test_the_even_profile_needs_both_of_its_dimensions() -> None:
    assert composite(dimensions(None, 0.85), EVEN, 0.0).value == pytest.approx(0.925)
    assert composite(dimensions(None, None), EVEN, 0.0).reason == "profile even requires judge_score"
    assert composite(dimensions(None, 0.8, None), EVEN, 0.0).value is None


def test_an_unknown_objective_leaves_no_composite() -> None:
    assert composite(dimensions(None, 0.8), OBJECTIVE_FIRST, 0.0).value is None


@pytest.mark.parametrize(("factor", "expected"), [(0.5, 0.05), (1.0, 0.0), (2.0, -0.1), (9.0, -0.1), (0.0, 0.1)])
def test_cheaper_is_rewarded_and_dearer_punished_within_the_cap(factor: float, expected: float) -> None:
    assert cost_adjustment(scaled(factor), REFERENCE, 0.1).value == pytest.approx(expected)


def test_a_signal_unknown_on_either_side_is_left_out_and_listed() -> None:
    run = scaled(0.5) | {"steps": None}
    reference = REFERENCE | {"tool_calls": None}

    adjustment = cost_adjustment(run, reference, 0.1)

    assert adjustment.value == pytest.approx(0.05)
    assert adjustment.left_out == ("tool_calls", "steps")


def test_with_no_signal_left_the_adjustment_is_neutral() -> None:
    adjustment = cost_adjustment(dict.fromkeys(COST_SIGNALS), REFERENCE, 0.1)

    assert adjustment.value == 0.0
    assert adjustment.left_out == COST_SIGNALS


def test_a_reference_of_zero_counts_as_equal_or_as_twice() -> None:
    zero = dict.fromkeys(COST_SIGNALS, 0.0)

    assert cost_adjustment(zero, zero, 0.1).value == 0.0
    assert cost_adjustment(scaled(1), zero, 0.1).value == pytest.approx(-0.1)


@given(unit, unit, st.floats(-0.1, 0.1))
def test_a_composite_stays_in_the_unit_interval(objective: float, judge: float, adjustment: float) -> None:
    value = composite(dimensions(objective, judge), OBJECTIVE_FIRST, adjustment).value

    assert value is not None
    assert 0.0 <= value <= 1.0


@given(unit, unit, unit)
def test_a_better_objective_never_lowers_the_composite(low: float, high: float, judge: float) -> None:
    low, high = sorted((low, high))
    worse, better = (composite(dimensions(value, judge), OBJECTIVE_FIRST, 0.0).value for value in (low, high))

    assert worse is not None
    assert better is not None
    assert worse <= better + 1e-12


def test_a_score_that_is_no_number_is_not_clamped_into_a_perfect_one() -> None:
    value = composite(dimensions(nan, 0.5), OBJECTIVE_FIRST, 0.0).value

    assert value is not None
    assert isnan(value)


def test_a_profile_that_weighs_nothing_present_gives_no_composite() -> None:
    free = Profile(name="free", weights=((Dimension.OBJECTIVE, 1.0),), requires=frozenset(), cost_weight=0.0)

    assert composite(dimensions(None, None), free, 0.0).value is None
