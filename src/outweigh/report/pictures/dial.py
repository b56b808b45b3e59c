"""The decision as a dial: the gate that it hangs on most, against its margins."""

from math import inf

from outweigh.report.charts.dial import Dial, dial_chart
from outweigh.report.document import Block, Picture
from outweigh.report.gates_view import gate_figures
from outweigh.report.pictures.gates import MARKS, benefit_interval, benefit_of, margin_band
from outweigh.verdict.gated_metric import Scale
from outweigh.verdict.verdict import Decision, Gate, GateEvidence, Verdict

CAPTION = (
    "The needle is the change, the arc around it its 90 % interval, the grey zone the margin. The farther from the "
    "top, the coarser the scale, so that every change has a place."
)

QUESTIONS = {Decision.REGRESSED: "worse", Decision.IMPROVED: "superior"}


def dial_pictures(verdict: Verdict) -> list[Block]:
    """One dial, where the policy tested anything that has a change."""
    gate = deciding_gate(verdict)
    if gate is None or gate.evidence is None or gate.evidence.effect is None:
        return []
    change, span, _ = gate_figures(gate.evidence)
    interval = benefit_interval(gate.evidence)
    reach = "no interval" if interval is None else f"90 % interval {span}"
    words = f"{gate.name} {gate.state.value}: {change}, {reach}"
    title = f"The decision, and the gate it hangs on most: {gate.name}"
    dial = Dial(
        word=verdict.decision.value.upper(),
        name=gate.name,
        figures=change,
        mark=MARKS[gate.state],
        point=benefit_of(gate.evidence.effect, gate.evidence),
        interval=interval,
        band=margin_band(gate.evidence),
        band_figures=_margins(gate.evidence),
        words=words,
    )
    told = f"{verdict.decision.value}; it hangs most on {words}"
    return [Picture(title=title, svg=dial_chart(title, dial), caption=CAPTION, words=(told,))]


def deciding_gate(verdict: Verdict) -> Gate | None:
    """The clearest gate of a firm decision; the one that is shown least where nothing got better or worse."""
    tested = [gate for gate in verdict.gates if gate.evidence is not None and gate.evidence.effect is not None]
    question = QUESTIONS.get(verdict.decision)
    if question is not None:
        return min(tested, key=lambda gate: _p_value(gate, question), default=None)
    return max(tested, key=lambda gate: _p_value(gate, "non_inferior"), default=None)


def _p_value(gate: Gate, question: str) -> float:
    found = None if gate.evidence is None else gate.evidence.p_values.get(question)
    return inf if found is None else found


def _margins(evidence: GateEvidence) -> tuple[str, str]:
    """What the ends of the margin are called: of a resource, more is on the worse side."""
    low, high = margin_band(evidence)
    if evidence.scale == Scale.POINTS:
        return f"{100 * low:+.3g} points", f"{100 * high:+.3g} points"
    return f"{-100 * low:+.3g} %", f"{-100 * high:+.3g} %"
