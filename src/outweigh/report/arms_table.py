"""The table of arms that an import ends with, and that `outweigh store show` prints: what counts, and what came of it.

Beside our own figures stand those that the source states; where the two differ, a sentence says by how much.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from msgspec import Struct, field

from outweigh.model.failure import Status
from outweigh.report.document import Block, Table, optional_bullets
from outweigh.report.formatting import (
    SIMULATED,
    UNKNOWN,
    count_of,
    format_count,
    format_dollars,
    format_percent,
    format_seconds,
    shorten_name,
)
from outweigh.report.json_output import Payload
from outweigh.score.arm_tally import ArmTally, KnownSum

LONGEST_NAME = 52
MOST_DIFFERENCES = 12
_WORDS = {
    Status.INFRA_ERROR: "infrastructure",
    Status.NOT_RUN: "not run",
    Status.ARM_NOT_APPLIED: "arm not applied",
}
_SHARES = frozenset({"accuracy", "pass_rate"})
_COUNTS = frozenset({"passes", "resolved", "failures", "errors", "runs", "tasks"})
_ROUNDED_SHARE = 0.005
"""A share that is stated with two decimals or fewer may be this far off."""
_SAME = 1e-6


class ArmFigures(Struct, frozen=True, kw_only=True):
    """One arm: what was counted of it, and what its source states. `simulated` arms have only scripted agents."""

    name: str
    tally: ArmTally
    stated: Mapping[str, Any] = field(default_factory=dict)
    simulated: bool = False


def arms_blocks(arms: Sequence[ArmFigures]) -> list[Block]:
    """The table, and what differs from the source's own figures."""
    stated = any(arm.stated for arm in arms)
    said = ("the source says",) if stated else ()
    table = Table(
        title="Results by arm",
        columns=("", "runs", "counted", "excluded", "passed", "pass rate", "cost", "non-cache tokens", *said),
        rows=tuple((*_row(arm), *((_stated(arm),) if stated else ())) for arm in arms),
    )
    differences = [line for arm in arms for line in _differences(arm)]
    if (more := len(differences) - MOST_DIFFERENCES) > 0:
        differences = [*differences[:MOST_DIFFERENCES], f"and {more} more"]
    return [table, *optional_bullets("Where the source says something else", tuple(differences))]


def _row(arm: ArmFigures) -> tuple[str, ...]:
    tally = arm.tally
    return (
        shorten_name(arm.name, LONGEST_NAME),
        f"{tally.runs:,}",
        f"{tally.counted:,}",
        _excluded(tally),
        _passes(tally),
        format_percent(pass_rate(tally)),
        SIMULATED if arm.simulated else _amount(tally.usd, format_dollars),
        _amount(tally.tokens, format_count),
    )


def pass_rate(tally: ArmTally) -> float | None:
    """Passes of the runs that count and whose result is known."""
    return tally.results.total / tally.results.known if tally.results.known else None


def _excluded(tally: ArmTally) -> str:
    reasons = Counter(tally.excluded.values()).most_common()
    if not reasons:
        return "0"
    if len(reasons) == 1:
        return f"{reasons[0][1]:,} ({_WORDS[reasons[0][0]]})"
    return f"{len(tally.excluded):,} ({', '.join(f'{number:,} {_WORDS[status]}' for status, number in reasons)})"


def _passes(tally: ArmTally) -> str:
    if not tally.results.known:
        return UNKNOWN
    unsure = f" ({tally.results.unknown:,} {UNKNOWN})" if tally.results.unknown else ""
    return f"{tally.results.total:,.0f}{unsure}"


def _amount(amount: KnownSum, show: Any) -> str:
    if amount.value is None:
        return UNKNOWN
    return f"{show(amount.value)}{f' ({amount.unknown:,} {UNKNOWN})' if amount.unknown else ''}"


def _stated(arm: ArmFigures) -> str:
    return ", ".join(f"{_name(name)} {_shown(name, value)}" for name, value in arm.stated.items()) or "–"


def _name(name: str) -> str:
    return {"cost_usd": "cost", "duration_seconds": "time"}.get(name, name.replace("_", " "))


def _shown(name: str, value: Any) -> str:
    """A stated figure in its unit; several of one kind one after the other."""
    if isinstance(value, list):
        return ", ".join(_shown(name, each) for each in value[:3]) + (", …" if len(value) > 3 else "")
    if not _is_number(value):
        return str(value)
    if name in _SHARES:
        return _exact_percent(value)
    if name == "cost_usd":
        return format_dollars(value)
    if name == "duration_seconds":
        return format_seconds(value)
    return format_count(value)


