"""Which words suit which metric."""

from collections.abc import Callable
from typing import NamedTuple

from outweigh.report.wording import count, dollars, points, score, seconds

Format = Callable[[float | None], str]


def _signed(plain: Format) -> Format:
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
    difference: Format


def _format(title: str, plain: Format) -> MetricFormat:
    return MetricFormat(title, _signed(plain))


FORMATS = {
    "passed": MetricFormat("pass rate", points),
    "objective": _format("objective", score),
    "checks_passed": _format("checks passed", count),
    "judge_score": _format("judge score", score),
    "composite": _format("composite", score),
    "composite_even": _format("composite (even)", score),
    "cost_usd": _format("cost", dollars),
    "cache_normalised_cost_usd": _format("cost without cache", dollars),
    "duration_seconds": _format("duration", seconds),
    "total_tokens": _format("total tokens", count),
    "non_cache_tokens": _format("non-cache tokens", count),
    "cache_read_tokens": _format("cache-read tokens", count),
    "cache_write_tokens": _format("cache-write tokens", count),
    "cache_read_share": MetricFormat("cache-read share", points),
    "steps": _format("steps", count),
    "tool_calls": _format("tool calls", count),
    "check_commands": _format("check commands", count),
    "r_prog": _format("progress (r_prog)", score),
    "strategic_drift": _format("strategic drift", score),
    "edit_fail_rate": MetricFormat("edit fail rate", points),
    "skill_used": _format("skill used", score),
    "schema_overhead": _format("schema overhead", count),
    "skill_efficiency": _format("skill efficiency", score),
    "token_efficiency_ratio": _format("token efficiency ratio", score),
}
