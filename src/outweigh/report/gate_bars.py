"""The gates of a verdict as bars for a screen: both arms' figures, the change with its interval, and how it stands."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from outweigh.compare.comparison import Comparison
from outweigh.report.comparison_tables import format_gate, format_gate_value, total_evidence
from outweigh.report.document import Block, Figure
from outweigh.report.figures.gates import GATES_CAPTION, as_benefit, benefit_interval, margin_band
from outweigh.report.figures.text_charts import interval_line
from outweigh.report.interval_rows import ChangeMarker, IntervalRow, change_axis
from outweigh.verdict.decision import ArmMeans, Gate, GateEvidence, GateState
from outweigh.verdict.evidence_settings import EffectScale, gate_title

NARROWEST_BAR, WIDEST_BAR = 11, 31
LONGEST_HEAD = 10
WIDTH_WITH_FIGURES = 96
"""A narrower screen has no room for the arms' figures beside the bars."""

_MARKS = {
    GateState.HOLDS: ChangeMarker.BETTER,
    GateState.WORSE: ChangeMarker.WORSE,
    GateState.FAILS: ChangeMarker.WORSE,
}


class _Bar(Struct, frozen=True, kw_only=True):
    """One line: the name of a gate, the arms' figures, the interval to draw, its label and the state of the gate."""

    figures: tuple[str, str]
    row: IntervalRow


def gate_bars(gates: Sequence[Gate], comparison: Comparison, width: int) -> list[Block]:
    """One line for every gate that was tested, no wider than the screen; nothing where none was."""
    bars = [bar for gate in gates for bar in _bars(gate, comparison)]
    if not bars:
        return []
    title = "Gates (│ no change, ░ margin, ├─┤ 90 % interval; better is to the right)"
    lines = tuple(_lines(bars, comparison, width))
    return [Figure(title=title, draw=lambda: "", caption=GATES_CAPTION, text_lines=(), text_chart=lines)]


def _bars(gate: Gate, comparison: Comparison) -> Iterator[_Bar]:
    """Dollars have another axis than points and percentages, so worth is not drawn."""
    if gate.evidence is None or gate.evidence.scale == EffectScale.DOLLARS:
        return
    total = total_evidence(gate.evidence)
    title, means = gate_title(gate.name), ArmMeans(baseline=gate.baseline, candidate=gate.candidate)
    if total is None or gate.evidence.total is None:
        yield _bar(gate, title, gate.evidence, means, comparison)
    elif _explains(gate.state, total) or not _explains(gate.state, gate.evidence):
        yield _bar(gate, title, total, gate.evidence.total.means, comparison)
    else:
        typical = gate.evidence.geometric_means or ArmMeans(baseline=None, candidate=None)
        yield _bar(gate, f"{title}, typical", gate.evidence, typical, comparison)


def _explains(state: GateState, evidence: GateEvidence) -> bool:
    """Whether the interval looks like the state of the gate, which rests on the typical run and on the total."""
    interval = benefit_interval(evidence)
    if interval is None:
        return state is GateState.UNKNOWN
    worst = margin_band(evidence)[0]
    if state is GateState.WORSE:
        return interval[1] < worst
    return (interval[0] >= worst) is (state is GateState.HOLDS)


def _bar(gate: Gate, title: str, evidence: GateEvidence, means: ArmMeans, comparison: Comparison) -> _Bar:
    change, span, margin = format_gate(evidence)
    interval = benefit_interval(evidence)
    unknown = gate.state is GateState.UNKNOWN or evidence.effect is None
    return _Bar(
        figures=(
            format_gate_value(gate.name, means.baseline, simulated=comparison.simulated),
            format_gate_value(gate.name, means.candidate, simulated=comparison.simulated),
        ),
        row=IntervalRow(
            name=title,
            state=gate.state.words,
            mark=_MARKS.get(gate.state, ChangeMarker.OPEN),
            label="unknown" if unknown else change if interval is None else f"{change} ({span})",
            point=None if unknown or evidence.effect is None else as_benefit(evidence.effect, evidence),
            interval=None if unknown else interval,
            band=margin_band(evidence),
            description="",
            band_description=f"{title}: within the margin of {margin}",
        ),
    )


def _lines(bars: Sequence[_Bar], comparison: Comparison, width: int) -> Iterator[str]:
    axis = change_axis([bar.row for bar in bars])
    names = [bar.row.name for bar in bars]
    heads = comparison.baseline.name, comparison.candidate.name
    if max(map(len, heads)) > LONGEST_HEAD:
        heads = "baseline", "candidate"
    columns = [[head, *(bar.figures[place] for bar in bars)] for place, head in enumerate(heads)]
    shown = width >= WIDTH_WITH_FIGURES
    widths = [max(map(len, column)) for column in columns] if shown else []
    name_width, label_width = max(map(len, names)), max(len(bar.row.label) for bar in bars)
    state_width = max(len(bar.row.state) for bar in bars)
    left = width - 2 - name_width - sum(2 + each for each in widths) - 2 - 2 - label_width - 2 - state_width
    bar_width = min(WIDEST_BAR, left)
    if shown:
        yield " " * name_width + "".join(f"  {head:>{each}}" for head, each in zip(heads, widths, strict=True))
    for bar in bars:
        figures = "".join(f"  {text:>{each}}" for text, each in zip(bar.figures, widths, strict=False))
        drawn = f"  {interval_line(bar.row, axis, bar_width)}" if bar_width >= NARROWEST_BAR else ""
        yield f"{bar.row.name:<{name_width}}{figures}{drawn}  {bar.row.label:<{label_width}}  {bar.row.state}"
