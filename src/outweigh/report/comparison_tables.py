"""Tables shared by the pages of `verdict`, `compare` and `report`: the arms side by side and the gates."""

from collections.abc import Callable, Iterator
from math import isinf
from typing import Literal, NamedTuple

from msgspec.structs import replace

from outweigh.compare.arm_summary import ArmSummary
from outweigh.compare.comparison import Comparison
from outweigh.report.document import Block, Table
from outweigh.report.formatting import (
    NO_CHECKS,
    SAME,
    SIMULATED,
    UNIT_FORMATS,
    UNKNOWN,
    NumberFormat,
    format_change,
    format_count,
    format_dollars,
    format_percent,
    format_points,
    format_score,
    format_seconds,
)
from outweigh.score.metrics import METRICS_BY_NAME
from outweigh.verdict.decision import ArmMeans, Gate, GateEvidence
from outweigh.verdict.evidence_settings import COST_OF_PASS, JUDGE_SCORE, PASS_RATE, WORTH, gate_title

PASSES_PER_DOLLAR = "passes per dollar"


class ArmRow(NamedTuple):
    """One row of the table of arms."""

    title: str
    value: Callable[[ArmSummary], float | None]
    show: NumberFormat


def _metric_row(name: str, statistic: Literal["mean", "median"]) -> ArmRow:
    metric = METRICS_BY_NAME[name]
    return ArmRow(
        f"{metric.title}, {statistic}",
        lambda arm: getattr(arm.metrics[name], statistic),
        UNIT_FORMATS[metric.unit].value,
    )


_ARM_ROWS = (
    ArmRow("pass rate", lambda arm: arm.pass_rate.value, format_percent),
    ArmRow("objective, mean", lambda arm: arm.checked_objective.value, format_score),
    _metric_row("judge_score", "mean"),
    _metric_row("composite", "median"),
    _metric_row("duration_seconds", "median"),
    _metric_row("duration_seconds", "mean"),
    _metric_row("non_cache_tokens", "median"),
    _metric_row("non_cache_tokens", "mean"),
    _metric_row("total_tokens", "median"),
    _metric_row("cost_usd", "median"),
    _metric_row("cost_usd", "mean"),
    ArmRow("cost, total", lambda arm: arm.total_cost_usd.value, format_dollars),
    ArmRow("cost of a pass", lambda arm: arm.cost_of_pass_usd.value, format_dollars),
    ArmRow(PASSES_PER_DOLLAR, lambda arm: arm.solved_per_dollar.value, format_score),
    ArmRow("changes that failed", lambda arm: arm.change_fail_percentage.value, format_percent),
    ArmRow("changes reverted", lambda arm: arm.pr_revert_rate.value, format_percent),
)


def arms_table(comparison: Comparison) -> Table:
    """The headline figures of both arms. Which differences are more than chance is for the gates to say.

    Dollars that nobody spent are one row, which says so.
    """
    before, after = comparison.baseline, comparison.candidate
    rows = [
        (title, show(value(before)), show(value(after)), _difference(value(before), value(after), show))
        for title, value, show in _ARM_ROWS
        if (value(before) is not None or value(after) is not None)
        and not (comparison.simulated and (show is format_dollars or title == PASSES_PER_DOLLAR))
    ]
    if comparison.without_checks:
        rows.insert(0, ("objective, mean", NO_CHECKS, NO_CHECKS, ""))
    if comparison.simulated:
        rows.append(("cost", SIMULATED, SIMULATED, ""))
    return Table(
        title="Arms",
        columns=("", before.name, after.name, "difference"),
        rows=(_run_counts(before, after), *rows, *_reliability_rows(before, after), *_grade_rows(before, after)),
    )


def _difference(before: float | None, after: float | None, show: NumberFormat) -> str:
    if before is None or after is None:
        return UNKNOWN
    # What looks the same is the same; two arms that never pass are too, whose infinite costs have no difference.
    if show(before) == show(after) or isinf(before) or isinf(after):
        return SAME if show(before) == show(after) else ""
    if show is format_percent:
        return format_points(after - before)
    return f"{'+' if after > before else '-'}{show(abs(after - before))}"


def _run_counts(before: ArmSummary, after: ArmSummary) -> tuple[str, ...]:
    def show(arm: ArmSummary) -> str:
        lost = sum(arm.excluded.values())
        estimated = f", {arm.estimated_runs} estimated" if arm.estimated_runs else ""
        return f"{arm.runs}" + (f" (+{lost} excluded)" if lost else "") + estimated

    return ("runs", show(before), show(after), "")


