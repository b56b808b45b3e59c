"""Policy `evidence`: improved only when the data show it at a stated error rate, inconclusive when they do not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from outweigh.compare.arm_table import align_tasks
from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import single_family
from outweigh.errors import quote_names
from outweigh.verdict.blockers import PromotionMinimum, evidence_blockers, literal_blockers
from outweigh.verdict.collapse import REPEATS_TO_HEAR, CollapseTest, collapse_test, rule_of_three
from outweigh.verdict.decision import Decision, Regression, RegressionKind, Sensitivity, Verdict
from outweigh.verdict.evidence_rule import CandidateTests, RuleFinding, alarmed_gates, apply_rule, examine_candidate
from outweigh.verdict.evidence_rule_v1 import ERROR_RATES_V1, alarmed_gates_v1, apply_rule_v1
from outweigh.verdict.evidence_settings import (
    ERROR_RATES,
    GATED_METRICS,
    JUDGE_SCORE,
    MINIMUM_TASKS,
    PASS_RATE,
    EvidenceSettings,
    GateRole,
)
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.gate_test import GateTest, describe_gate, examine_gate, gate_result
from outweigh.verdict.required_sample import required_sample
from outweigh.verdict.sensitivity import sensitivity
from outweigh.verdict.task_drops import task_drops
from outweigh.verdict.unusable import (
    dropped_tasks,
    sample_gates,
    sample_worth_gate,
    unusable_reasons,
    watched_pass_rate,
)
from outweigh.verdict.worth import break_even

WIDE_MARGIN = 2.0
"""A margin beyond so many times its default lets a good deal of harm pass, so a notice says so."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeighedEvidence:
    """The decision about one candidate and what it rests on, before anything is explained.

    `watched` is the pass rate when it is not among the gates; `others` are the other candidates' tests. `hard_drops`
    are tasks that collapsed beyond chance, `soft_drops` tasks that lost checks and may be chance.
    """

    decision: Decision
    gates: tuple[GateSample, ...]
    worth: GateSample | None
    finding: RuleFinding
    watched: GateTest | None
    others: tuple[CandidateTests, ...]
    unusable: tuple[str, ...]
    collapse: CollapseTest | None
    hard_drops: tuple[Regression, ...]
    soft_drops: tuple[str, ...]

    @property
    def alarms(self) -> tuple[str, ...]:
        """Everything that got worse, whether it is a gate or only watched."""
        watched = () if self.watched is None else alarmed_gates([self.watched])[0]
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
    worth = [sample_worth_gate(comparison, settings) for comparison in comparisons]
    tests = [_examine_candidate(*samples, settings) for samples in zip(gates, worth, strict=True)]
    findings = _apply_version(tests, settings)
    others = [(*tests[:index], *tests[index + 1 :]) for index in range(len(tests))]
    return tuple(
        _weigh_candidate(comparison, samples, finding, beside, settings)
        for comparison, samples, finding, beside in zip(
            comparisons, zip(gates, worth, strict=True), findings, others, strict=True
        )
    )


def _examine_candidate(
    gates: Sequence[GateSample], worth: GateSample | None, settings: EvidenceSettings
) -> CandidateTests:
    return examine_candidate(gates, worth, fixed_suite=settings.fixed_suite, planned_tasks=settings.planned_tasks)


def _apply_version(candidates: Sequence[CandidateTests], settings: EvidenceSettings) -> tuple[RuleFinding, ...]:
    """Apply the version of the rule that the experiment was run under."""
    if settings.version == 1:
        return apply_rule_v1([tests.gates for tests in candidates])
    return apply_rule(candidates)


def _examine(gate: GateSample, settings: EvidenceSettings) -> GateTest:
    return examine_gate(gate, fixed_suite=settings.fixed_suite, planned_tasks=settings.planned_tasks)


def _weigh_candidate(
    comparison: Comparison,
    samples: tuple[tuple[GateSample, ...], GateSample | None],
    finding: RuleFinding,
    others: tuple[CandidateTests, ...],
    settings: EvidenceSettings,
) -> WeighedEvidence:
    gates, worth = samples
    unusable = tuple(unusable_reasons(comparison, gates, settings))
    collapse, hard, soft = _drops(comparison, settings)
    gated = any(gate.gated.name == PASS_RATE for gate in gates)
    watched = None if gated else _examine(watched_pass_rate(comparison, settings), settings)
    return WeighedEvidence(
        decision=_decision(finding, watched, hard, unusable, settings),
        gates=gates,
        worth=worth,
        finding=finding,
        watched=watched,
        others=others,
        unusable=unusable,
        collapse=collapse,
        hard_drops=hard,
        soft_drops=soft,
    )


