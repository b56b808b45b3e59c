"""What a policy looked at, as a table."""

from outweigh.compare.comparison import Comparison
from outweigh.report.document import Block, Table
from outweigh.report.wording import UNKNOWN, count
from outweigh.verdict.verdict import Gate, GateEvidence


def gate_blocks(gates: tuple[Gate, ...], comparison: Comparison) -> list[Block]:
    """The table of gates, for a policy that has any."""
    return [_table(gates, comparison)] if gates else []


def gate_figures(evidence: GateEvidence) -> tuple[str, str, str]:
    """A gate's change, its interval and its margin."""
    unit = "points" if evidence.scale == "points" else "%"
    effect = UNKNOWN if evidence.effect is None else f"{100 * evidence.effect:+.1f} {unit}"
    span = UNKNOWN
    if evidence.low is not None and evidence.high is not None:
        span = f"{100 * evidence.low:+.1f} to {100 * evidence.high:+.1f}"
    return effect, span, f"{100 * evidence.margin:g} {unit}"


def _table(gates: tuple[Gate, ...], comparison: Comparison) -> Table:
    tested = any(gate.evidence is not None for gate in gates)
    extra = ("change", "90 % interval", "margin") if tested else ()
    return Table(
        title="Gates",
        columns=("", comparison.baseline.name, comparison.candidate.name, *extra, "state"),
        rows=tuple(
            (
                gate.name,
                _figure(gate.baseline),
                _figure(gate.candidate),
                *(gate_figures(gate.evidence) if gate.evidence is not None else ()),
                gate.state.value,
            )
            for gate in gates
        ),
    )


def _figure(value: float | None) -> str:
    return count(value) if value is None or abs(value) >= 100 else f"{value:.4g}"
