"""The page and the JSON of `outweigh verdict`: decision, reasons, how firm it is, and what blocks a promotion."""

from collections.abc import Sequence
from hashlib import sha256

import msgspec
from msgspec.structs import asdict

from outweigh.compare.comparison import Comparison
from outweigh.compare.judge_agreement import summarise_judges
from outweigh.model.evidence_hash import HASH_VERSION
from outweigh.report.comparison_tables import arms_table, gate_blocks
from outweigh.report.correction_lines import corrections_payload
from outweigh.report.document import Block, BulletList, Heading, Report, Tone, optional_bullets
from outweigh.report.figures.gates import gate_figures_without_words
from outweigh.report.formatting import format_change
from outweigh.report.json_output import Payload, finite_or_none, observed_setup_payload
from outweigh.report.judge_tables import judge_blocks
from outweigh.report.model_use_table import model_blocks
from outweigh.report.quarantine_lines import quarantine_blocks, quarantine_payload
from outweigh.report.scan_page import scan_blocks, scan_payload
from outweigh.report.setup_use_lines import use_blocks, use_payload
from outweigh.report.verdict_sentence import with_gate_titles
from outweigh.verdict.composite_policy import net_gain
from outweigh.verdict.decision import Decision, Gate, PolicySource, RequiredSample, Sensitivity, Verdict
from outweigh.verdict.evidence_settings import GATED_METRICS, EffectScale, gate_title
from outweigh.verdict.promotion import may_promote


def verdict_payload(verdict: Verdict, comparison: Comparison, source: PolicySource, *, may_promote: bool) -> Payload:
    """`verdict --format json`. `verdict_sha256` is over the answer alone: equal answers have equal ones.

    It covers neither the evidence's hash, nor who chose the rule, nor what was seen of the arms beside their figures.
    """
    answer = _decision_payload(verdict, comparison, may_promote=may_promote)
    fingerprint = sha256(msgspec.json.encode(answer, order="sorted")).hexdigest()
    origins = {
        "policy_from": source.value,
        "evidence_sha256": verdict.evidence_sha256,
        "evidence_hash_version": HASH_VERSION,
    }
    beside = {
        "sightings": observed_setup_payload(comparison),
        "scan": scan_payload(comparison.scans),
        "use": use_payload(comparison.changed_use),
        "quarantine": quarantine_payload(comparison.quarantine),
        "corrections": corrections_payload(comparison.corrections),
        "net_gain": net_gain(comparison).value,
    }
    return {**answer, "verdict_sha256": fingerprint, **origins, **beside}


def _decision_payload(verdict: Verdict, comparison: Comparison, *, may_promote: bool) -> Payload:
    return {
        "schema": "outweigh.verdict/1",
        "policy": verdict.policy,
        "policy_version": verdict.policy_version,
        "baseline": comparison.baseline.name,
        "candidate": comparison.candidate.name,
        "decision": verdict.decision.value,
        "seed_wording": verdict.seed_wording,
        "may_promote": may_promote,
        "reasons": list(verdict.reasons),
        "blockers": list(verdict.blockers),
        "gates": [_gate_payload(gate) for gate in verdict.gates],
        "regressions": [
            {"kind": item.kind.value, "task_id": item.task_id, "detail": item.detail} for item in verdict.regressions
        ],
        "superiority_p": verdict.superiority_p,
        "break_even": None if verdict.break_even is None else asdict(verdict.break_even),
        "in_the_way": None if verdict.in_the_way is None else asdict(verdict.in_the_way),
        "needs": None if verdict.needs is None else asdict(verdict.needs),
        "sensitivity": None if verdict.sensitivity is None else _sensitivity_payload(verdict.sensitivity),
        "settings": dict(verdict.settings),
        "warnings": list(verdict.warnings),
    }


def verdicts_payload(verdicts: Sequence[Payload]) -> Payload:
    """`verdict --format json` with several candidates."""
    return {"schema": "outweigh.verdicts/1", "verdicts": list(verdicts)}


def _gate_payload(gate: Gate) -> Payload:
    figures = {
        "name": gate.name,
        "state": gate.state.value,
        "baseline": finite_or_none(gate.baseline),
        "candidate": finite_or_none(gate.candidate),
        "detail": gate.detail,
    }
    return figures if gate.evidence is None else figures | msgspec.to_builtins(gate.evidence)


def _sensitivity_payload(sensitivity: Sensitivity) -> Payload:
    return {
        "missing_runs": sensitivity.missing_runs,
        "estimated_runs": sensitivity.estimated_runs,
        "if_missing_hurt": sensitivity.if_missing_hurt.value,
        "if_missing_helped": sensitivity.if_missing_helped.value,
        "margins": {gate: list(margins) for gate, margins in sensitivity.margins.items()},
        "tasks_that_decide": {task: decision.value for task, decision in sensitivity.tasks_that_decide.items()},
    }


MOST_REASONS = 12

DECISION_TONES = {
    Decision.IMPROVED: Tone.GOOD,
    Decision.TRADE_OFF: Tone.UNSURE,
    Decision.REGRESSED: Tone.BAD,
    Decision.NEUTRAL: Tone.PLAIN,
    Decision.INCONCLUSIVE: Tone.UNSURE,
}


