"""Numbers, metrics and names as people read them: units, signs, unknown values, and control characters made visible."""

import unicodedata
from collections.abc import Callable
from math import isinf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    # Commands that only print a name start without the formulas that the table of metrics holds.
    from outweigh.score.metrics import MetricUnit

UNKNOWN = "unknown"
SAME = "~"
# Sums of equal numbers in another order differ by this much, which is no difference.
ROUNDING_ERROR = 1e-9
MOST_NAME_CHARACTERS = 28


def without_negative_zero(text: str) -> str:
    """A number that was rounded to 0 has no sign to show: `-0.0` is `0.0`."""
    return text.replace("-", "", 1) if text.startswith("-") and not text.strip("-0.$ %") else text


def format_signed(value: float, decimals: int = 1) -> str:
    """A change with its sign; one that rounds to 0 is +0."""
    shown = f"{value:+.{decimals}f}"
    return shown.replace("-", "+") if float(shown) == 0 else shown


def format_percent(value: float | None) -> str:
    """A share of one as a percentage."""
    return UNKNOWN if value is None else without_negative_zero(f"{100 * value:.1f} %")


def format_dollars(value: float | None) -> str:
    """An amount of money, with more decimals when it is small."""
    if value is None:
        return UNKNOWN
    if isinf(value):
        return "never passes"
    shown = f"${abs(value):,.2f}" if abs(value) >= 100 else f"${abs(value):.4f}"
    return without_negative_zero(f"-{shown}") if value < 0 else shown


def format_seconds(value: float | None) -> str:
    """A duration."""
    return UNKNOWN if value is None else f"{without_negative_zero(f'{value:,.1f}')} s"


def format_count(value: float | None) -> str:
    """A number of things, whole where it is whole."""
    if value is None:
        return UNKNOWN
    return without_negative_zero(f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}")


def format_score(value: float | None) -> str:
    """A score between 0 and 1, or any other plain number."""
    return UNKNOWN if value is None else without_negative_zero(f"{value:.3f}")


def format_points(value: float | None) -> str:
    """A difference of two percentages."""
    return UNKNOWN if value is None else f"{format_signed(100 * value)} points"


def describe_direction(difference: float | None, better: int) -> str:
    """Whether a difference is for the better, for the worse, or none."""
    if difference is None:
        return UNKNOWN
    if abs(difference) < ROUNDING_ERROR:
        return SAME
    if better == 0:
        return "more" if difference > 0 else "less"
    return "better" if difference * better > 0 else "worse"


def shorten_name(name: str, most: int = MOST_NAME_CHARACTERS) -> str:
    """A name with its middle left out where it is long; the title of its mark has all of it."""
    if len(name) <= most:
        return name
    tail = (most - 1) // 2
    return f"{name[: most - 1 - tail]}…{name[-tail:]}"


def escape_controls(text: str) -> str:
    """Text from a file with control and direction-changing characters shown by their codes."""
    return "".join(f"\\x{ord(char):02x}" if _is_control(char) else char for char in text)


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")


NumberFormat = Callable[[float | None], str]


def _with_sign(plain: NumberFormat) -> NumberFormat:
    def show(value: float | None) -> str:
        if value is None:
            return plain(value)
        # A difference too small to show has no sign to show either.
        return (
            f"+{plain(0.0)}" if plain(abs(value)) == plain(0.0) else f"{'-' if value < 0 else '+'}{plain(abs(value))}"
        )

    return show


class UnitFormat(NamedTuple):
    """How numbers of one unit are written, and how their differences are."""

    value: NumberFormat
    difference: NumberFormat


UNIT_FORMATS: dict["MetricUnit", UnitFormat] = {
    "share": UnitFormat(format_percent, format_points),
    "score": UnitFormat(format_score, _with_sign(format_score)),
    "dollars": UnitFormat(format_dollars, _with_sign(format_dollars)),
    "seconds": UnitFormat(format_seconds, _with_sign(format_seconds)),
    "count": UnitFormat(format_count, _with_sign(format_count)),
}
