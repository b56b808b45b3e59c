"""Numbers and names as people read them."""

import unicodedata
from math import isinf

UNKNOWN = "unknown"
SAME = "~"
# Sums of equal numbers in another order differ by this much, which is no difference.
DUST = 1e-9


def percent(value: float | None) -> str:
    """A share of one as a percentage."""
    return UNKNOWN if value is None else f"{100 * value:.1f} %"


def dollars(value: float | None) -> str:
    """An amount of money, with more decimals when it is small."""
    if value is None:
        return UNKNOWN
    if isinf(value):
        return "never passes"
    return f"${value:,.2f}" if abs(value) >= 100 else f"${value:.4f}"


def seconds(value: float | None) -> str:
    """A duration."""
    return UNKNOWN if value is None else f"{value:,.1f} s"


def count(value: float | None) -> str:
    """A number of things, whole where it is whole."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def score(value: float | None) -> str:
    """A score between 0 and 1, or any other plain number."""
    return UNKNOWN if value is None else f"{value:.3f}"


def points(value: float | None) -> str:
    """A difference of two percentages."""
    return UNKNOWN if value is None else f"{100 * value:+.1f} points"


def direction(difference: float | None, better: int) -> str:
    """Whether a difference is for the better, for the worse, or none."""
    if difference is None:
        return UNKNOWN
    if abs(difference) < DUST:
        return SAME
    if better == 0:
        return "more" if difference > 0 else "less"
    return "better" if difference * better > 0 else "worse"


def visible(text: str) -> str:
    """Names come from files: a control or direction-changing character is shown by its code, never obeyed."""
    return "".join(f"\\x{ord(char):02x}" if _obeyed(char) else char for char in text)


def _obeyed(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