def _drops(
    comparison: Comparison, settings: EvidenceSettings
) -> tuple[CollapseTest | None, tuple[Regression, ...], tuple[str, ...]]:
    tables = comparison.baseline_table, comparison.candidate_table
    if settings.version == 1:
        drops = task_drops(*tables, ERROR_RATES_V1.task_alarm)
        hard, soft, collapse = drops.supported, drops.unsupported, None
    else:
        collapse = collapse_test(*tables)
        hard, soft = _collapsed(collapse), collapse.lesser
    # Their error rate holds for one look, and a sequential verdict looks many times.
    return collapse, () if settings.planned_tasks is not None else hard, soft


def _collapsed(collapse: CollapseTest) -> tuple[Regression, ...]:
    if not collapse.rings(ERROR_RATES.task_alarm):
        return ()
    return tuple(
        Regression(
            kind=RegressionKind.OBJECTIVE_DROP,
            task_id=task.task_id,
            detail=f"task {task.task_id!r}: objective fell from {task.before:.2f} to {task.after:.2f} "
            f"(p {task.p_value:.2g})",
        )
        for task in collapse.dropped
    )


def _decision(
    finding: RuleFinding,
    watched: GateTest | None,
    drops: Sequence[Regression],
    unusable: Sequence[str],
    settings: EvidenceSettings,
) -> Decision:
    """Alarms come first: what is unknown may silence an improvement, and never a loss."""
    if settings.version == 1:
        if unusable:
            return Decision.INCONCLUSIVE
        worse = drops or (watched is not None and alarmed_gates_v1([watched]))
        return Decision.REGRESSED if worse else finding.decision
    if drops or (watched is not None and alarmed_gates([watched])[0]):
        return Decision.REGRESSED
    if unusable:
        return finding.alarm or Decision.INCONCLUSIVE
    return finding.decision


def _verdict(comparison: Comparison, weighed: WeighedEvidence, settings: EvidenceSettings) -> Verdict:
    decision, gates, unusable = weighed.decision, weighed.gates, weighed.unusable
    return Verdict(
        policy="evidence",
        policy_version=settings.version,
        decision=decision,
        seed_wording=decision.value,
        reasons=(*unusable, *(item.detail for item in weighed.hard_drops), *_reasons(weighed, settings)),
        warnings=(*comparison.warnings, *_notices(comparison, weighed, settings)),
        gates=tuple(
            gate_result(test, comparison, alarmed=test.sample.gated.name in weighed.finding.alarms)
            for test in _shown_tests(weighed, settings)
        ),
        regressions=(*_missing_tasks(comparison), *weighed.hard_drops),
        blockers=(*unusable, *_blind_spots(comparison, weighed), *_blockers(comparison, settings)),
        needs=required_sample(gates, comparison) if decision is Decision.INCONCLUSIVE else None,
        sensitivity=None if unusable else _sensitivity(comparison, weighed, settings),
        settings=_stored(gates, settings),
        evidence_sha256=comparison.evidence_sha256,
        superiority_p=weighed.finding.superiority_p if decision is Decision.IMPROVED else None,
        break_even=break_even(comparison.baseline_table, comparison.candidate_table),
    )


def _shown_tests(weighed: WeighedEvidence, settings: EvidenceSettings) -> tuple[GateTest, ...]:
    worth = () if weighed.worth is None else (_examine(weighed.worth, settings),)
    return (*weighed.finding.tests, *worth)


def _blockers(comparison: Comparison, settings: EvidenceSettings) -> Iterator[str]:
    if settings.version == 1:
        yield from literal_blockers(comparison)
        return
    minimum = PromotionMinimum(suite_tasks=settings.promotion_tasks, suite_repeats=settings.promotion_repeats)
    shared = len(align_tasks(comparison.baseline_table, comparison.candidate_table))
    yield from minimum.lacking(shared, comparison.fewest_repeats)
    yield from evidence_blockers(comparison)


def _sensitivity(comparison: Comparison, weighed: WeighedEvidence, settings: EvidenceSettings) -> Sensitivity:
    def decide(samples: Sequence[GateSample], left_out: str | None) -> Decision:
        if min(len(gate.benefits) for gate in samples) < MINIMUM_TASKS:
            return Decision.INCONCLUSIVE
        tests = _examine_candidate(samples, weighed.worth, settings)
        finding = _apply_version([tests, *weighed.others], settings)[0]
        drops = [drop for drop in weighed.hard_drops if drop.task_id != left_out]
        return _decision(finding, weighed.watched, drops, (), settings)

    suspects = [drop.task_id for drop in weighed.hard_drops]
    tables = comparison.baseline_table, comparison.candidate_table
    return sensitivity(weighed.gates, suspects, weighed.decision, decide, *tables)


def _reasons(weighed: WeighedEvidence, settings: EvidenceSettings) -> Iterator[str]:
    yield from _summary(weighed)
    for test in _shown_tests(weighed, settings):
        if not test.unknown:
            yield f"{test.sample.gated.name}: {describe_gate(test)}"
    yield _scope(settings)


