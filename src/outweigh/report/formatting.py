"""Numbers, metrics and names as people read them: units, signs, unknown values, and control characters made visible."""

import unicodedata
from collections.abc import Callable
from math import isinf
from typing import NamedTuple

UNKNOWN = "unknown"
SAME = "~"
# Sums of equal numbers in another order differ by this much, which is no difference.
ROUNDING_ERROR = 1e-9


def format_percent(value: float | None) -> str:
    """A share of one as a percentage."""
    return UNKNOWN if value is None else f"{100 * value:.1f} %"


def format_dollars(value: float | None) -> str:
    """An amount of money, with more decimals when it is small."""
    if value is None:
        return UNKNOWN
    if isinf(value):
        return "never passes"
    return f"${value:,.2f}" if abs(value) >= 100 else f"${value:.4f}"


def format_seconds(value: float | None) -> str:
    """A duration."""
    return UNKNOWN if value is None else f"{value:,.1f} s"


def format_count(value: float | None) -> str:
    """A number of things, whole where it is whole."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def format_score(value: float | None) -> str:
    """A score between 0 and 1, or any other plain number."""
    return UNKNOWN if value is None else f"{value:.3f}"


def format_points(value: float | None) -> str:
    """A difference of two percentages."""
    return UNKNOWN if value is None else f"{100 * value:+.1f} points"


def describe_direction(difference: float | None, better: int) -> str:
    """Whether a difference is for the better, for the worse, or none."""
    if difference is None:
        return UNKNOWN
    if abs(difference) < ROUNDING_ERROR:
        return SAME
    if better == 0:
        return "more" if difference > 0 else "less"
    return "better" if difference * better > 0 else "worse"


def escape_controls(text: str) -> str:
    """Names come from files: a control or direction-changing character is shown by its code, never obeyed."""
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


class MetricFormat(NamedTuple):
    """A metric's title and how its differences are written."""

    title: str
    difference: NumberFormat


def _signed_format(title: str, plain: NumberFormat) -> MetricFormat:
    return MetricFormat(title, _with_sign(plain))


METRIC_FORMATS = {
    "passed": MetricFormat("pass rate", format_points),
    "objective": _signed_format("objective", format_score),
    "checks_passed": _signed_format("checks passed", format_count),
    "judge_score": _signed_format("judge score", format_score),
    "composite": _signed_format("composite", format_score),
    "composite_even": _signed_format("composite (even)", format_score),
    "cost_usd": _signed_format("cost", format_dollars),
    "cache_normalised_cost_usd": _signed_format("cost without cache", format_dollars),
    "duration_seconds": _signed_format("duration", format_seconds),
    "total_tokens": _signed_format("total tokens", format_count),
    "non_cache_tokens": _signed_format("non-cache tokens", format_count),
    "cache_read_tokens": _signed_format("cache-read tokens", format_count),
    "cache_write_tokens": _signed_format("cache-write tokens", format_count),
    "cache_read_share": MetricFormat("cache-read share", format_points),
    "steps": _signed_format("steps", format_count),
    "tool_calls": _signed_format("tool calls", format_count),
    "check_commands": _signed_format("check commands", format_count),
    "r_prog": _signed_format("progress (r_prog)", format_score),
    "strategic_drift": _signed_format("strategic drift", format_score),
    "edit_fail_rate": MetricFormat("edit fail rate", format_points),
    "skill_used": _signed_format("skill used", format_score),
    "schema_overhead": _signed_format("schema overhead", format_count),
    "skill_efficiency": _signed_format("skill efficiency", format_score),
    "token_efficiency_ratio": _signed_format("token efficiency ratio", format_score),
}
