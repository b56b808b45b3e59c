"""Which words suit which metric."""

from collections.abc import Callable
from typing import NamedTuple

from outweigh.report.wording import count, dollars, points, score, seconds

Format = Callable[[float | None], str]


def _signed(plain: Format) -> Format:
    def show(value: float | None) -> str:
        return plain(value) if value is None or value < 0 else f"+{plain(value)}"

    return show


class MetricFormat(NamedTuple):
    """A metric's title and how its values and differences are written."""

    title: str
    value: Format
    difference: Format


def _format(title: str, plain: Format) -> MetricFormat:
    return MetricFormat(title, plain, _signed(plain))


def _signed_dollars(value: float | None) -> str:
    return dollars(value) if value is None else f"{'-' if value < 0 else '+'}{dollars(abs(value))}"


FORMATS = {
    "passed": MetricFormat("pass rate", score, points),
    "objective": _format("objective", score),
    "checks_passed": _format("checks passed", count),
    "judge_score": _format("judge score", score),
    "composite": _format("composite", score),
    "composite_even": _format("composite (even)", score),
    "cost_usd": MetricFormat("cost", dollars, _signed_dollars),
    "duration_seconds": _format("duration", seconds),
    "total_tokens": _format("total tokens", count),
    "non_cache_tokens": _format("non-cache tokens", count),
    "cache_read_tokens": _format("cache-read tokens", count),
    "cache_write_tokens": _format("cache-write tokens", count),
    "steps": _format("steps", count),
    "tool_calls": _format("tool calls", count),
    "check_commands": _format("check commands", count),
    "r_prog": _format("progress (r_prog)", score),
    "strategic_drift": _format("strategic drift", score),
    "schema_overhead": _format("schema overhead", count),
    "skill_efficiency": _format("skill efficiency", score),
    "token_efficiency_ratio": _format("token efficiency ratio", score),
}
