"""The decision, why, and what stands in the way."""

from collections.abc import Sequence

from outweigh.compare.comparison import Comparison
from outweigh.compare.judge_panel import judge_panel
from outweigh.report.arms_view import arms_table
from outweigh.report.document import Block, Bullets, Heading, Report, Tone, notes
from outweigh.report.gates_view import gate_blocks
from outweigh.report.judges_view import judge_blocks
from outweigh.report.pictures.gates import gate_sketches
from outweigh.report.rule_source import RuleSource
from outweigh.report.verdict_contract import verdict_payload, verdicts_payload
from outweigh.verdict.gated_metric import GATED, Scale
from outweigh.verdict.promotion import may_promote
from outweigh.verdict.verdict import Decision, Needs, Sensitivity, Verdict

SHOWN = 12
SEED = 0
"""Of the resamples behind the agreement of judges, which decides nothing."""

TONES = {
    Decision.IMPROVED: Tone.GOOD,
    Decision.REGRESSED: Tone.BAD,
    Decision.NEUTRAL: Tone.PLAIN,
    Decision.INCONCLUSIVE: Tone.UNSURE,
}


def verdict_report(verdict: Verdict, comparison: Comparison, source: RuleSource) -> Report:
    """The page of `outweigh verdict`."""
    allowed = may_promote(verdict, comparison.evidence_sha256)
    blocks: list[Block] = [
        *answer_blocks(verdict),
        *gate_sketches(verdict.gates),
        *gate_blocks(verdict.gates, comparison),
        arms_table(comparison.baseline, comparison.candidate),
        *judge_blocks(judge_panel(comparison.judging, SEED)),
        *standing_blocks(verdict, allowed=allowed),
        *notes("Warnings", verdict.warnings),
    ]
    return Report(
        headline=headline(verdict, comparison, source),
        tone=TONES[verdict.decision],
        blocks=tuple(blocks),
        payload=verdict_payload(verdict, comparison, source, may_promote=allowed),
    )


def verdicts_report(verdicts: Sequence[Verdict], comparisons: Sequence[Comparison], source: RuleSource) -> Report:
    """One page for several candidates of one baseline."""
    reports = [verdict_report(*pair, source) for pair in zip(verdicts, comparisons, strict=True)]
    if len(reports) == 1:
        return reports[0]
    blocks = [
        block for report in reports for block in (Heading(title=report.headline, tone=report.tone), *report.blocks)
    ]
    line, tone = several_headline(verdicts, comparisons[0].baseline.name)
    return Report(
        headline=line,
        tone=tone,
        blocks=tuple(blocks),
        payload=verdicts_payload([dict(report.payload) for report in reports]),
    )


def several_headline(verdicts: Sequence[Verdict], baseline: str) -> tuple[str, Tone]:
    """How many candidates made it."""
    improved = [verdict for verdict in verdicts if verdict.decision is Decision.IMPROVED]
    tone = Tone.GOOD if improved else Tone.PLAIN
    return f"{len(improved)} of {len(verdicts)} candidates improved on {baseline}", tone


def headline(verdict: Verdict, comparison: Comparison, source: RuleSource) -> str:
    """The decision in one line, with the rule and who chose it."""
    names = f"{comparison.candidate.name} against {comparison.baseline.name}"
    wording = "" if verdict.seed_wording == verdict.decision.value else f": {verdict.seed_wording}"
    return f"{verdict.decision.value.upper()}  {names}, policy {verdict.policy} ({source.value}){wording}"


def answer_blocks(verdict: Verdict) -> list[Block]:
    """Why, and what it would take to decide."""
    why = Bullets(title="Why", items=_shortened(verdict.reasons), tone=TONES[verdict.decision])
    return [why] if verdict.needs is None else [why, _needs(verdict.needs)]


def standing_blocks(verdict: Verdict, *, allowed: bool) -> list[Block]:
    """How firm the decision is, and what it allows."""
    promotion = _promotion(verdict, allowed=allowed)
    if verdict.sensitivity is None:
        return [promotion]
    return [_sensitivity(verdict.sensitivity, verdict.decision), promotion]


def _shortened(items: tuple[str, ...]) -> tuple[str, ...]:
    if len(items) <= SHOWN:
        return items
    return (*items[:SHOWN], f"and {len(items) - SHOWN} more (the JSON lists them all)")


def _needs(needs: Needs) -> Bullets:
    return Bullets(title="To decide, you would need", items=(needs.detail,), tone=Tone.UNSURE)


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