def _summary(weighed: WeighedEvidence) -> Iterator[str]:
    finding, decision = weighed.finding, weighed.decision
    if weighed.hard_drops and weighed.collapse is not None:
        chance = weighed.collapse.p_value
        yield f"single tasks fell deeper, or more of them did, than chance explains (p = {chance:.2g})"
    if decision is Decision.IMPROVED and finding.alarm is Decision.TRADE_OFF:
        yield f"{_joined(finding.superior)} improved, {_joined(finding.alarms)} got dearer, and it is worth its money"
    elif decision is Decision.IMPROVED:
        yield f"{_joined(finding.superior)} improved, no alarm rang, and every resource stays below its tolerance"
        yield from _what_may_slip(finding)
    elif decision is Decision.TRADE_OFF:
        yield f"{_joined(finding.superior)} improved, and {_joined(finding.alarms)} got worse beyond the margin"
    elif decision is Decision.REGRESSED and weighed.alarms:
        yield f"{_joined(weighed.alarms)} got worse"
    elif decision is Decision.NEUTRAL:
        yield "every gate is the same within its margin"


def _what_may_slip(finding: RuleFinding) -> Iterator[str]:
    """What an improvement does not rule out, in the verdict's own words."""
    tolerances = {
        test.sample.gated.name: test.sample.tolerance
        for test in finding.tests
        if test.sample.gated.role is GateRole.RESOURCE and test.sample.tolerance is not None
    }
    if tolerances:
        limits = ", ".join(f"{name} by up to {100 * limit:g} %" for name, limit in tolerances.items())
        yield f"not ruled out: more use of {limits}"


def _joined(names: Sequence[str]) -> str:
    return " and ".join(names)


def _scope(settings: EvidenceSettings) -> str:
    """What the decision is about: which tasks, and how many looks at the data."""
    population = "this very suite" if settings.fixed_suite else "tasks like these"
    looks = "however often it is looked at" if settings.planned_tasks is not None else "looked at once"
    return f"it speaks of {population}, {looks}"


def _notices(comparison: Comparison, weighed: WeighedEvidence, settings: EvidenceSettings) -> Iterator[str]:
    yield from _drop_notices(comparison, weighed)
    if settings.version == 1:
        yield "decided by version 1 of the rule, which the experiment was run under."
    if settings.gates is None and all(gate.gated.name != "cost" for gate in weighed.gates):
        yield "cost is not gated: neither arm knows it."
    for gate in weighed.gates:
        if dropped := dropped_tasks(gate, comparison):
            yield f"{gate.gated.name} cannot be compared on task {quote_names(dropped)}: it is missing or 0 there."
        if gate.margin > WIDE_MARGIN * GATED_METRICS[gate.gated.name].margin:
            yield f"the margin of {gate.gated.name} is wide ({gate.margin:g}); much harm passes as not worse."
    if family := single_family(comparison.baseline_table, comparison.candidate_table):
        yield f"all tasks come from family {family!r}; the verdict speaks of that family only."


def _drop_notices(comparison: Comparison, weighed: WeighedEvidence) -> Iterator[str]:
    lost, collapse = weighed.soft_drops, weighed.collapse
    if lost:
        yield f"tasks that lost checks, none of which alone can be told from chance: {len(lost)} ({quote_names(lost)})."
    if collapse is None:
        return
    if collapse.dropped and not weighed.hard_drops:
        names = quote_names([task.task_id for task in collapse.dropped])
        yield (
            f"task {names} fell with p = {max(task.p_value for task in collapse.dropped):.2g} each; among "
            f"{collapse.testable} tasks that could show it, so many are expected by chance with p = "
            f"{collapse.p_value:.2g}. Look at the runs."
        )
    tasks = len(align_tasks(comparison.baseline_table, comparison.candidate_table))
    if comparison.fewest_repeats < REPEATS_TO_HEAR and tasks:
        yield (
            f"with fewer than {REPEATS_TO_HEAR} repeats no single task can be shown to have collapsed; even if none "
            f"of these {tasks} did, up to {100 * rule_of_three(tasks):.0f} % of tasks like these could break unseen."
        )


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
    rates = ERROR_RATES_V1 if settings.version == 1 else ERROR_RATES
    return {
        "gates": [gate.gated.name for gate in gates],
        "margins": {gate.gated.name: gate.margin for gate in gates},
        "tolerances": {gate.gated.name: gate.tolerance for gate in gates if gate.tolerance is not None},
        "value_usd": settings.value_usd,
        "error_rates": asdict(rates),
        "infer": "runs" if settings.fixed_suite else "tasks",
        "sequential": settings.planned_tasks is not None,
        "planned_tasks": settings.planned_tasks,
        "seed": settings.seed,
    }