def _exact_percent(share: float) -> str:
    """A share with one decimal where it has one: to compare it takes more digits than to read it."""
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _differences(arm: ArmFigures) -> Iterator[str]:
    """Every stated figure that is not ours, with the difference and, where it is known, the reason."""
    name, tally = shorten_name(arm.name, LONGEST_NAME), arm.tally
    for kind, stated in arm.stated.items():
        values = [value for value in (stated if isinstance(stated, list) else [stated]) if _is_number(value)]
        if not values:
            continue
        if kind in _SHARES:
            yield from _share_difference(f"{name}: {_name(kind)}", values, tally)
        elif (ours := _own_figure(kind, tally)) is not None:
            theirs = max(values) if kind == "tasks" else sum(values)
            if kind == "tokens" and tally.all_tokens.value is not None and _is_same(theirs, tally.all_tokens.total):
                continue
            if not _is_same(theirs, ours):
                more = "more" if ours > theirs else "less" if kind not in _COUNTS else "fewer"
                gap = _shown(kind, abs(ours - theirs))
                yield (
                    f"{name}: {_name(kind)} is {_shown(kind, theirs)} there and {_shown(kind, ours)} here, {gap} "
                    f"{more}{_why(kind, theirs, tally)}."
                )


def _is_same(one: float, other: float) -> bool:
    return abs(one - other) <= max(_SAME, 5e-4 * max(abs(one), abs(other)))


def _own_figure(kind: str, tally: ArmTally) -> float | None:
    """Our figure of that kind; None where there is none to compare with."""
    results, found = tally.results, None
    match kind:
        case "passes" | "resolved":
            found = results.total if results.known else None
        case "failures":
            found = results.known - results.total if results.known else None
        case "errors":
            found = len(tally.excluded)
        case "runs":
            found = tally.runs
        case "tasks":
            found = len(tally.tasks)
        case "cost_usd":
            found = tally.usd.value
        case "tokens":
            found = tally.tokens.value
        case "duration_seconds":
            found = tally.seconds.value
    return found


def _why(kind: str, theirs: float, tally: ArmTally) -> str:
    if kind == "failures" and tally.excluded and _is_same(theirs, tally.runs - tally.results.total):
        return f": the source counts the {count_of(len(tally.excluded), 'excluded run')} as failed"
    if kind == "cost_usd" and tally.usd.unknown:
        return f": the cost of {count_of(tally.usd.unknown, 'run')} is unknown here"
    if kind == "tokens" and tally.tokens.unknown:
        return f": the tokens of {count_of(tally.tokens.unknown, 'run')} are unknown here"
    return ""


def _share_difference(what: str, stated: Sequence[float], tally: ArmTally) -> Iterator[str]:
    """A share that is stated once must be ours; of several, ours must lie between them."""
    ours = pass_rate(tally)
    if ours is None:
        return
    allowed = max(map(_rounding, stated))
    if min(stated) - allowed <= ours <= max(stated) + allowed:
        return
    theirs = min(stated, key=lambda each: abs(each - ours))
    said = " and ".join(map(_exact_percent, stated[:3])) + (" and more" if len(stated) > 3 else "")
    more = "more" if ours > theirs else "less"
    yield (
        f"{what} is {said} there and {_exact_percent(ours)} here ({tally.results.total:,.0f} of "
        f"{tally.results.known:,}), {100 * abs(ours - theirs):.1f} points {more}{_why_share(theirs, tally)}."
    )


def _rounding(share: float) -> float:
    """How far a share may be from what it was rounded from, by the digits that it is stated with."""
    digits = len(f"{share!r}".partition(".")[2])
    return min(_ROUNDED_SHARE, max(_SAME, 0.5 * 10.0**-digits))


def _why_share(theirs: float, tally: ArmTally) -> str:
    left_out = tally.runs - tally.results.known
    if left_out and abs(tally.results.total / tally.runs - theirs) <= max(_rounding(theirs), 1e-4):
        return f": the source counts the {count_of(left_out, 'run')} as failed that {_are(left_out)} excluded here"
    if left_out:
        return f"; {count_of(left_out, 'run')} of {tally.runs:,} {_are(left_out)} excluded or {UNKNOWN} here"
    return ""


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def arms_payload(arms: Sequence[ArmFigures]) -> Payload:
    """The same for scripts, by arm."""
    return {
        arm.name: {
            "runs": arm.tally.runs,
            "counted": arm.tally.counted,
            "excluded": {status.value: number for status, number in Counter(arm.tally.excluded.values()).items()},
            "passed": arm.tally.results.total if arm.tally.results.known else None,
            "results_unknown": arm.tally.results.unknown,
            "pass_rate": pass_rate(arm.tally),
            "tasks": len(arm.tally.tasks),
            "cost_usd": arm.tally.usd.value,
            "runs_with_unknown_cost": arm.tally.usd.unknown,
            "non_cache_tokens": arm.tally.tokens.value,
            "runs_with_unknown_tokens": arm.tally.tokens.unknown,
            "duration_seconds": arm.tally.seconds.value,
            "source_says": dict(arm.stated),
            "differences": list(_differences(arm)),
        }
        for arm in arms
    }
