"""One page about a baseline and its candidates: the decisions, what they rest on, and where it all comes from."""

from collections.abc import Iterator, Mapping, Sequence

from outweigh.compare.comparison import Comparison
from outweigh.compare.ladder import Ladder
from outweigh.report.arms_view import arms_table
from outweigh.report.comparison_view import READING, differences, remarks
from outweigh.report.cost_view import cost_blocks
from outweigh.report.document import Block, Bullets, Heading, Listing, Report, Table, Tone, notes
from outweigh.report.gates_view import gate_blocks, gate_figures
from outweigh.report.judges_view import judge_blocks
from outweigh.report.lead import several_sentence, verdict_sentence
from outweigh.report.pictures.arms import frontier_pictures, heat_pictures
from outweigh.report.pictures.components import component_pictures
from outweigh.report.pictures.dial import dial_pictures
from outweigh.report.pictures.gates import gate_pictures
from outweigh.report.pictures.judges import judge_pictures
from outweigh.report.pictures.metrics import metric_pictures
from outweigh.report.pictures.over_time import evidence_pictures, spend_pictures
from outweigh.report.pictures.spread import spread_pictures
from outweigh.report.pictures.tasks import slope_pictures, task_forest
from outweigh.report.pictures.tiers import ladder_pictures
from outweigh.report.proof_view import proof_blocks
from outweigh.report.report_contract import Judged, Provenance, report_payload
from outweigh.report.tasks_view import task_folds
from outweigh.report.verdict_view import TONES, answer_blocks, headline, several_headline, standing_blocks
from outweigh.verdict.verdict import Verdict


def joint_report(candidates: Sequence[Judged], provenance: Provenance, ladder: Ladder | None = None) -> Report:
    """The page of `outweigh report`; with a ladder where the arms are tiers."""
    first, *others = candidates
    title, tone, lead = headline(first.verdict, first.comparison, provenance.policy_from), _tone(first), _lead(first)
    blocks = _about(first, len(candidates))
    if others:
        title, tone = several_headline([one.verdict for one in candidates], provenance.baseline)
        promoted = [one.name for one in candidates if one.promotes]
        lead = several_sentence([(one.name, one.verdict.decision) for one in candidates], promoted)
        parts = [blocks, *(_about(one, len(candidates)) for one in others)]
        blocks = [
            _overview(candidates),
            *_together(candidates, ladder),
            *_under_headings(candidates, parts, provenance),
        ]
    else:
        place = next(place for place, block in enumerate(blocks) if isinstance(block, Table) and block.title == "Arms")
        blocks[place:place] = _together(candidates, ladder)
    return Report(
        headline=title,
        tone=tone,
        lead=lead,
        blocks=(*blocks, *_provenance(candidates, provenance)),
        payload=report_payload(candidates, provenance),
    )


def _tone(one: Judged) -> Tone:
    return TONES[one.verdict.decision]


def _lead(one: Judged) -> str:
    return verdict_sentence(one.verdict, one.comparison, allowed=one.promotes)


def _about(one: Judged, candidates: int) -> list[Block]:
    """One candidate: the answer first, then what it rests on."""
    verdict, comparison = one.verdict, one.comparison
    # Both have the comparison's own warnings.
    warnings = tuple(dict.fromkeys((*verdict.warnings, *remarks(comparison))))
    return [
        *answer_blocks(verdict),
        *dial_pictures(verdict),
        *gate_pictures(verdict.gates),
        *gate_blocks(verdict.gates, comparison),
        *standing_blocks(verdict, allowed=one.promotes),
        *notes("Warnings", warnings),
        *metric_pictures(comparison, one.inference),
        *task_forest(comparison),
        *slope_pictures(comparison),
        *evidence_pictures(verdict, comparison),
        *spread_pictures(comparison),
        *component_pictures((comparison.baseline, comparison.candidate)),
        *judge_pictures(one.panel),
        arms_table(comparison.baseline, comparison.candidate),
        *cost_blocks(comparison),
        *_excluded(comparison),
        *proof_blocks(comparison),
        *differences(comparison, one.inference),
        *judge_blocks(one.panel),
        *task_folds(comparison, candidates),
        *notes("Notes", READING),
    ]


