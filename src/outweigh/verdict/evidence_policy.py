"""Policy `evidence`: improved only when the data show it at a stated error rate, inconclusive when they do not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import single_family
from outweigh.errors import quote_names
from outweigh.verdict.blockers import TaskDrops, blockers, task_drops
from outweigh.verdict.decision import Decision, Regression, RegressionKind, Sensitivity, Verdict
from outweigh.verdict.evidence_rule import (
    GateTest,
    RuleFinding,
    alarmed_gates,
    apply_rule,
    describe_gate,
    examine_gate,
    gate_result,
)
from outweigh.verdict.evidence_settings import (
    ERROR_RATES,
    GATED_METRICS,
    JUDGE_SCORE,
    MINIMUM_TASKS,
    PASS_RATE,
    EvidenceSettings,
)
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.required_sample import required_sample
from outweigh.verdict.sensitivity import sensitivity
from outweigh.verdict.unusable import dropped_tasks, sample_gates, unusable_reasons, watched_pass_rate

WIDE_MARGIN = 2.0
"""A margin beyond so many times its default lets a good deal of harm pass, so a notice says so."""

CandidateTests = Sequence[GateTest]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeighedEvidence:
    """The decision about one candidate and what it rests on, before anything is explained.

    `watched` is the pass rate when it is not among the gates; `others` are the other candidates' tests.
    """

    decision: Decision
    gates: tuple[GateSample, ...]
    finding: RuleFinding
    watched: GateTest | None
    others: tuple[CandidateTests, ...]
    unusable: tuple[str, ...]
    drops: TaskDrops
    hard_drops: tuple[Regression, ...]

    @property
    def alarms(self) -> tuple[str, ...]:
        """Everything that got worse, whether it is a gate or only watched."""
        watched = () if self.watched is None else alarmed_gates([self.watched])
        return (*self.finding.alarms, *watched)


def decide_by_evidence(comparisons: Sequence[Comparison], settings: EvidenceSettings) -> tuple[Verdict, ...]:
    """Decide about one candidate, or about many against one baseline, corrected for multiple comparisons."""
    return tuple(
        _verdict(comparison, weighed, settings)
        for comparison, weighed in zip(comparisons, weigh_evidence(comparisons, settings), strict=True)
    )


def weigh_evidence(comparisons: Sequence[Comparison], settings: EvidenceSettings) -> tuple[WeighedEvidence, ...]:
    """The decisions alone, without the sensitivity and the required sample, which take far longer."""
    gates = [sample_gates(comparison, settings) for comparison in comparisons]
    tests = [[_examine(gate, settings) for gate in samples] for samples in gates]
    return tuple(
        _weigh_candidate(comparison, gates[index], finding, (*tests[:index], *tests[index + 1 :]), settings)
        for index, (comparison, finding) in enumerate(zip(comparisons, apply_rule(tests), strict=True))
    )


def _examine(gate: GateSample, settings: EvidenceSettings) -> GateTest:
    return examine_gate(gate, fixed_suite=settings.fixed_suite, planned_tasks=settings.planned_tasks)


def _weigh_candidate(
    comparison: Comparison,
    gates: tuple[GateSample, ...],
    finding: RuleFinding,
    others: tuple[CandidateTests, ...],
    settings: EvidenceSettings,
) -> WeighedEvidence:
    unusable = tuple(unusable_reasons(comparison, gates, settings))
    drops = task_drops(comparison.baseline_table, comparison.candidate_table, ERROR_RATES.task_alarm)
    # Their error rate holds for one look, and a sequential verdict looks many times.
    hard_drops = () if settings.planned_tasks is not None else drops.supported
    gated = any(gate.gated.name == PASS_RATE for gate in gates)
    watched = None if gated else _examine(watched_pass_rate(comparison, settings), settings)
    return WeighedEvidence(
        decision=_decision(finding, watched, hard_drops, unusable),
        gates=gates,
        finding=finding,
        watched=watched,
        others=others,
        unusable=unusable,
        drops=drops,
        hard_drops=hard_drops,
    )


def _decision(
    finding: RuleFinding, watched: GateTest | None, drops: Sequence[Regression], unusable: Sequence[str]
) -> Decision:
    if unusable:
        return Decision.INCONCLUSIVE
    worse = drops or (watched is not None and alarmed_gates([watched]))
    return Decision.REGRESSED if worse else finding.decision


def _verdict(comparison: Comparison, weighed: WeighedEvidence, settings: EvidenceSettings) -> Verdict:
    decision, gates, unusable = weighed.decision, weighed.gates, weighed.unusable
    return Verdict(
        policy="evidence",
        decision=decision,
        seed_wording=decision.value,
        reasons=(*unusable, *(item.detail for item in weighed.hard_drops), *_reasons(weighed), _scope(settings)),
        warnings=(*comparison.warnings, *_notices(comparison, weighed, settings)),
        gates=tuple(gate_result(test, comparison) for test in weighed.finding.tests),
        regressions=(*_missing_tasks(comparison), *weighed.hard_drops),
        blockers=(*unusable, *_blind_spots(comparison, weighed), *blockers(comparison)),
        needs=required_sample(gates, comparison) if decision is Decision.INCONCLUSIVE else None,
        sensitivity=None if unusable else _sensitivity(comparison, weighed, settings),
        settings=_stored(gates, settings),
        evidence_sha256=comparison.evidence_sha256,
    )


def _sensitivity(comparison: Comparison, weighed: WeighedEvidence, settings: EvidenceSettings) -> Sensitivity:
    def decide(samples: Sequence[GateSample], left_out: str | None) -> Decision:
        if min(len(gate.benefits) for gate in samples) < MINIMUM_TASKS:
            return Decision.INCONCLUSIVE
        finding = apply_rule([[_examine(gate, settings) for gate in samples], *weighed.others])[0]
        drops = [drop for drop in weighed.hard_drops if drop.task_id != left_out]
        return _decision(finding, weighed.watched, drops, ())

    suspects = [drop.task_id for drop in weighed.hard_drops]
    tables = comparison.baseline_table, comparison.candidate_table
    return sensitivity(weighed.gates, suspects, weighed.decision, decide, *tables)


def _reasons(weighed: WeighedEvidence) -> tuple[str, ...]:
    finding, decision = weighed.finding, weighed.decision
    described = tuple(f"{test.sample.gated.name}: {describe_gate(test)}" for test in finding.tests if not test.unknown)
    if decision is Decision.IMPROVED:
        return (f"no gate is worse beyond its margin, and {' and '.join(finding.superior)} improved", *described)
    if decision is Decision.REGRESSED and weighed.alarms:
        return (f"{' and '.join(weighed.alarms)} got worse", *described)
    if decision is Decision.NEUTRAL:
        return ("every gate is the same within its margin", *described)
    return described


def _scope(settings: EvidenceSettings) -> str:
    """What the decision is about: which tasks, and how many looks at the data."""
    population = "this very suite" if settings.fixed_suite else "tasks like these"
    looks = "however often it is looked at" if settings.planned_tasks is not None else "looked at once"
    return f"it speaks of {population}, {looks}"


def _notices(comparison: Comparison, weighed: WeighedEvidence, settings: EvidenceSettings) -> Iterator[str]:
    lost = weighed.drops.unsupported
    if lost:
        yield f"tasks that lost checks, none of which alone can be told from chance: {len(lost)} ({quote_names(lost)})."
    if settings.gates is None and all(gate.gated.name != "cost" for gate in weighed.gates):
        yield "cost is not gated: neither arm knows it."
    for gate in weighed.gates:
        if dropped := dropped_tasks(gate, comparison):
            yield f"{gate.gated.name} cannot be compared on task {quote_names(dropped)}: it is missing or 0 there."
        if gate.margin > WIDE_MARGIN * GATED_METRICS[gate.gated.name].margin:
            yield f"the margin of {gate.gated.name} is wide ({gate.margin:g}); much harm passes as not worse."
    if family := single_family(comparison.baseline_table, comparison.candidate_table):
        yield f"all tasks come from family {family!r}; the verdict speaks of that family only."


def _blind_spots(comparison: Comparison, weighed: WeighedEvidence) -> Iterator[str]:
    """What the gates leave out, which forbids a promotion."""
    if weighed.watched is not None:
        judged = any(gate.gated.name == JUDGE_SCORE for gate in weighed.gates)
        alone = " What judges say decides, and never ships, by itself." if judged else ""
        yield f"pass_rate is not among the gates.{alone} Gate on it too."
    for gate in weighed.gates:
        if dropped := dropped_tasks(gate, comparison):
            yield f"gate {gate.gated.name} leaves out task {quote_names(dropped)}. Measure it there."


def _missing_tasks(comparison: Comparison) -> tuple[Regression, ...]:
    return tuple(
        Regression(
            kind=RegressionKind.MISSING_TASK,
            task_id=task.task_id,
            detail=f"task {task.task_id!r}: the candidate never ran it",
        )
        for task in comparison.tasks
        if not task.candidate.present
    )


def _stored(gates: Sequence[GateSample], settings: EvidenceSettings) -> Mapping[str, object]:
    return {
        "gates": [gate.gated.name for gate in gates],
        "margins": {gate.gated.name: gate.margin for gate in gates},
        "error_rates": asdict(ERROR_RATES),
        "infer": "runs" if settings.fixed_suite else "tasks",
        "sequential": settings.planned_tasks is not None,
        "planned_tasks": settings.planned_tasks,
        "seed": settings.seed,
    }
