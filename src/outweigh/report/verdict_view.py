"""The decision, why, and what stands in the way."""

from outweigh.compare.comparison import Comparison
from outweigh.report.comparison_view import arms_table, notes
from outweigh.report.contract import verdict_payload
from outweigh.report.document import Bullets, Report, Table, Tone
from outweigh.report.wording import count
from outweigh.verdict.promotion import may_promote
from outweigh.verdict.verdict import Decision, Gate, Verdict

SHOWN = 12

_TONES = {
    Decision.IMPROVED: Tone.GOOD,
    Decision.REGRESSED: Tone.BAD,
    Decision.NEUTRAL: Tone.PLAIN,
    Decision.INCONCLUSIVE: Tone.UNSURE,
}


def verdict_report(verdict: Verdict, comparison: Comparison) -> Report:
    """The page of `outweigh verdict`."""
    allowed = may_promote(verdict, comparison.evidence_sha256)
    tone = _TONES[verdict.decision]
    blocks: list[Table | Bullets] = [Bullets(title="Why", items=_shortened(verdict.reasons), tone=tone)]
    if verdict.gates:
        blocks.append(_gates(verdict.gates, comparison))
    blocks.append(arms_table(comparison.baseline, comparison.candidate))
    blocks.append(_promotion(verdict, allowed=allowed))
    blocks.extend(notes("Warnings", verdict.warnings))
    return Report(
        headline=f"{verdict.decision.value.upper()}  {comparison.candidate.name} against {comparison.baseline.name}, "
        f"policy {verdict.policy}: {verdict.seed_wording}",
        tone=tone,
        blocks=tuple(blocks),
        payload=verdict_payload(verdict, comparison, may_promote=allowed),
    )


def _shortened(items: tuple[str, ...]) -> tuple[str, ...]:
    if len(items) <= SHOWN:
        return items
    return (*items[:SHOWN], f"and {len(items) - SHOWN} more (--format json lists them all)")


def _gates(gates: tuple[Gate, ...], comparison: Comparison) -> Table:
    return Table(
        title="Gates",
        columns=("", comparison.baseline.name, comparison.candidate.name, "state"),
        rows=tuple((gate.name, _figure(gate.baseline), _figure(gate.candidate), gate.state.value) for gate in gates),
    )


def _figure(value: float | None) -> str:
    return count(value) if value is None or abs(value) >= 100 else f"{value:.4g}"


def _promotion(verdict: Verdict, *, allowed: bool) -> Bullets:
    if allowed:
        return Bullets(title="Promotion", items=("allowed",), tone=Tone.GOOD)
    undecided = (
        () if verdict.decision is Decision.IMPROVED else (f"the candidate is {verdict.decision.value}, not improved.",)
    )
    return Bullets(title="Promotion refused", items=(*undecided, *verdict.blockers), tone=Tone.UNSURE)
