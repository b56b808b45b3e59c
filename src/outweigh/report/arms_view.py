"""The headline figures of two arms, side by side."""

from collections.abc import Callable
from math import isclose

from outweigh.compare.arm_summary import ArmSummary
from outweigh.report.document import Table
from outweigh.report.wording import DUST, count, direction, dollars, percent, score, seconds

Row = tuple[str, Callable[[ArmSummary], float | None], Callable[[float | None], str], int]

_ROWS: tuple[Row, ...] = (
    ("pass rate", lambda arm: arm.pass_rate.value, percent, +1),
    ("objective, mean", lambda arm: arm.metrics["objective"].mean, score, +1),
    ("judge score, mean", lambda arm: arm.metrics["judge_score"].mean, score, +1),
    ("composite, median", lambda arm: arm.metrics["composite"].median, score, +1),
    ("duration, median", lambda arm: arm.metrics["duration_seconds"].median, seconds, -1),
    ("non-cache tokens, median", lambda arm: arm.metrics["non_cache_tokens"].median, count, -1),
    ("total tokens, median", lambda arm: arm.metrics["total_tokens"].median, count, -1),
    ("cost, median", lambda arm: arm.metrics["cost_usd"].median, dollars, -1),
    ("cost, total", lambda arm: arm.total_cost_usd.value, dollars, 0),
    ("cost of a pass", lambda arm: arm.cost_of_pass_usd.value, dollars, -1),
    ("passes per dollar", lambda arm: arm.solved_per_dollar.value, score, +1),
    ("changes that failed", lambda arm: arm.change_fail_percentage.value, percent, -1),
    ("changes reverted", lambda arm: arm.pr_revert_rate.value, percent, -1),
)


def arms_table(before: ArmSummary, after: ArmSummary) -> Table:
    """The headline figures of both arms."""
    rows = [
        (title, show(value(before)), show(value(after)), _change(value(before), value(after), better))
        for title, value, show, better in _ROWS
        if value(before) is not None or value(after) is not None
    ]
    return Table(
        title="Arms",
        columns=("", before.name, after.name, "at face value"),
        rows=(_counts(before, after), *rows, *_reliability(before, after), *_grades(before, after)),
    )


def _change(before: float | None, after: float | None, better: int) -> str:
    if before is None or after is None:
        return "unknown"
    # Two arms that never pass are alike; subtracting their infinite costs would say "not a number".
    return direction(0.0 if isclose(before, after, rel_tol=DUST) else after - before, better)


def _counts(before: ArmSummary, after: ArmSummary) -> tuple[str, ...]:
    def show(arm: ArmSummary) -> str:
        lost = sum(arm.excluded.values())
        return f"{arm.runs}" + (f" (+{lost} excluded)" if lost else "")

    return ("runs", show(before), show(after), "")


def _reliability(before: ArmSummary, after: ArmSummary) -> list[tuple[str, ...]]:
    largest = min(max(before.pass_at_k, default=0), max(after.pass_at_k, default=0))
    if largest < 2:
        return []
    return [
        (title, percent(mine), percent(theirs), _change(mine, theirs, +1))
        for title, mine, theirs in (
            (f"pass@{largest}", before.pass_at_k[largest], after.pass_at_k[largest]),
            (f"pass^{largest}", before.pass_hat_k[largest], after.pass_hat_k[largest]),
        )
    ]


def _grades(before: ArmSummary, after: ArmSummary) -> list[tuple[str, ...]]:
    if before.grade is None and after.grade is None:
        return []
    return [("grade", before.grade or "unknown", after.grade or "unknown", "")]
