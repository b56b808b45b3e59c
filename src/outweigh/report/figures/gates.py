"""Figures of a verdict: every gate's change against its margin, and the deciding gate on a dial."""

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import Any

from msgspec.structs import replace

from outweigh.report.comparison_tables import format_gate, total_evidence
from outweigh.report.document import Block, Figure
from outweigh.report.figures.text_charts import text_intervals
from outweigh.report.interval_rows import ChangeMarker, IntervalRow
from outweigh.verdict.decision import Decision, Gate, GateEvidence, GateState, Verdict
from outweigh.verdict.evidence_settings import EffectScale, gate_title

GATES_CAPTION = (
    "Each bar is a 90 % interval, each shaded band a margin, each upright line no change. A gate holds (filled circle) "
    "when its bars do not reach beyond the band on the left. It is worse (diamond) when that is shown, and not shown "
    "(empty circle) otherwise. Of a resource, less is better; it has a bar for the typical run and one for the total."
)

Span = tuple[float, float]

GATE_MARKERS = {
    GateState.HOLDS: ChangeMarker.BETTER,
    GateState.NOT_SHOWN: ChangeMarker.OPEN,
    GateState.WORSE: ChangeMarker.WORSE,
    GateState.FAILS: ChangeMarker.WORSE,
    GateState.UNKNOWN: ChangeMarker.OPEN,
}


def gate_figures(gates: tuple[Gate, ...]) -> list[Figure]:
    """One chart, where the policy tested anything that can be drawn."""
    rows = _gate_rows(gates)
    if not rows:
        return []
    title = "Change and margin of every gate"
    return [
        Figure(
            title=title,
            draw=partial(_draw_gates, title, rows),
            caption=GATES_CAPTION,
            text_lines=tuple(row.description for row in rows),
            text_chart=text_intervals(rows),
        )
    ]


def _draw_gates(title: str, rows: Sequence[IntervalRow]) -> str:
    # Imported here and below: a verdict in text or JSON draws nothing, and does not load the code that does.
    from outweigh.report.svg.intervals import draw_intervals  # noqa: PLC0415

    return draw_intervals(title, rows)


def gate_figures_without_words(gates: tuple[Gate, ...]) -> list[Block]:
    """The same chart for a page that has the numbers beside it."""
    return [replace(figure, text_lines=()) for figure in gate_figures(gates)]


def _gate_rows(gates: Sequence[Gate]) -> tuple[IntervalRow, ...]:
    """A row for every gate; two for a resource, whose state stands beside the first.

    Dollars have another axis than points and percentages, so worth is not drawn.
    """
    rows = []
    for gate in gates:
        if gate.evidence is None or gate.evidence.scale == EffectScale.DOLLARS:
            continue
        total = total_evidence(gate.evidence)
        title = gate_title(gate.name)
        rows.append(_gate_row(gate, gate.evidence, title if total is None else f"{title}, typical"))
        if total is not None:
            rows.append(replace(_gate_row(gate, total, f"{title}, total"), state=""))
    return tuple(rows)


def _gate_row(gate: Gate, evidence: GateEvidence, name: str) -> IntervalRow:
    change, span, margin = format_gate(evidence)
    interval, band = benefit_interval(evidence), margin_band(evidence)
    label = "" if evidence.effect is None else change if interval is None else f"{change} ({span})"
    return IntervalRow(
        name=name,
        state=gate.state.words,
        mark=GATE_MARKERS[gate.state],
        label=label,
        point=None if evidence.effect is None else as_benefit(evidence.effect, evidence),
        interval=interval,
        band=band,
        description=f"{name} {gate.state.words}: {label or gate.detail}; {_describe_interval(interval, band)}",
        band_description=f"{name}: within the margin of {margin}",
    )


def as_benefit(change: float, evidence: GateEvidence) -> float:
    """More passes are better, and so is less of a resource."""
    return -change if evidence.scale == EffectScale.RATIO else change