def _reliability_rows(before: ArmSummary, after: ArmSummary) -> list[tuple[str, ...]]:
    largest = min(max(before.pass_at_k, default=0), max(after.pass_at_k, default=0))
    if largest < 2:
        return []
    return [
        (title, format_percent(mine), format_percent(theirs), _difference(mine, theirs, format_percent))
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
    dollars = evidence.scale == "dollars"
    unit = {"points": " points", "ratio": " %", "dollars": ""}[evidence.scale]
    show = UNIT_FORMATS["dollars"].difference if dollars else format_change
    effect = UNKNOWN if evidence.effect is None else f"{show(evidence.effect)}{unit}"
    span = UNKNOWN
    if evidence.low is not None and evidence.high is not None:
        span = f"{show(evidence.low)} to {show(evidence.high)}"
    return effect, span, "$0" if dollars else f"{100 * evidence.margin:g}{unit}"


def total_evidence(evidence: GateEvidence) -> GateEvidence | None:
    """The same gate by its total; None where it has none."""
    total = evidence.total
    if total is None:
        return None
    return replace(
        evidence, effect=total.effect, low=total.low, high=total.high, chances=total.chances, geometric_means=None
    )


def format_chance(chance: float | None) -> str:
    """A probability as people say it: nothing is certain, and nothing is impossible."""
    if chance is None:
        return UNKNOWN
    if chance > 0.99:
        return "more than 99 %"
    return "less than 1 %" if chance < 0.01 else f"{100 * chance:.0f} %"


def _gate_table(gates: tuple[Gate, ...], comparison: Comparison) -> Table:
    arms = comparison.baseline.name, comparison.candidate.name
    if all(gate.evidence is None for gate in gates):
        rows = [_literal_row(gate, simulated=comparison.simulated) for gate in gates]
        return Table(title="Gates", columns=("", "name", *arms, "state"), rows=tuple(rows))
    chances = "chance better", "chance worse beyond margin", "chance of a gain if repeated"
    return Table(
        title="Gates (typical run: geometric means; total: means of all runs, task by task)",
        columns=("", "name", *arms, "change", "90 % interval", "margin", *chances, "state"),
        rows=tuple(
            row
            for gate in gates
            if gate.evidence is not None
            for row in _gate_rows(gate, gate.evidence, simulated=comparison.simulated)
        ),
    )


def _literal_row(gate: Gate, *, simulated: bool) -> tuple[str, ...]:
    """A gate that compares two figures; `name` is what options and JSON call it."""
    figures = (format_gate_value(gate.name, value, simulated=simulated) for value in (gate.baseline, gate.candidate))
    return (gate_title(gate.name), gate.name, *figures, gate.state.words)


def _gate_rows(gate: Gate, evidence: GateEvidence, *, simulated: bool) -> Iterator[tuple[str, ...]]:
    total, title = total_evidence(evidence), gate_title(gate.name)
    if total is None or evidence.total is None:
        means = ArmMeans(baseline=gate.baseline, candidate=gate.candidate)
        yield _gate_row(title, gate, evidence, means, gate.state.words, simulated=simulated)
        return
    typical = evidence.geometric_means or ArmMeans(baseline=None, candidate=None)
    yield _gate_row(f"{title}, typical run", gate, evidence, typical, gate.state.words, simulated=simulated)
    yield _gate_row(f"{title}, total", gate, total, evidence.total.means, "", simulated=simulated)


def format_gate_value(name: str, value: float | None, *, simulated: bool) -> str:
    """An arm's figure for a gate, in its unit; dollars that nobody spent are called simulated."""
    show = _GATE_FORMATS.get(name, format_score)
    return SIMULATED if simulated and show is format_dollars else show(value)


def _gate_row(
    title: str, gate: Gate, evidence: GateEvidence, means: ArmMeans, state: str, *, simulated: bool
) -> tuple[str, ...]:
    chances = evidence.chances
    return (
        title,
        gate.name,
        format_gate_value(gate.name, means.baseline, simulated=simulated),
        format_gate_value(gate.name, means.candidate, simulated=simulated),
        *format_gate(evidence),
        format_chance(chances.better),
        format_chance(chances.worse_beyond_margin),
        format_chance(chances.gain_if_repeated),
        state,
    )


_GATE_FORMATS: dict[str, NumberFormat] = {
    PASS_RATE: format_percent,
    JUDGE_SCORE: format_score,
    "duration": format_seconds,
    "non_cache_tokens": format_count,
    "cost": format_dollars,
    COST_OF_PASS: format_dollars,
    WORTH: format_dollars,
}
