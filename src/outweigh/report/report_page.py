"""The page and the JSON of `outweigh report`: a baseline and its candidates with verdicts, figures, tables and
provenance.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.ladder import Ladder
from outweigh.model.evidence_hash import HASH_VERSION
from outweigh.report.comparison_page import comparison_payload
from outweigh.report.comparison_tables import format_gate, gate_blocks, total_evidence
from outweigh.report.deciding_tasks import deciding_tasks, merge_task_pairs
from outweigh.report.document import Badge, Block, BulletList, CodeBlock, Details, KeyPoints, Report, Table, Tone
from outweigh.report.figures.arm_overview import frontier_figures, heat_map_figures, tier_figures
from outweigh.report.figures.gates import main_gate_figures
from outweigh.report.figures.over_time import spending_figures
from outweigh.report.interval_rows import ChangeMarker
from outweigh.report.json_output import Payload
from outweigh.report.next_step import describe_needs
from outweigh.report.report_facts import fact_block
from outweigh.report.report_folds import ReportedCandidate, candidate_folds, fold
from outweigh.report.verdict_page import DECISION_TONES, verdict_headline, verdict_payload, verdicts_headline
from outweigh.report.verdict_sentence import effect_sentence
from outweigh.report.verdict_summary import MOST_PROMISING, KeyPoint, decision_reason, key_points, outcome_points
from outweigh.verdict.decision import Decision, PolicySource, Verdict
from outweigh.verdict.evidence_settings import gate_title

MOST_NAMES = 6


def verdicts_sentence(decided: Sequence[tuple[str, Decision]], allowed: Sequence[str]) -> str:
    """All candidates at once: who came out how, and who may be promoted."""
    parts = []
    for decision in Decision:
        names = [name for name, found in decided if found is decision]
        if names:
            parts.append(f"{decision.words}: {_join_names(names)}")
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}. {_promotions(allowed)}"


def _promotions(allowed: Sequence[str]) -> str:
    return f"You may promote {_join_names(allowed)}." if allowed else "No candidate may be promoted."


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


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
    evidence_hash_version: int = HASH_VERSION


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
    candidates: Sequence[ReportedCandidate], provenance: Provenance, runs: str, ladder: Ladder | None = None
) -> Report:
    """The page of `outweigh report`: the answer on the first screen, then folds. `runs` is what commands are to read.

    It has a ladder where the arms are tiers.
    """
    payload = report_payload(candidates, provenance)
    candidates = sorted(candidates, key=lambda one: MOST_PROMISING.index(one.verdict.decision))
    first, *others = candidates
    rule = f"policy {first.verdict.policy} ({provenance.policy_from.value})"
    facts = fact_block([one.comparison for one in candidates], rule)
    origin = Details(title="Where this comes from", blocks=tuple(_provenance_blocks(candidates, provenance)))
    if others:
        headline, tone = verdicts_headline([one.verdict for one in candidates], provenance.baseline)
        return Report(
            headline=headline,
            tone=tone,
            lead=_leading_sentence(candidates),
            blocks=(
                facts,
                _candidates_table(candidates),
                *_cost_quality(candidates),
                *_few_tasks(candidates),
                *_leading_tasks(candidates, runs),
                *(_candidate_fold(one, runs, len(candidates)) for one in candidates),
                *fold("All arms", _arm_figures(candidates, ladder)),
                origin,
            ),
            payload=payload,
        )
    return Report(
        headline=verdict_headline(first.verdict, first.comparison, provenance.policy_from),
        tone=_candidate_badge(first).tone,
        badge=_candidate_badge(first),
        title=f"{first.name} against {provenance.baseline}",
        lead=_candidate_sentence(first),
        blocks=(
            facts,
            _outcome(first),
            *_gate_screen(first),
            *_cost_quality(candidates),
            *_tasks_screen(first, runs),
            *candidate_folds(first, 1),
            *fold("The ladder", [] if ladder is None else tier_figures(ladder)),
            origin,
        ),
        payload=payload,
    )


MOST_SCREEN_CANDIDATES = 6
MOST_SCREEN_TASKS = 6
MOST_LEADING_CANDIDATES = 2


def _candidate_badge(one: ReportedCandidate) -> Badge:
    decision = one.verdict.decision
    return Badge(word=decision.words.capitalize(), tone=DECISION_TONES[decision])


def _leading_sentence(candidates: Sequence[ReportedCandidate]) -> str:
    """What the improved candidates do; who came out how where none or many improved. And who may be promoted."""
    improved = [one for one in candidates if one.verdict.decision is Decision.IMPROVED]
    promoted = [one.name for one in candidates if one.may_promote]
    if not 0 < len(improved) <= MOST_LEADING_CANDIDATES:
        return verdicts_sentence([(one.name, one.verdict.decision) for one in candidates], promoted)
    return " ".join([*map(_candidate_sentence, improved), _promotions(promoted)])


def _candidate_sentence(one: ReportedCandidate) -> str:
    """What changed; the reason of the decision where a rule tests nothing."""
    said = effect_sentence(one.verdict, one.comparison)
    return said or f"{one.name}: {decision_reason(one.verdict, one.comparison).removesuffix('.')}."


def _outcome(one: ReportedCandidate) -> KeyPoints:
    """Why, what that means for a promotion, what to keep in mind, and what it would take to decide."""
    verdict, comparison = one.verdict, one.comparison
    points = list(outcome_points(verdict, comparison))
    if verdict.decision is Decision.INCONCLUSIVE and verdict.needs is not None:
        need = describe_needs(verdict.needs, simulated=comparison.simulated)
        points.append(KeyPoint(label="To decide", text=need))
    return key_points(points)


def _gate_screen(one: ReportedCandidate) -> list[Block]:
    """The gates as bars; as a table where a literal rule has no intervals."""
    return main_gate_figures(one.verdict.gates) or gate_blocks(one.verdict.gates, one.comparison)


def _cost_quality(candidates: Sequence[ReportedCandidate]) -> list[Block]:
    marks = {one.name: _DECISION_MARKS[one.verdict.decision] for one in candidates}
    return frontier_figures(_arms(candidates), marks, simulated=_simulated(candidates))


def _few_tasks(candidates: Sequence[ReportedCandidate]) -> list[Block]:
    return heat_map_figures(_arms(candidates), MOST_SCREEN_TASKS)


def _tasks_screen(one: ReportedCandidate, runs: str) -> list[Block]:
    found = deciding_tasks(one.verdict, one.comparison, runs)
    return [] if found is None else [found]


def _leading_tasks(candidates: Sequence[ReportedCandidate], runs: str) -> list[Block]:
    """The first tasks of every candidate in one table."""
    each = max(1, MOST_SCREEN_TASKS // len(candidates))
    return merge_task_pairs(
        [
            (one.name, found)
            for one in candidates[:MOST_SCREEN_TASKS]
            if (found := deciding_tasks(one.verdict, one.comparison, runs, most=each)) is not None
        ]
    )


def _candidate_fold(one: ReportedCandidate, runs: str, candidates: int) -> Details:
    return Details(
        title=f"{one.name} against {one.comparison.baseline.name}",
        badge=_candidate_badge(one),
        lead=_candidate_sentence(one),
        blocks=(_outcome(one), *_gate_screen(one), *_tasks_screen(one, runs), *candidate_folds(one, candidates)),
    )


_DECISION_MARKS = {
    Decision.IMPROVED: ChangeMarker.BETTER,
    Decision.REGRESSED: ChangeMarker.WORSE,
    Decision.NEUTRAL: ChangeMarker.NEUTRAL,
    Decision.TRADE_OFF: ChangeMarker.UNKNOWN,
    Decision.INCONCLUSIVE: ChangeMarker.UNKNOWN,
}


def _arms(candidates: Sequence[ReportedCandidate]) -> list[ArmTable]:
    first, *_ = candidates
    return [first.comparison.baseline_table, *(one.comparison.candidate_table for one in candidates)]


def _simulated(candidates: Sequence[ReportedCandidate]) -> bool:
    return all(one.comparison.simulated for one in candidates)


def _arm_figures(candidates: Sequence[ReportedCandidate], ladder: Ladder | None) -> list[Block]:
    """Pictures of all arms at once."""
    arms = _arms(candidates)
    tiers = [] if ladder is None else tier_figures(ladder)
    spending = [] if _simulated(candidates) else spending_figures(arms)
    tasks = {task for arm in arms for task in arm.tasks}
    # Where there are few tasks, the first screen has them all.
    return [*tiers, *(heat_map_figures(arms) if len(tasks) > MOST_SCREEN_TASKS else ()), *spending]


def _candidates_table(candidates: Sequence[ReportedCandidate]) -> Table:
    gates = tuple(dict.fromkeys(gate.name for one in candidates for gate in one.verdict.gates))
    shown = candidates[:MOST_SCREEN_CANDIDATES]
    some = "" if len(shown) == len(candidates) else f", {len(shown)} of {len(candidates)}"
    return Table(
        title=f"Candidates{some}",
        columns=("", "decision", *map(gate_title, gates), "promotion"),
        rows=tuple(
            (
                one.name,
                one.verdict.decision.words,
                *_gate_changes(one.verdict, gates),
                "allowed" if one.may_promote else "not allowed",
            )
            for one in shown
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
            yield (
                gate.state.words
                if gate.evidence is None
                else format_gate(total_evidence(gate.evidence) or gate.evidence)[0]
            )


def _provenance_blocks(candidates: Sequence[ReportedCandidate], provenance: Provenance) -> list[Block]:
    return [
        BulletList(
            title="What this page rests on", items=tuple(_evidence_lines(candidates, provenance)), tone=Tone.PLAIN
        ),
        BulletList(title="Settings of the policy", items=tuple(_policy_settings(candidates)), tone=Tone.PLAIN),
        CodeBlock(title="The same page again, from the same records", lines=(provenance.command,)),
    ]


def _evidence_lines(candidates: Sequence[ReportedCandidate], provenance: Provenance) -> Iterator[str]:
    if provenance.suite is not None:
        yield f"suite: {provenance.suite}"
    yield f"evidence: sha256 {provenance.evidence_sha256} (version {HASH_VERSION} of the hash)"
    if len(candidates) > 1:
        for one in candidates:
            yield f"evidence of {one.name} and {provenance.baseline}: sha256 {one.comparison.evidence_sha256}"
    yield f"policy, gates and margins chosen by: {provenance.policy_from.value}"
    yield f"profile of the composite: {provenance.profile}; intervals are over: {provenance.infer}"
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
