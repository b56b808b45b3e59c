"""The numbers of two runs beside each other, and what they differ by."""

from collections.abc import Callable
from dataclasses import dataclass

from outweigh.record.run_record import RunRecord
from outweigh.report.formatting import FORMATS
from outweigh.report.run_diff.run_diff import RunDiff
from outweigh.report.wording import SAME, UNKNOWN, count, dollars, seconds
from outweigh.score.objective import passed
from outweigh.score.tokens import non_cache_tokens, total_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One number of both runs; `key` is its name for programs."""

    key: str
    title: str
    a: float | None
    b: float | None
    show: Callable[[float | None], str]

    @property
    def difference(self) -> str:
        """B against A, in words; unknown where one of them is."""
        if self.a is None or self.b is None:
            return UNKNOWN
        return SAME if self.a == self.b else FORMATS[self.key].difference(self.b - self.a)


def facts(diff: RunDiff) -> tuple[Fact, ...]:
    """Cost, time, tokens and steps."""
    a, b = diff.a.record, diff.b.record
    return (
        _fact("cost_usd", a.cost.usd, b.cost.usd, dollars),
        _fact("duration_seconds", a.duration_seconds, b.duration_seconds, seconds),
        _fact("total_tokens", total_tokens(a.usage).value, total_tokens(b.usage).value, count),
        _fact("non_cache_tokens", non_cache_tokens(a.usage).value, non_cache_tokens(b.usage).value, count),
        _fact("steps", a.step_count, b.step_count, count),
        _fact("tool_calls", a.tool_call_count, b.tool_call_count, count),
    )


def outcome(run: RunRecord) -> str:
    """Passed, failed, or unknown."""
    value = passed(run).value
    return UNKNOWN if value is None else "passed" if value else "failed"


def check_outcomes(diff: RunDiff) -> tuple[tuple[str, str, str], ...]:
    """Every check of either run by name, with what it said of both."""
    ours, theirs = _checks(diff.a.record), _checks(diff.b.record)
    names = dict.fromkeys((*ours, *theirs))
    return tuple((name, ours.get(name, "not there"), theirs.get(name, "not there")) for name in names)


def _checks(run: RunRecord) -> dict[str, str]:
    words = {True: "passed", False: "failed", None: UNKNOWN}
    return {check.name: words[check.passed] for check in run.checks or ()}


def _fact(key: str, a: float | None, b: float | None, show: Callable[[float | None], str]) -> Fact:
    return Fact(key=key, title=FORMATS[key].title, a=a, b=b, show=show)
