"""An axis has few round ticks, shows everything, and never turns round."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from outweigh.report.axis import fit_axis, linear_axis, log_axis, needs_log_axis

AMOUNTS = st.floats(1e-9, 1e12)
VALUES = st.floats(-1e9, 1e9, allow_subnormal=False)


@given(st.lists(VALUES, min_size=1, max_size=8))
def test_a_linear_axis_shows_every_value_with_few_ticks(values: list[float]) -> None:
    scale = linear_axis(values)

    size = max(map(abs, values))
    assert 2 <= len(scale.ticks) <= 11
    assert scale.low <= min(values) + 1e-6 * size
    assert scale.high >= max(values) - 1e-6 * size


@given(st.lists(AMOUNTS, min_size=1, max_size=8))
def test_a_logarithmic_axis_shows_every_value(values: list[float]) -> None:
    scale = log_axis(values)

    assert scale.low <= min(values) * (1 + 1e-6)
    assert scale.high >= max(values) * (1 - 1e-6)


@given(st.lists(AMOUNTS, min_size=1, max_size=8), AMOUNTS, AMOUNTS)
def test_more_is_never_further_left(values: list[float], one: float, other: float) -> None:
    scale = fit_axis(values)
    low, high = sorted((one, other))

    assert scale.left <= scale.percent(low) <= scale.percent(high) <= scale.right
    assert list(scale.ticks) == sorted(set(scale.ticks))


@given(st.lists(VALUES, min_size=1, max_size=8), VALUES)
def test_up_is_more(values: list[float], value: float) -> None:
    scale = linear_axis(values)

    assert scale.from_top(scale.high, 100) == 0
    assert scale.from_top(scale.low, 100) == 100
    assert 0 <= scale.from_top(value, 100) <= 100


@pytest.mark.parametrize(
    ("values", "wide"), [([1.0, 19.0], False), ([1.0, 20.0], True), ([0.0, 99.0], False), ([], False)]
)
def test_an_axis_is_logarithmic_where_values_lie_far_apart_and_none_is_zero(values: list[float], wide: bool) -> None:
    assert needs_log_axis(values) is wide
    assert fit_axis(values).log is wide


@given(VALUES)
def test_equal_values_get_an_axis_too(value: float) -> None:
    assume(abs(value) > 1e-6)
    scale = linear_axis([value, value])

    assert scale.low < value < scale.high