def benefit_interval(evidence: GateEvidence) -> Span | None:
    """The gate's interval, oriented so that more is better."""
    if evidence.low is None or evidence.high is None:
        return None
    low, high = sorted((as_benefit(evidence.low, evidence), as_benefit(evidence.high, evidence)))
    return low, high


def margin_band(evidence: GateEvidence) -> Span:
    """The test is symmetric in logs: the counterpart of 5 % more is 1/1.05, which is 4.8 % less."""
    margin = evidence.margin
    return -margin, 1 - 1 / (1 + margin) if evidence.scale == EffectScale.RATIO else margin


def _describe_interval(interval: Span | None, band: Span) -> str:
    """Where the interval lies, and nothing that the policy has not said."""
    if interval is None:
        return "there is no interval"
    low, high = interval
    if high < band[0]:
        return "the interval lies beyond the margin on the worse side"
    if high < 0:
        return "the interval lies on the worse side of no change"
    if low > 0:
        return "the interval lies on the better side of no change"
    if low >= band[0]:
        return f"the interval stays within the margin{'' if high <= band[1] else ' on the worse side'}"
    return "the interval reaches beyond the margin on the worse side"


DIAL_CAPTION = (
    "The needle is the change, the arc around it its 90 % interval, the grey zone the margin. The farther from the "
    "top, the coarser the scale, so that every change has a place."
)

DECIDING_TESTS = {Decision.REGRESSED: "worse", Decision.IMPROVED: "superior"}


def dial_figures(verdict: Verdict) -> list[Block]:
    """One dial, where the policy tested anything that has a change."""
    gate = deciding_gate(verdict)
    if gate is None or gate.evidence is None or gate.evidence.effect is None:
        return []
    change, span, _ = format_gate(gate.evidence)
    interval = benefit_interval(gate.evidence)
    reach = "no interval" if interval is None else f"90 % interval {span}"
    description = f"{gate.name} {gate.state.words}: {change}, {reach}"
    title = f"The decision, and the gate it hangs on most: {gate.name}"
    draw = partial(
        _draw_dial,
        title,
        word=verdict.decision.words.upper(),
        name=gate.name,
        label=change,
        mark=GATE_MARKERS[gate.state],
        point=as_benefit(gate.evidence.effect, gate.evidence),
        interval=interval,
        band=margin_band(gate.evidence),
        band_labels=_format_margins(gate.evidence),
        description=description,
    )
    told = f"{verdict.decision.words}; it hangs most on {description}"
    return [Figure(title=title, draw=draw, caption=DIAL_CAPTION, text_lines=(told,))]


def _draw_dial(title: str, **fields: Any) -> str:
    from outweigh.report.svg.dial import Dial, draw_dial  # noqa: PLC0415

    return draw_dial(title, Dial(**fields))


def deciding_gate(verdict: Verdict) -> Gate | None:
    """The clearest gate of a firm decision; the one that is shown least where nothing got better or worse."""
    tested = [
        gate
        for gate in verdict.gates
        if gate.evidence is not None and gate.evidence.effect is not None and gate.evidence.scale != EffectScale.DOLLARS
    ]
    question = DECIDING_TESTS.get(verdict.decision)
    if question is not None:
        return min(tested, key=lambda gate: _p_value(gate, question), default=None)
    return max(tested, key=lambda gate: _p_value(gate, "non_inferior"), default=None)


def _p_value(gate: Gate, question: str) -> float:
    found = None if gate.evidence is None else gate.evidence.p_values.get(question)
    return inf if found is None else found


def _format_margins(evidence: GateEvidence) -> tuple[str, str]:
    """What the ends of the margin are called: of a resource, more is on the worse side."""
    low, high = margin_band(evidence)
    if evidence.scale == EffectScale.POINTS:
        return f"{100 * low:+.3g} points", f"{100 * high:+.3g} points"
    return f"{-100 * low:+.3g} %", f"{-100 * high:+.3g} %"
