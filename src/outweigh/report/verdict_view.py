"""The decision, why, and what stands in the way."""

from collections.abc import Sequence

from outweigh.compare.comparison import Comparison
from outweigh.report.arms_view import arms_table
from outweigh.report.document import Bullets, Report, Table, Tone, notes
from outweigh.report.verdict_contract import verdict_payload, verdicts_payload
from outweigh.report.wording import UNKNOWN, count
from outweigh.verdict.gated_metric import GATED, Scale
from outweigh.verdict.promotion import may_promote
from outweigh.verdict.verdict import Decision, Gate, GateEvidence, Needs, Sensitivity, Verdict

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
    if verdict.needs is not None:
        blocks.append(_needs(verdict.needs))
    if verdict.gates:
        blocks.append(_gates(verdict.gates, comparison))
    blocks.append(arms_table(comparison.baseline, comparison.candidate))
    if verdict.sensitivity is not None:
        blocks.append(_sensitivity(verdict.sensitivity, verdict.decision))
    blocks.append(_promotion(verdict, allowed=allowed))
    blocks.extend(notes("Warnings", verdict.warnings))
    return Report(
        headline=_headline(verdict, comparison),
        tone=tone,
        blocks=tuple(blocks),
        payload=verdict_payload(verdict, comparison, may_promote=allowed),
    )


def verdicts_report(verdicts: Sequence[Verdict], comparisons: Sequence[Comparison]) -> Report:
    """One page for several candidates of one baseline."""
    reports = [verdict_report(*pair) for pair in zip(verdicts, comparisons, strict=True)]
    if len(reports) == 1:
        return reports[0]
    best = [verdict for verdict in verdicts if verdict.decision is Decision.IMPROVED]
    headings = [Bullets(title=report.headline, items=(), tone=report.tone) for report in reports]
    blocks = [block for heading, report in zip(headings, reports, strict=True) for block in (heading, *report.blocks)]
    return Report(
        headline=f"{len(best)} of {len(reports)} candidates improved on {comparisons[0].baseline.name}",
        tone=Tone.GOOD if best else Tone.PLAIN,
        blocks=tuple(blocks),
        payload=verdicts_payload([dict(report.payload) for report in reports]),
    )


def _headline(verdict: Verdict, comparison: Comparison) -> str:
    names = f"{comparison.candidate.name} against {comparison.baseline.name}"
    wording = "" if verdict.seed_wording == verdict.decision.value else f": {verdict.seed_wording}"
    return f"{verdict.decision.value.upper()}  {names}, policy {verdict.policy}{wording}"


def _shortened(items: tuple[str, ...]) -> tuple[str, ...]:
    if len(items) <= SHOWN:
        return items
    return (*items[:SHOWN], f"and {len(items) - SHOWN} more (--format json lists them all)")


def _needs(needs: Needs) -> Bullets:
    return Bullets(title="To decide, you would need", items=(needs.detail,), tone=Tone.UNSURE)


def _gates(gates: tuple[Gate, ...], comparison: Comparison) -> Table:
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
                *(_change(gate.evidence) if gate.evidence is not None else ()),
                gate.state.value,
            )
            for gate in gates
        ),
    )


def _change(evidence: GateEvidence) -> tuple[str, str, str]:
    unit = "points" if evidence.scale == "points" else "%"
    effect = UNKNOWN if evidence.effect is None else f"{100 * evidence.effect:+.1f} {unit}"
    span = UNKNOWN
    if evidence.low is not None and evidence.high is not None:
        span = f"{100 * evidence.low:+.1f} to {100 * evidence.high:+.1f}"
    return effect, span, f"{100 * evidence.margin:g} {unit}"


def _figure(value: float | None) -> str:
    return count(value) if value is None or abs(value) >= 100 else f"{value:.4g}"


def _sensitivity(sensitivity: Sensitivity, decision: Decision) -> Bullets:
    items = []
    if sensitivity.missing_runs:
        items.append(
            f"{sensitivity.missing_runs} runs are missing. If they had all spoken against the candidate: "
            f"{sensitivity.if_missing_hurt.value}; for it: {sensitivity.if_missing_helped.value}."
        )
    for gate, (low, high) in sensitivity.margins.items():
        unit = "points" if GATED[gate].scale is Scale.POINTS else "%"
        items.append(f"it stays {decision.value} for {gate} margins from {100 * low:.2g} to {100 * high:.2g} {unit}.")
    if sensitivity.tasks_that_decide:
        flips = [f"{task} ({other.value})" for task, other in sensitivity.tasks_that_decide.items()]
        items.append(f"without one task it would be another decision: {', '.join(flips[:SHOWN])}.")
    else:
        items.append("no single task decides it.")
    return Bullets(title="How firm is it?", items=tuple(items), tone=Tone.PLAIN)


def _promotion(verdict: Verdict, *, allowed: bool) -> Bullets:
    if allowed:
        return Bullets(title="Promotion", items=("allowed",), tone=Tone.GOOD)
    refusal = f"the candidate is {verdict.decision.value}, not improved."
    undecided = () if verdict.decision is Decision.IMPROVED else (refusal,)
    return Bullets(title="Promotion refused", items=(*undecided, *verdict.blockers), tone=Tone.UNSURE)
