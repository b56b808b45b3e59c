"""Numbers as people read them: units, few digits, no sign on a zero, nothing in scientific notation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.report.formatting import (
    UNIT_FORMATS,
    format_change,
    format_count,
    format_dollars,
    format_percent,
    format_points,
    format_score,
    format_seconds,
    format_signed,
    round_for_people,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.5833, "58 %"),
        (0.0561, "5.6 %"),
        (1.0, "100 %"),
        (0.0, "0 %"),
        (0.9999, "99.9 %"),
        (0.9963, "99.6 %"),
        (-0.0004, "0 %"),
        (-0.001, "-0.1 %"),
        (None, "unknown"),
    ],
)
def test_a_share_is_a_whole_percentage_unless_it_is_small(value: float | None, shown: str) -> None:
    assert format_percent(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.1612, "$0.16"),
        (33.2947, "$33.29"),
        (1234.5, "$1,234"),
        (0.004213, "$0.0042"),
        (0.0, "$0"),
        (-0.000001, "$0"),
        (-1.5, "-$1.50"),
        (float("inf"), "never passes"),
        (None, "unknown"),
    ],
)
def test_money_has_cents_and_two_digits_of_what_is_less(value: float | None, shown: str) -> None:
    assert format_dollars(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (97.91, "98 s"),
        (7.25, "7.2 s"),
        (0.42, "0.42 s"),
        (599.0, "599 s"),
        (754.0, "13 min"),
        (9000.0, "2.5 h"),
        (None, "unknown"),
    ],
)
def test_a_duration_has_the_unit_that_people_would_use(value: float | None, shown: str) -> None:
    assert format_seconds(value) == shown


def test_counts_are_grouped_and_scores_have_two_decimals() -> None:
    assert (format_count(3440.0), format_count(3440.4), format_count(2.5)) == ("3,440", "3,440", "2.5")
    assert (format_score(0.5833), format_score(0.0), format_score(0.0421)) == ("0.58", "0.00", "0.042")


def test_no_number_is_a_negative_zero() -> None:
    assert format_signed(-0.04) == "+0.0"
    assert format_change(-0.0004) == "+0"
    assert format_points(-0.0004) == "+0 points"
    assert format_score(-1e-9) == "0"
    assert UNIT_FORMATS["dollars"].difference(-1e-9) == "+$0"


@given(st.floats(min_value=-1e9, max_value=1e9))
def test_a_rounded_number_is_within_a_twentieth_of_the_truth_and_never_scientific(value: float) -> None:
    shown = round_for_people(value)

    assert "e" not in shown
    assert abs(float(shown.replace(",", "")) - value) <= max(0.05 * abs(value), 1e-5)


@given(st.floats(min_value=0.0, max_value=1.0))
def test_only_a_whole_is_a_hundred_percent(share: float) -> None:
    assert (format_percent(share) == "100 %") == (share == 1.0)