def verdict_report(verdict: Verdict, comparison: Comparison, source: PolicySource) -> Report:
    """The page of `outweigh verdict`."""
    allowed = may_promote(verdict, comparison.evidence_sha256)
    blocks: list[Block] = [
        *reason_blocks(verdict),
        *gate_figures_without_words(verdict.gates),
        *gate_blocks(verdict.gates, comparison),
        arms_table(comparison),
        *judge_blocks(summarise_judges(comparison.judging)),
        *use_blocks(comparison.changed_use),
        *model_blocks(comparison.setups),
        *scan_blocks(comparison.scans),
        *sensitivity_blocks(verdict, allowed=allowed),
        *quarantine_blocks(comparison.quarantine),
        *optional_bullets("Warnings", verdict.warnings),
    ]
    return Report(
        headline=verdict_headline(verdict, comparison, source),
        tone=DECISION_TONES[verdict.decision],
        blocks=tuple(blocks),
        payload=verdict_payload(verdict, comparison, source, may_promote=allowed),
    )


def verdicts_report(verdicts: Sequence[Verdict], comparisons: Sequence[Comparison], source: PolicySource) -> Report:
    """One page for several candidates of one baseline."""
    reports = [verdict_report(*pair, source) for pair in zip(verdicts, comparisons, strict=True)]
    if len(reports) == 1:
        return reports[0]
    blocks = [
        block for report in reports for block in (Heading(title=report.headline, tone=report.tone), *report.blocks)
    ]
    line, tone = verdicts_headline(verdicts, comparisons[0].baseline.name)
    return Report(
        headline=line,
        tone=tone,
        blocks=tuple(blocks),
        payload=verdicts_payload([dict(report.payload) for report in reports]),
    )


def verdicts_headline(verdicts: Sequence[Verdict], baseline: str) -> tuple[str, Tone]:
    """How many candidates made it."""
    improved = [verdict for verdict in verdicts if verdict.decision is Decision.IMPROVED]
    tone = Tone.GOOD if improved else Tone.PLAIN
    return f"{len(improved)} of {len(verdicts)} candidates improved on {baseline}", tone


def verdict_headline(verdict: Verdict, comparison: Comparison, source: PolicySource) -> str:
    """The decision in one line, with the rule and who chose it."""
    names = f"{comparison.candidate.name} against {comparison.baseline.name}"
    wording = "" if verdict.seed_wording == verdict.decision.value else f": {verdict.seed_wording}"
    return f"{verdict.decision.words.upper()}  {names}, policy {verdict.policy} ({source.value}){wording}"


def reason_blocks(verdict: Verdict) -> list[Block]:
    """Why, and what it would take to decide."""
    reasons = tuple(map(with_gate_titles, _limit_reasons(verdict.reasons)))
    why = BulletList(title="Why", items=reasons, tone=DECISION_TONES[verdict.decision])
    return [why] if verdict.needs is None else [why, _needs_bullets(verdict.needs)]


def sensitivity_blocks(verdict: Verdict, *, allowed: bool) -> list[Block]:
    """How firm the decision is, and what it allows."""
    promotion = _promotion_bullets(verdict, allowed=allowed)
    if verdict.sensitivity is None:
        return [promotion]
    return [_sensitivity_bullets(verdict.sensitivity, verdict.decision), promotion]


def _limit_reasons(items: tuple[str, ...]) -> tuple[str, ...]:
    if len(items) <= MOST_REASONS:
        return items
    return (*items[:MOST_REASONS], f"and {len(items) - MOST_REASONS} more (the JSON lists them all)")


def _needs_bullets(needs: RequiredSample) -> BulletList:
    return BulletList(title="To decide, you would need", items=(with_gate_titles(needs.detail),), tone=Tone.UNSURE)


def _sensitivity_bullets(sensitivity: Sensitivity, decision: Decision) -> BulletList:
    items = []
    unsure = [
        words
        for count, words in (
            (sensitivity.missing_runs, f"{sensitivity.missing_runs} runs are missing"),
            (sensitivity.estimated_runs, f"{sensitivity.estimated_runs} runs have estimated tokens or cost"),
        )
        if count
    ]
    if unsure:
        items.append(
            f"{' and '.join(unsure)}. If they were all bad for the candidate: "
            f"{sensitivity.if_missing_hurt.words}; if all good: {sensitivity.if_missing_helped.words}."
        )
    for gate, (low, high) in sensitivity.margins.items():
        unit = "points" if GATED_METRICS[gate].scale is EffectScale.POINTS else "%"
        span = f"{format_change(low, signed=False)} to {format_change(high, signed=False)}"
        items.append(f"it stays {decision.words} for {gate_title(gate)} margins from {span} {unit}.")
    if sensitivity.tasks_that_decide:
        flips = [f"{task} ({other.words})" for task, other in sensitivity.tasks_that_decide.items()]
        items.append(f"without one of these tasks the decision would change: {', '.join(flips[:MOST_REASONS])}.")
    else:
        items.append("no single task decides it.")
    return BulletList(title="How firm is it?", items=tuple(items), tone=Tone.PLAIN)


def _promotion_bullets(verdict: Verdict, *, allowed: bool) -> BulletList:
    if allowed:
        return BulletList(title="Promotion", items=("allowed",), tone=Tone.GOOD)
    refusal = f"the candidate is {verdict.decision.words}, not improved."
    undecided = () if verdict.decision is Decision.IMPROVED else (refusal,)
    return BulletList(title="Promotion refused", items=(*undecided, *verdict.blockers), tone=Tone.UNSURE)
