"""The gates of one verdict, drawn against their margins."""

from dataclasses import replace

from outweigh.report.charts.interval import ChartRow, Mark, interval_chart
from outweigh.report.charts.sketch import interval_sketch
from outweigh.report.document import Block, Picture
from outweigh.report.gates_view import gate_figures
from outweigh.verdict.gated_metric import Scale
from outweigh.verdict.verdict import Gate, GateEvidence, GateState

CAPTION = (
    "Each bar is a 90 % interval, each shaded band a margin, each upright line no change. A gate holds (circle) when "
    "its bar does not reach beyond the band on the left; otherwise it fails (diamond). Of a resource, less is better."
)

Span = tuple[float, float]

MARKS = {GateState.HOLDS: Mark.BETTER, GateState.FAILS: Mark.WORSE, GateState.UNKNOWN: Mark.OPEN}


def gate_pictures(gates: tuple[Gate, ...]) -> list[Picture]:
    """One picture, where the policy tested anything that can be drawn."""
    rows = tuple(_row(gate, gate.evidence) for gate in gates if gate.evidence is not None)
    if not rows:
        return []
    title = "Change and margin of every gate"
    return [
        Picture(
            title=title,
            svg=interval_chart(title, rows),
            caption=CAPTION,
            words=tuple(row.words for row in rows),
            sketch=interval_sketch(rows),
        )
    ]


def gate_sketches(gates: tuple[Gate, ...]) -> list[Block]:
    """The same picture for a page that has the figures beside it: without words."""
    return [replace(picture, words=()) for picture in gate_pictures(gates)]


def _row(gate: Gate, evidence: GateEvidence) -> ChartRow:
    change, span, margin = gate_figures(evidence)
    interval, band = benefit_interval(evidence), margin_band(evidence)
    figures = "" if evidence.effect is None else change if interval is None else f"{change} ({span})"
    return ChartRow(
        name=gate.name,
        state=gate.state.value,
        mark=MARKS[gate.state],
        figures=figures,
        point=None if evidence.effect is None else benefit_of(evidence.effect, evidence),
        interval=interval,
        band=band,
        words=f"{gate.name} {gate.state.value}: {figures or gate.detail}; {_reading(interval, band)}",
        band_words=f"{gate.name}: within the margin of {margin}",
    )


def benefit_of(change: float, evidence: GateEvidence) -> float:
    """More passes are better, and so is less of a resource."""
    return change if evidence.scale == Scale.POINTS else -change


def benefit_interval(evidence: GateEvidence) -> Span | None:
    """The gate's interval, oriented so that more is better."""
    if evidence.low is None or evidence.high is None:
        return None
    low, high = sorted((benefit_of(evidence.low, evidence), benefit_of(evidence.high, evidence)))
    return low, high


def margin_band(evidence: GateEvidence) -> Span:
    """The test is symmetric in logs: the counterpart of 5 % more is 1/1.05, which is 4.8 % less."""
    margin = evidence.margin
    return -margin, margin if evidence.scale == Scale.POINTS else 1 - 1 / (1 + margin)


def _reading(interval: Span | None, band: Span) -> str:
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
