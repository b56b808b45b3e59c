"""Figures of a verdict: every gate's change against its margin."""

from collections.abc import Sequence
from functools import partial
from math import inf

from msgspec.structs import replace

from outweigh.report.comparison_tables import format_gate, total_evidence
from outweigh.report.document import Block, Figure
from outweigh.report.figures.text_charts import text_intervals
from outweigh.report.interval_rows import ChangeMarker, IntervalRow
from outweigh.verdict.decision import Decision, Gate, GateEvidence, GateState, Verdict
from outweigh.verdict.evidence_settings import EffectScale, gate_title

GATES_CAPTION = (
    "Bar: 90 % interval of the change. Shaded: the margin. Upright line: no change. A gate holds when its bar does not "
    "reach beyond the margin on the left."
)

Span = tuple[float, float]

_GATE_MARKERS = {
    GateState.HOLDS: ChangeMarker.NEUTRAL,
    GateState.NOT_SHOWN: ChangeMarker.UNKNOWN,
    GateState.WORSE: ChangeMarker.WORSE,
    GateState.FAILS: ChangeMarker.WORSE,
    GateState.UNKNOWN: ChangeMarker.UNKNOWN,
}


def gate_figures(gates: tuple[Gate, ...]) -> list[Figure]:
    """One chart with both readings of a resource, where the policy tested anything that can be drawn."""
    rows = _gate_rows(gates)
    if not rows:
        return []
    title = "Change and margin of every gate"
    return [
        Figure(
            title=title,
            # A row has little room for words on a phone; the table beside has the states.
            draw=partial(_draw_gates, title, [replace(row, state="") for row in rows]),
            caption=GATES_CAPTION,
            text_lines=tuple(row.description for row in rows),
            text_chart=text_intervals(rows),
        )
    ]


def _draw_gates(title: str, rows: Sequence[IntervalRow], *, compact: bool = False) -> str:
    # Imported here: a verdict in text or JSON draws nothing, and does not load the code that does.
    from outweigh.report.svg.intervals import draw_intervals  # noqa: PLC0415

    return draw_intervals(title, rows, compact=compact)


def main_gate_figures(gates: tuple[Gate, ...]) -> list[Block]:
    """One chart with one bar for every gate, as the sentence of the verdict has it: a resource by its total."""
    rows = [row for gate in gates if gate.evidence is not None for row in _main_rows(gate, gate.evidence)]
    if not rows:
        return []
    title = "Gates: change and margin"
    draw = partial(_draw_gates, title, rows, compact=True)
    return [Figure(title=title, draw=draw, caption=GATES_CAPTION, text_lines=(), text_chart=text_intervals(rows))]


def _main_rows(gate: Gate, evidence: GateEvidence) -> list[IntervalRow]:
    """The typical run is drawn beside the total only where the total alone does not explain the gate's state."""
    if evidence.scale == EffectScale.DOLLARS:
        return []
    total, title = total_evidence(evidence), gate_title(gate.name)
    if total is None:
        return [_gate_row(gate, evidence, title)]
    if _explains(gate, total):
        return [_gate_row(gate, total, title)]
    return [_gate_row(gate, total, title), _gate_row(gate, evidence, f"{title}, typical")]


def _explains(gate: Gate, evidence: GateEvidence) -> bool:
    interval = benefit_interval(evidence)
    if interval is None:
        return gate.state is GateState.UNKNOWN
    holds = interval[0] >= margin_band(evidence)[0]
    return interval[1] < 0 if gate.state is GateState.WORSE else holds is (gate.state is GateState.HOLDS)


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
        mark=_gate_marker(gate, interval),
        label=label,
        point=None if evidence.effect is None else as_benefit(evidence.effect, evidence),
        interval=interval,
        band=band,
        description=f"{name} {gate.state.words}: {label or gate.detail}; {_describe_interval(interval, band)}",
        band_description=f"{name}: within the margin of {margin}",
    )


def _gate_marker(gate: Gate, interval: Span | None) -> ChangeMarker:
    """A gate that holds is neutral; it is better only where its whole interval is."""
    better = gate.state is GateState.HOLDS and interval is not None and interval[0] > 0
    return ChangeMarker.BETTER if better else _GATE_MARKERS[gate.state]


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


DECIDING_TESTS = {Decision.REGRESSED: "worse", Decision.IMPROVED: "superior"}


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
