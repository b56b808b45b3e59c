"""The page and the JSON of `outweigh report`: a baseline and its candidates with verdicts, figures, tables and
provenance.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict

from outweigh.compare.comparison import Comparison
from outweigh.compare.inference import Inference
from outweigh.compare.judge_agreement import PanelAgreement
from outweigh.compare.ladder import Ladder
from outweigh.report.comparison_page import READING_NOTES, comparison_payload, comparison_warnings, difference_blocks
from outweigh.report.comparison_tables import arms_table, format_gate, gate_blocks
from outweigh.report.document import Block, BulletList, CodeBlock, Heading, Report, Table, Tone, optional_bullets
from outweigh.report.figures.arm_overview import (
    component_figures,
    distribution_figures,
    frontier_figures,
    heat_map_figures,
    tier_figures,
)
from outweigh.report.figures.deltas import metric_figures, task_change_figures, task_slope_figures
from outweigh.report.figures.gates import dial_figures, gate_figures
from outweigh.report.figures.judge_reliability import judge_agreement_figures
from outweigh.report.figures.over_time import evidence_figures, spending_figures
from outweigh.report.figures.worth import worth_figures
from outweigh.report.json_output import Payload
from outweigh.report.judge_tables import judge_blocks
from outweigh.report.report_sections import cost_blocks, setup_check_blocks, task_details
from outweigh.report.scan_page import finding_details, scan_blocks
from outweigh.report.verdict_page import (
    DECISION_TONES,
    reason_blocks,
    sensitivity_blocks,
    verdict_headline,
    verdict_payload,
    verdicts_headline,
)
from outweigh.report.verdict_sentence import effect_sentence
from outweigh.verdict.decision import Decision, PolicySource, Verdict
from outweigh.verdict.promotion import may_promote

MOST_NAMES = 6


def verdict_sentence(verdict: Verdict, comparison: Comparison, *, allowed: bool) -> str:
    """What came out and what it means for shipping, with the first reason."""
    candidate, baseline = comparison.candidate.name, comparison.baseline.name
    reason = f": {verdict.reasons[0].rstrip('.')}" if verdict.reasons else ""
    match verdict.decision:
        case Decision.IMPROVED:
            return f"{candidate} is better than {baseline}{reason}. {_promotion_sentence(verdict, allowed=allowed)}"
        case Decision.TRADE_OFF:
            return (
                f"{candidate} is better than {baseline} and dearer{reason}. Whether that is worth it is yours to say."
            )
        case Decision.REGRESSED:
            return f"{candidate} is worse than {baseline}{reason}. It must not be promoted."
        case Decision.NEUTRAL:
            return f"{candidate} makes no difference that matters to {baseline}{reason}. There is nothing to promote."
        case Decision.INCONCLUSIVE:
            need = "" if verdict.needs is None else f" To decide, you would need {verdict.needs.detail}."
            return f"Nobody can tell yet whether {candidate} is better or worse than {baseline}{reason}.{need}"


def verdicts_sentence(decided: Sequence[tuple[str, Decision]], allowed: Sequence[str]) -> str:
    """All candidates at once: who came out how, and who may be promoted."""
    parts = []
    for decision in Decision:
        names = [name for name, found in decided if found is decision]
        if names:
            parts.append(f"{decision.words}: {_join_names(names)}")
    promotion = f"{_join_names(allowed)} may be promoted" if allowed else "none may be promoted"
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}. {promotion[0].upper()}{promotion[1:]}."


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _promotion_sentence(verdict: Verdict, *, allowed: bool) -> str:
    if allowed:
        return "It may be promoted."
    why = f": {verdict.blockers[0]}" if verdict.blockers else "."
    return f"Even so it may not be promoted{why}"


class Provenance(Struct, frozen=True, kw_only=True):
    """Where a report comes from. There is no clock in it: the same records and command give the same page."""

    outweigh_version: str
    command: str
    suite: str | None
    baseline: str
    policy_from: PolicySource
    profile: str
    infer: str
    seed: int
    evidence_sha256: str


class ReportedCandidate(Struct, frozen=True, kw_only=True):
    """One candidate with everything that is known about it."""

    comparison: Comparison
    inference: Inference
    panel: PanelAgreement | None
    verdict: Verdict

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.comparison.candidate.name

    @property
    def may_promote(self) -> bool:
        """Whether it may be promoted."""
        return may_promote(self.verdict, self.comparison.evidence_sha256)


def report_payload(candidates: Sequence[ReportedCandidate], provenance: Provenance) -> Payload:
    """`report -o FILE.json`."""
    return {
        "schema": "outweigh.report/1",
        "verdicts": [
            verdict_payload(one.verdict, one.comparison, provenance.policy_from, may_promote=one.may_promote)
            for one in candidates
        ],
        "comparisons": [comparison_payload(one.comparison, one.inference, one.panel) for one in candidates],
        "provenance": asdict(provenance),
    }


def candidates_report(
    candidates: Sequence[ReportedCandidate], provenance: Provenance, ladder: Ladder | None = None
) -> Report:
    """The page of `outweigh report`; with a ladder where the arms are tiers."""
    first, *others = candidates
    title, tone, lead = (
        verdict_headline(first.verdict, first.comparison, provenance.policy_from),
        _candidate_tone(first),
        _candidate_sentence(first),
    )
    blocks = _candidate_blocks(first, len(candidates))
    if others:
        title, tone = verdicts_headline([one.verdict for one in candidates], provenance.baseline)
        promoted = [one.name for one in candidates if one.may_promote]
        lead = verdicts_sentence([(one.name, one.verdict.decision) for one in candidates], promoted)
        parts = [blocks, *(_candidate_blocks(one, len(candidates)) for one in others)]
        blocks = [
            _candidates_table(candidates),
            *_arm_figures(candidates, ladder),
            *_under_headings(candidates, parts, provenance),
        ]
    else:
        place = next(place for place, block in enumerate(blocks) if isinstance(block, Table) and block.title == "Arms")
        blocks[place:place] = _arm_figures(candidates, ladder)
    return Report(
        headline=title,
        tone=tone,
        lead=lead,
        blocks=(*blocks, *_provenance_blocks(candidates, provenance)),
        payload=report_payload(candidates, provenance),
    )


def _candidate_tone(one: ReportedCandidate) -> Tone:
    return DECISION_TONES[one.verdict.decision]


def _candidate_sentence(one: ReportedCandidate) -> str:
    decided = verdict_sentence(one.verdict, one.comparison, allowed=one.may_promote)
    return " ".join(filter(None, (decided, effect_sentence(one.verdict, one.comparison))))


def _candidate_blocks(one: ReportedCandidate, candidates: int) -> list[Block]:
    """One candidate: the answer first, then what it rests on."""
    verdict, comparison = one.verdict, one.comparison
    # Both have the comparison's own warnings.
    warnings = tuple(dict.fromkeys((*verdict.warnings, *comparison_warnings(comparison))))
    return [
        *reason_blocks(verdict),
        *dial_figures(verdict),
        *gate_figures(verdict.gates),
        *worth_figures(verdict, comparison),
        *gate_blocks(verdict.gates, comparison),
        *sensitivity_blocks(verdict, allowed=one.may_promote),
        *optional_bullets("Warnings", warnings),
        *metric_figures(comparison, one.inference),
        *task_change_figures(comparison),
        *task_slope_figures(comparison),
        *evidence_figures(verdict, comparison),
        *distribution_figures(comparison),
        *component_figures((comparison.baseline, comparison.candidate)),
        *judge_agreement_figures(one.panel),
        arms_table(comparison),
        *cost_blocks(comparison),
        *_excluded_runs_table(comparison),
        *setup_check_blocks(comparison),
        *scan_blocks(comparison.scans),
        *finding_details(comparison.scans),
        *difference_blocks(comparison, one.inference),
        *judge_blocks(one.panel),
        *task_details(comparison, candidates),
        *optional_bullets("Notes", READING_NOTES),
    ]


def _arm_figures(candidates: Sequence[ReportedCandidate], ladder: Ladder | None) -> list[Block]:
    """Pictures of all arms at once."""
    first, *_ = candidates
    arms = [first.comparison.baseline_table, *(one.comparison.candidate_table for one in candidates)]
    tiers = [] if ladder is None else tier_figures(ladder)
    return [*frontier_figures(arms), *tiers, *heat_map_figures(arms), *spending_figures(arms)]


def _under_headings(
    candidates: Sequence[ReportedCandidate], parts: Sequence[list[Block]], provenance: Provenance
) -> Iterator[Block]:
    for one, blocks in zip(candidates, parts, strict=True):
        title = verdict_headline(one.verdict, one.comparison, provenance.policy_from)
        yield Heading(title=title, tone=_candidate_tone(one), lead=_candidate_sentence(one))
        yield from blocks


def _candidates_table(candidates: Sequence[ReportedCandidate]) -> Table:
    gates = tuple(dict.fromkeys(gate.name for one in candidates for gate in one.verdict.gates))
    return Table(
        title="Candidates",
        columns=("", "decision", *gates, "promotion"),
        rows=tuple(
            (
                one.name,
                one.verdict.decision.words,
                *_gate_changes(one.verdict, gates),
                "allowed" if one.may_promote else "refused",
            )
            for one in candidates
        ),
    )


def _gate_changes(verdict: Verdict, gates: Sequence[str]) -> Iterator[str]:
    """The change of every gate; the bare state where a literal rule measured none."""
    found = {gate.name: gate for gate in verdict.gates}
    for name in gates:
        gate = found.get(name)
        if gate is None:
            yield "not gated"
        else:
            yield gate.state.words if gate.evidence is None else format_gate(gate.evidence)[0]


def _excluded_runs_table(comparison: Comparison) -> list[Block]:
    arms = (comparison.baseline, comparison.candidate)
    statuses = sorted({status for arm in arms for status in arm.excluded})
    if not statuses:
        return []
    rows = tuple((status.value, *(str(arm.excluded.get(status, 0)) for arm in arms)) for status in statuses)
    return [Table(title="Excluded runs, by what became of them", columns=("", *(arm.name for arm in arms)), rows=rows)]


def _provenance_blocks(candidates: Sequence[ReportedCandidate], provenance: Provenance) -> list[Block]:
    return [
        Heading(title="Provenance", tone=Tone.PLAIN),
        BulletList(
            title="What this page rests on", items=tuple(_evidence_lines(candidates, provenance)), tone=Tone.PLAIN
        ),
        BulletList(title="Settings of the policy", items=tuple(_policy_settings(candidates)), tone=Tone.PLAIN),
        CodeBlock(title="The same page again, from the same records", lines=(provenance.command,)),
    ]


def _evidence_lines(candidates: Sequence[ReportedCandidate], provenance: Provenance) -> Iterator[str]:
    if provenance.suite is not None:
        yield f"suite: {provenance.suite}"
    yield f"evidence: sha256 {provenance.evidence_sha256}"
    if len(candidates) > 1:
        for one in candidates:
            yield f"evidence of {one.name} and {provenance.baseline}: sha256 {one.comparison.evidence_sha256}"
    yield f"who chose the policy, its gates and margins: {provenance.policy_from.value}"
    yield f"profile of the composite: {provenance.profile}; intervals speak of: {provenance.infer}"
    yield f"seed of everything drawn: {provenance.seed}"
    yield from _fingerprints(candidates)
    yield f"outweigh {provenance.outweigh_version}"
    yield "`outweigh report RUNS --check FILE` says whether the records have changed since this page was written"


def _fingerprints(candidates: Sequence[ReportedCandidate]) -> Iterator[str]:
    """Which configurations ran, by the hash of everything an arm is made of."""
    first, *_ = candidates
    for arm in (first.comparison.baseline_table, *(one.comparison.candidate_table for one in candidates)):
        found = sorted({run.arm_fingerprint for run in arm.runs if run.arm_fingerprint is not None})
        if found:
            yield f"fingerprint of {arm.name}: {', '.join(found)}"


def _policy_settings(candidates: Sequence[ReportedCandidate]) -> Iterator[str]:
    """Once where they are the same for all, as they mostly are."""
    shared: dict[tuple[str, ...], list[str]] = {}
    for one in candidates:
        shared.setdefault(tuple(_describe_policy(one.verdict)), []).append(one.name)
    for settings, names in shared.items():
        whose = f"{', '.join(names)}: " if len(shared) > 1 else ""
        yield from (whose + line for line in settings)


def _describe_policy(verdict: Verdict) -> Iterator[str]:
    yield f"policy: {verdict.policy}"
    yield from (f"{key.replace('_', ' ')}: {_describe_setting(value)}" for key, value in verdict.settings.items())


def _describe_setting(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_describe_setting(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_describe_setting, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