def _together(candidates: Sequence[Judged], ladder: Ladder | None) -> list[Block]:
    """Pictures of all arms at once."""
    first, *_ = candidates
    arms = [first.comparison.baseline_table, *(one.comparison.candidate_table for one in candidates)]
    tiers = [] if ladder is None else ladder_pictures(ladder)
    return [*frontier_pictures(arms), *tiers, *heat_pictures(arms), *spend_pictures(arms)]


def _under_headings(
    candidates: Sequence[Judged], parts: Sequence[list[Block]], provenance: Provenance
) -> Iterator[Block]:
    for one, blocks in zip(candidates, parts, strict=True):
        title = headline(one.verdict, one.comparison, provenance.policy_from)
        yield Heading(title=title, tone=_tone(one), lead=_lead(one))
        yield from blocks


def _overview(candidates: Sequence[Judged]) -> Table:
    gates = tuple(dict.fromkeys(gate.name for one in candidates for gate in one.verdict.gates))
    return Table(
        title="Candidates",
        columns=("", "decision", *gates, "promotion"),
        rows=tuple(
            (
                one.name,
                one.verdict.decision.value,
                *_changes(one.verdict, gates),
                "allowed" if one.promotes else "refused",
            )
            for one in candidates
        ),
    )


def _changes(verdict: Verdict, gates: Sequence[str]) -> Iterator[str]:
    """The change of every gate; the bare state where a literal rule measured none."""
    found = {gate.name: gate for gate in verdict.gates}
    for name in gates:
        gate = found.get(name)
        if gate is None:
            yield "not gated"
        else:
            yield gate.state.value if gate.evidence is None else gate_figures(gate.evidence)[0]


def _excluded(comparison: Comparison) -> list[Block]:
    arms = (comparison.baseline, comparison.candidate)
    statuses = sorted({status for arm in arms for status in arm.excluded})
    if not statuses:
        return []
    rows = tuple((status.value, *(str(arm.excluded.get(status, 0)) for arm in arms)) for status in statuses)
    return [Table(title="Excluded runs, by what became of them", columns=("", *(arm.name for arm in arms)), rows=rows)]


def _provenance(candidates: Sequence[Judged], provenance: Provenance) -> list[Block]:
    return [
        Heading(title="Provenance", tone=Tone.PLAIN),
        Bullets(title="What this page rests on", items=tuple(_sources(candidates, provenance)), tone=Tone.PLAIN),
        Bullets(title="Settings of the policy", items=tuple(_settings(candidates)), tone=Tone.PLAIN),
        Listing(title="The same page again, from the same records", lines=(provenance.command,)),
    ]


def _sources(candidates: Sequence[Judged], provenance: Provenance) -> Iterator[str]:
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


def _fingerprints(candidates: Sequence[Judged]) -> Iterator[str]:
    """Which configurations ran, by the hash of everything an arm is made of."""
    first, *_ = candidates
    for arm in (first.comparison.baseline_table, *(one.comparison.candidate_table for one in candidates)):
        found = sorted({run.arm_fingerprint for run in arm.runs if run.arm_fingerprint is not None})
        if found:
            yield f"fingerprint of {arm.name}: {', '.join(found)}"


def _settings(candidates: Sequence[Judged]) -> Iterator[str]:
    """Once where they are the same for all, as they mostly are."""
    shared: dict[tuple[str, ...], list[str]] = {}
    for one in candidates:
        shared.setdefault(tuple(_described(one.verdict)), []).append(one.name)
    for settings, names in shared.items():
        whose = f"{', '.join(names)}: " if len(shared) > 1 else ""
        yield from (whose + line for line in settings)


def _described(verdict: Verdict) -> Iterator[str]:
    yield f"policy: {verdict.policy}"
    yield from (f"{key.replace('_', ' ')}: {_words(value)}" for key, value in verdict.settings.items())


def _words(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_words(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
