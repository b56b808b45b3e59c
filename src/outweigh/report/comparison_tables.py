"""Tables shared by the pages of `verdict`, `compare` and `report`: the arms side by side and the gates."""

from collections.abc import Callable
from math import isclose
from typing import Literal, NamedTuple

from outweigh.compare.arm_summary import ArmSummary
from outweigh.compare.comparison import Comparison
from outweigh.report.document import Block, Table
from outweigh.report.formatting import (
    ROUNDING_ERROR,
    UNIT_FORMATS,
    UNKNOWN,
    NumberFormat,
    describe_direction,
    format_count,
    format_dollars,
    format_percent,
    format_score,
)
from outweigh.score.metrics import METRICS_BY_NAME
from outweigh.verdict.decision import Gate, GateEvidence


class ArmRow(NamedTuple):
    """One row of the table of arms."""

    title: str
    value: Callable[[ArmSummary], float | None]
    show: NumberFormat
    better: int


def _metric_row(name: str, statistic: Literal["mean", "median"]) -> ArmRow:
    metric = METRICS_BY_NAME[name]
    return ArmRow(
        f"{metric.title}, {statistic}",
        lambda arm: getattr(arm.metrics[name], statistic),
        UNIT_FORMATS[metric.unit].value,
        metric.better,
    )


_ARM_ROWS = (
    ArmRow("pass rate", lambda arm: arm.pass_rate.value, format_percent, +1),
    _metric_row("objective", "mean"),
    _metric_row("judge_score", "mean"),
    _metric_row("composite", "median"),
    _metric_row("duration_seconds", "median"),
    _metric_row("non_cache_tokens", "median"),
    _metric_row("total_tokens", "median"),
    _metric_row("cost_usd", "median"),
    ArmRow("cost, total", lambda arm: arm.total_cost_usd.value, format_dollars, 0),
    ArmRow("cost of a pass", lambda arm: arm.cost_of_pass_usd.value, format_dollars, -1),
    ArmRow("passes per dollar", lambda arm: arm.solved_per_dollar.value, format_score, +1),
    ArmRow("changes that failed", lambda arm: arm.change_fail_percentage.value, format_percent, -1),
    ArmRow("changes reverted", lambda arm: arm.pr_revert_rate.value, format_percent, -1),
)


def arms_table(before: ArmSummary, after: ArmSummary) -> Table:
    """The headline figures of both arms."""
    rows = [
        (title, show(value(before)), show(value(after)), _describe_change(value(before), value(after), better))
        for title, value, show, better in _ARM_ROWS
        if value(before) is not None or value(after) is not None
    ]
    return Table(
        title="Arms",
        columns=("", before.name, after.name, "at face value"),
        rows=(_run_counts(before, after), *rows, *_reliability_rows(before, after), *_grade_rows(before, after)),
    )


def _describe_change(before: float | None, after: float | None, better: int) -> str:
    if before is None or after is None:
        return "unknown"
    # Two arms that never pass are alike; subtracting their infinite costs would say "not a number".
    return describe_direction(0.0 if isclose(before, after, rel_tol=ROUNDING_ERROR) else after - before, better)


def _run_counts(before: ArmSummary, after: ArmSummary) -> tuple[str, ...]:
    def show(arm: ArmSummary) -> str:
        lost = sum(arm.excluded.values())
        return f"{arm.runs}" + (f" (+{lost} excluded)" if lost else "")

    return ("runs", show(before), show(after), "")


def _reliability_rows(before: ArmSummary, after: ArmSummary) -> list[tuple[str, ...]]:
    largest = min(max(before.pass_at_k, default=0), max(after.pass_at_k, default=0))
    if largest < 2:
        return []
    return [
        (title, format_percent(mine), format_percent(theirs), _describe_change(mine, theirs, +1))
        for title, mine, theirs in (
            (f"pass@{largest}", before.pass_at_k[largest], after.pass_at_k[largest]),
            (f"pass^{largest}", before.pass_hat_k[largest], after.pass_hat_k[largest]),
        )
    ]


def _grade_rows(before: ArmSummary, after: ArmSummary) -> list[tuple[str, ...]]:
    if before.grade is None and after.grade is None:
        return []
    return [("grade", before.grade or "unknown", after.grade or "unknown", "")]


def gate_blocks(gates: tuple[Gate, ...], comparison: Comparison) -> list[Block]:
    """The table of gates, for a policy that has any."""
    return [_gate_table(gates, comparison)] if gates else []


def format_gate(evidence: GateEvidence) -> tuple[str, str, str]:
    """A gate's change, its interval and its margin."""
    if evidence.scale == "dollars":
        return _format_worth(evidence)
    unit = "points" if evidence.scale == "points" else "%"
    effect = UNKNOWN if evidence.effect is None else f"{100 * evidence.effect:+.1f} {unit}"
    span = UNKNOWN
    if evidence.low is not None and evidence.high is not None:
        span = f"{100 * evidence.low:+.1f} to {100 * evidence.high:+.1f}"
    return effect, span, f"{100 * evidence.margin:g} {unit}"


def _format_worth(evidence: GateEvidence) -> tuple[str, str, str]:
    effect = UNKNOWN if evidence.effect is None else f"{evidence.effect:+.2f} USD"
    span = UNKNOWN
    if evidence.low is not None and evidence.high is not None:
        span = f"{evidence.low:+.2f} to {evidence.high:+.2f}"
    return effect, span, "0 USD"


def _gate_table(gates: tuple[Gate, ...], comparison: Comparison) -> Table:
    tested = any(gate.evidence is not None for gate in gates)
    extra = ("change", "90 % interval", "margin") if tested else ()
    return Table(
        title="Gates",
        columns=("", comparison.baseline.name, comparison.candidate.name, *extra, "state"),
        rows=tuple(
            (
                gate.name,
                _format_gate_value(gate.baseline),
                _format_gate_value(gate.candidate),
                *(format_gate(gate.evidence) if gate.evidence is not None else ()),
                gate.state.value,
            )
            for gate in gates
        ),
    )


def _format_gate_value(value: float | None) -> str:
    return format_count(value) if value is None or abs(value) >= 100 else f"{value:.4g}"
