"""Policy `evidence`: improved only when the data show it at a stated error rate, inconclusive when they do not."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import asdict, replace

from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import single_family
from outweigh.compare.task_alignment import count_shared_tasks
from outweigh.errors import quote_names
from outweigh.verdict.blockers import PromotionMinimum, evidence_blockers, literal_blockers
from outweigh.verdict.collapse import REPEATS_TO_DETECT, rule_of_three
from outweigh.verdict.decision import (
    Decision,
    Gate,
    GateState,
    Regression,
    RegressionKind,
    RequiredSample,
    Sensitivity,
    Verdict,
)
from outweigh.verdict.evidence_rule import CandidateTests, RuleFinding, alarm_p_value
from outweigh.verdict.evidence_settings import (
    GATED_METRICS,
    JUDGE_SCORE,
    MINIMUM_TASKS,
    TRIGGER_GATES,
    EvidenceSettings,
    GateRole,
)
from outweigh.verdict.gate_result import find_obstacle, gate_result
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.gate_test import GateTest
from outweigh.verdict.missing_values import find_missing_values
from outweigh.verdict.sensitivity import sensitivity
from outweigh.verdict.trigger_gates import hold_to_triggers
from outweigh.verdict.unusable import dropped_tasks
from outweigh.verdict.weigh_evidence import (
    WeighedEvidence,
    apply_version,
    decision_of,
    examine_sample,
    examine_samples,
    usual_rates,
    weigh_evidence,
)
from outweigh.verdict.weigh_looks import (
    LookedEvidence,
    describe_look,
    overall_p_value,
    stored_look,
    weigh_planned_looks,
)
from outweigh.verdict.worth import break_even

WIDE_MARGIN = 2.0
"""A margin beyond so many times its default lets a good deal of harm pass, so a notice says so."""


def decide_by_evidence(
    comparisons: Sequence[Comparison], settings: EvidenceSettings, left_out: int = 0
) -> tuple[Verdict, ...]:
    """Decide about one candidate, or about many against one baseline, corrected for multiple comparisons.

    `left_out` candidates were tried as well and are not compared here; gains are corrected for them all the same.
    Where trigger cases stand beside other tasks, gates are tested over those that they are about.
    """
    about_cases = tuple(name for name in settings.gates or () if name in TRIGGER_GATES)
    if not about_cases or any(comparison.triggers is None for comparison in comparisons):
        return _decide(comparisons, settings, left_out)
    cases = [comparison.triggers for comparison in comparisons if comparison.triggers is not None]
    watching = replace(settings, gates=about_cases, margins=_of_gates(settings.margins, about_cases), tolerances={})
    if len(about_cases) == len(settings.gates or ()):
        return _decide(cases, watching, left_out)
    others = tuple(name for name in settings.gates or () if name not in TRIGGER_GATES)
    main = replace(settings, gates=others, margins=_of_gates(settings.margins, others))
    on_cases = _decide(cases, replace(watching, looks=None, value_usd=None), left_out)
    return tuple(map(hold_to_triggers, _decide(comparisons, main, left_out), on_cases))


def _of_gates(margins: Mapping[str, float], gates: Sequence[str]) -> dict[str, float]:
    return {name: margin for name, margin in margins.items() if name in gates}


def _decide(comparisons: Sequence[Comparison], settings: EvidenceSettings, left_out: int) -> tuple[Verdict, ...]:
    if settings.looks is not None:
        looked_at = weigh_planned_looks(comparisons, settings, settings.looks, left_out)
        return tuple(_verdict(looked.comparison, looked.weighed, settings, looked) for looked in looked_at)
    return tuple(
        _verdict(comparison, weighed, settings)
        for comparison, weighed in zip(comparisons, weigh_evidence(comparisons, settings, None, left_out), strict=True)
    )


def _verdict(
    comparison: Comparison, weighed: WeighedEvidence, settings: EvidenceSettings, looked: LookedEvidence | None = None
) -> Verdict:
    """The comparison holds what had come in at the look, where looks were planned."""
    decision, gates, unusable = weighed.decision, weighed.gates, weighed.unusable
    shown = tuple(
        gate_result(
            test,
            comparison,
            alarmed=test.sample.gated.name in weighed.finding.alarms,
            level=weighed.rates.non_inferiority,
            looked_once=looked is None,
        )
        for test in _shown_tests(weighed, settings)
    )
    undecided = decision is Decision.INCONCLUSIVE
    obstacle = find_obstacle(shown, by_margin=settings.version == 1) if undecided and not unusable else None
    reasons = (
        *unusable,
        *(item.detail for item in weighed.hard_drops),
        *(() if obstacle is None else (f"undecided: {obstacle.detail}",)),
        *_reasons(weighed, shown),
        _scope(comparison, settings, looked),
    )
    return Verdict(
        policy="evidence",
        policy_version=settings.version,
        decision=decision,
        seed_wording=decision.value,
        reasons=reasons,
        warnings=(*comparison.warnings, *_notices(comparison, weighed, settings)),
        gates=shown,
        regressions=(*_missing_tasks(comparison), *weighed.hard_drops),
        blockers=(*unusable, *_blind_spots(comparison, weighed), *_blockers(comparison, settings)),
        # More tasks do not help where the known values decide and the others could turn that.
        needs=_needs(comparison, gates, settings) if undecided and not weighed.turned else None,
        measure_sensitivity=None if unusable else lambda: _sensitivity(comparison, weighed, settings),
        settings=_stored(gates, settings, looked),
        evidence_sha256=comparison.evidence_sha256,
        evidence_sha256_v1=comparison.evidence_sha256_v1,
        superiority_p=overall_p_value(weighed.finding.superiority_p, settings, looked)
        if decision is Decision.IMPROVED
        else None,
        alarm_p=overall_p_value(_alarm_p(weighed), settings, looked) if decision is Decision.REGRESSED else None,
        break_even=break_even(comparison.baseline_table, comparison.candidate_table),
        in_the_way=obstacle,
    )


def _alarm_p(weighed: WeighedEvidence) -> float:
    watched = () if weighed.watched is None else (weighed.watched,)
    collapse = None if weighed.collapse is None else weighed.collapse.p_value
    return alarm_p_value((*weighed.tests.gates, *watched), collapse, weighed.rates)


def _needs(comparison: Comparison, gates: Sequence[GateSample], settings: EvidenceSettings) -> RequiredSample | None:
    # Imported here: it simulates the rule, which takes modules that a decided verdict does without.
    from outweigh.verdict.required_sample import required_sample  # noqa: PLC0415

    return required_sample(gates, comparison, settings)


def _shown_tests(weighed: WeighedEvidence, settings: EvidenceSettings) -> tuple[GateTest, ...]:
    worth = () if weighed.worth is None else (examine_sample(weighed.worth, settings),)
    return (*weighed.finding.tests, *worth)


def _blockers(comparison: Comparison, settings: EvidenceSettings) -> Iterator[str]:
    if settings.version == 1:
        yield from literal_blockers(comparison)
        return
    minimum = PromotionMinimum(suite_tasks=settings.promotion_tasks, suite_repeats=settings.promotion_repeats)
    shared = count_shared_tasks(comparison.baseline_table, comparison.candidate_table)
    yield from minimum.lacking(shared, comparison.fewest_repeats)
    yield from evidence_blockers(comparison)


def _sensitivity(comparison: Comparison, weighed: WeighedEvidence, settings: EvidenceSettings) -> Sensitivity:
    def examine(samples: Sequence[GateSample]) -> CandidateTests:
        return examine_samples(samples, weighed.worth, settings)

    def decide(tests: CandidateTests, left_out: str | None) -> tuple[Decision, Decision | None]:
        if min(len(test.sample.benefits) for test in tests.gates) < MINIMUM_TASKS:
            return Decision.INCONCLUSIVE, None
        finding = apply_version([tests, *weighed.others], settings, weighed.rates)[0]
        drops = [drop for drop in weighed.hard_drops if drop.task_id != left_out]
        return decision_of(finding, weighed.watched, drops, (), settings, weighed.rates), finding.alarm

    suspects = [drop.task_id for drop in weighed.hard_drops]
    if weighed.worth is None:
        missing = weighed.find_missing()
    else:
        missing = find_missing_values(comparison.baseline_table, comparison.candidate_table, weighed.gates)
    return sensitivity(weighed.tests, suspects, weighed.decision, examine, decide, missing)


def _reasons(weighed: WeighedEvidence, gates: Sequence[Gate]) -> Iterator[str]:
    yield from _summary(weighed)
    yield from (f"{gate.name}: {gate.detail}" for gate in gates if gate.state is not GateState.UNKNOWN)


def _summary(weighed: WeighedEvidence) -> Iterator[str]:
    finding, decision = weighed.finding, weighed.decision
    if weighed.hard_drops and weighed.collapse is not None:
        chance = weighed.collapse.p_value
        yield f"more tasks got much worse, or got worse by more, than chance explains (p = {chance:.2g})"
    if decision is Decision.IMPROVED and finding.alarm is Decision.TRADE_OFF:
        yield f"{_joined(finding.superior)} improved, {_joined(finding.alarms)} got worse, and the gain is worth it"
    elif decision is Decision.IMPROVED:
        yield f"{_joined(finding.superior)} improved, nothing got worse, and every resource stays below its tolerance"
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
        limits = ", ".join(f"{name} up to {100 * limit:g} % higher" for name, limit in tolerances.items())
        yield f"not ruled out: {limits}"
    tasks = min(len(test.sample.benefits) for test in finding.tests)
    yield (
        f"not ruled out: failures too rare to show in {tasks} tasks, on up to "
        f"{100 * rule_of_three(tasks):.0f} % of similar tasks"
    )


def _joined(names: Sequence[str]) -> str:
    return " and ".join(names)


def _scope(comparison: Comparison, settings: EvidenceSettings, looked: LookedEvidence | None) -> str:
    """What the decision is about: which tasks, done by whom, and how many looks at the data."""
    tasks = count_shared_tasks(comparison.baseline_table, comparison.candidate_table)
    population = (
        f"these {tasks} tasks only, run again by the same agents and models"
        if settings.fixed_suite
        else f"tasks like these {tasks}, run by the same agents and models"
    )
    looks = "valid however often you look" if settings.planned_tasks is not None else "valid for one look at the data"
    if looked is not None and settings.looks is not None:
        looks = describe_look(looked, settings.looks)
    return f"applies to {population}; {looks}"


def _notices(comparison: Comparison, weighed: WeighedEvidence, settings: EvidenceSettings) -> Iterator[str]:
    yield from _drop_notices(comparison, weighed)
    if settings.version == 1:
        yield "decided by version 1 of the rule, because the experiment was run under it."
    if settings.gates is None and not any(gate.gated.name in ("cost", *TRIGGER_GATES) for gate in weighed.gates):
        yield "cost is not a gate: it is unknown in both arms."
    for gate in weighed.gates:
        if dropped := dropped_tasks(gate, comparison):
            yield f"{gate.gated.name} cannot be compared on task {quote_names(dropped)}: it is missing or 0 there."
        if gate.margin > WIDE_MARGIN * GATED_METRICS[gate.gated.name].margin:
            yield f"the margin of {gate.gated.name} is wide ({gate.margin:g}); much harm still counts as not worse."
    if family := single_family(comparison.baseline_table, comparison.candidate_table):
        yield f"all tasks come from family {family!r}; the verdict applies to that family only."


def _drop_notices(comparison: Comparison, weighed: WeighedEvidence) -> Iterator[str]:
    lost, collapse = weighed.soft_drops, weighed.collapse
    if lost:
        yield f"tasks that lost checks, none by more than chance explains: {len(lost)} ({quote_names(lost)})."
    if collapse is None:
        return
    if collapse.dropped and not weighed.hard_drops:
        names = quote_names([task.task_id for task in collapse.dropped])
        yield (
            f"task {names} got worse with p = {max(task.p_value for task in collapse.dropped):.2g} each; among "
            f"{collapse.testable} tested tasks, as many are expected by chance with p = "
            f"{collapse.p_value:.2g}. Look at the runs."
        )
    tasks = count_shared_tasks(comparison.baseline_table, comparison.candidate_table)
    if comparison.fewest_repeats < REPEATS_TO_DETECT and tasks:
        yield (
            f"with fewer than {REPEATS_TO_DETECT} repeats, the collapse of a single task cannot be shown; even if none "
            f"of these {tasks} collapsed, up to {100 * rule_of_three(tasks):.0f} % of similar tasks could."
        )


def _blind_spots(comparison: Comparison, weighed: WeighedEvidence) -> Iterator[str]:
    """What the gates leave out, which forbids a promotion."""
    if weighed.watched is not None and comparison.is_of_triggers:
        yield "trigger cases say when a skill is used, not if it helps. Add tasks with checks and the gate pass_rate."
    elif weighed.watched is not None:
        judged = any(gate.gated.name == JUDGE_SCORE for gate in weighed.gates)
        alone = " Judge scores can decide, but cannot promote by themselves." if judged else ""
        yield f"pass_rate is not a gate.{alone} Add it to the gates."
    for gate in weighed.gates:
        if dropped := dropped_tasks(gate, comparison):
            yield f"gate {gate.gated.name} leaves out task {quote_names(dropped)}. Measure it there."


def _missing_tasks(comparison: Comparison) -> tuple[Regression, ...]:
    return tuple(
        Regression(
            kind=RegressionKind.MISSING_TASK,
            task_id=task,
            detail=f"task {task!r}: the candidate has no run of it",
        )
        for task in comparison.tasks.named(~comparison.tasks.candidate.present)
    )


def _stored(
    gates: Sequence[GateSample], settings: EvidenceSettings, looked: LookedEvidence | None
) -> Mapping[str, object]:
    return {
        "gates": [gate.gated.name for gate in gates],
        "margins": {gate.gated.name: gate.margin for gate in gates},
        "tolerances": {gate.gated.name: gate.tolerance for gate in gates if gate.tolerance is not None},
        "value_usd": settings.value_usd,
        "error_rates": asdict(usual_rates(settings)),
        "infer": "runs" if settings.fixed_suite else "tasks",
        "sequential": settings.planned_tasks is not None,
        "planned_tasks": settings.planned_tasks,
        "looks": None if looked is None or settings.looks is None else stored_look(looked, settings.looks),
        "seed": settings.seed,
    }
