"""Weigh evidence: the decision about every candidate and what it rests on, at given error rates.

Alarms come first, then what makes evidence unusable, then the rule. Nothing is explained here: a run that ends at a
decision weighs after every few tasks.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial

from msgspec import Struct

from outweigh.compare.comparison import Comparison
from outweigh.verdict.collapse import CollapseTest, collapse_test
from outweigh.verdict.decision import Decision, Regression, RegressionKind
from outweigh.verdict.evidence_rule import CandidateTests, RuleFinding, alarmed_gates, apply_rule, examine_candidate
from outweigh.verdict.evidence_rule_v1 import ERROR_RATES_V1, alarmed_gates_v1, apply_rule_v1
from outweigh.verdict.evidence_settings import ERROR_RATES, PASS_RATE, ErrorRates, EvidenceSettings
from outweigh.verdict.excluded_runs import FORBIDDEN, count_as_failures, turned_by_failures, unequal_exclusions
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.gate_test import GateTest, examine_gate
from outweigh.verdict.missing_values import (
    MissingValues,
    could_be_turned,
    families_of_all_runs,
    find_missing_values,
    sample_again,
)
from outweigh.verdict.task_drops import task_drops
from outweigh.verdict.unusable import sample_gates, sample_worth_gate, unusable_reasons, watched_pass_rate

TURNABLE = (Decision.IMPROVED, Decision.NEUTRAL)
"""Decisions that missing values may forbid. An alarm stands whatever is missing."""

NOT_TESTED = CandidateTests(gates=(), gain=None)
"""Stands for a candidate that is not weighed this time, so that the others are corrected for it all the same."""


class WeighedEvidence(Struct, frozen=True, kw_only=True, eq=False):
    """The decision about one candidate and what it rests on, before anything is explained.

    `watched` is the pass rate when it is not among the gates; `others` are the other candidates' tests. `hard_drops`
    are tasks that collapsed beyond chance. `rates` are the levels of all tests. `turned` says that only missing or
    estimated values keep the known ones from deciding.
    """

    decision: Decision
    rates: ErrorRates
    tests: CandidateTests
    gates: tuple[GateSample, ...]
    worth: GateSample | None
    finding: RuleFinding
    watched: GateTest | None
    others: tuple[CandidateTests, ...]
    unusable: tuple[str, ...]
    collapse: CollapseTest | None
    hard_drops: tuple[Regression, ...]
    name_soft_drops: Callable[[], tuple[str, ...]]
    find_missing: Callable[[], MissingValues | None]
    turned: bool = False

    @property
    def soft_drops(self) -> tuple[str, ...]:
        """Tasks that lost checks, which may be chance."""
        return self.name_soft_drops()

    @property
    def alarms(self) -> tuple[str, ...]:
        """Everything that got worse, whether it is a gate or only watched."""
        watched = () if self.watched is None else alarmed_gates([self.watched], self.rates)[0]
        return (*self.finding.alarms, *watched)


def usual_rates(settings: EvidenceSettings) -> ErrorRates:
    """The error rates of the version of the rule, for a single look."""
    return ERROR_RATES_V1 if settings.version == 1 else ERROR_RATES


def weigh_evidence(
    comparisons: Sequence[Comparison],
    settings: EvidenceSettings,
    rates: ErrorRates | None = None,
    left_out: int = 0,
) -> tuple[WeighedEvidence, ...]:
    """The decisions alone, without the sensitivity and the required sample, which take far longer.

    `rates` are the levels of a planned look. `left_out` is the number of other candidates of the same baseline, for
    which gains are corrected although they are not weighed.
    """
    rates = usual_rates(settings) if rates is None else rates
    gates = [sample_gates(comparison, settings) for comparison in comparisons]
    worth = [sample_worth_gate(comparison, settings) for comparison in comparisons]
    tests = [examine_samples(*samples, settings) for samples in zip(gates, worth, strict=True)]
    absent = (NOT_TESTED,) * left_out
    findings = apply_version((*tests, *absent), settings, rates)[: len(tests)]
    return tuple(
        _weigh_candidate(
            comparison,
            (gates[index], worth[index]),
            finding,
            (tests[index], *tests[:index], *tests[index + 1 :], *absent),
            settings,
            rates,
        )
        for index, (comparison, finding) in enumerate(zip(comparisons, findings, strict=True))
    )


def examine_samples(
    gates: Sequence[GateSample], worth: GateSample | None, settings: EvidenceSettings
) -> CandidateTests:
    """Test a candidate's gates as the settings say."""
    return examine_candidate(gates, worth, fixed_suite=settings.fixed_suite, planned_tasks=settings.planned_tasks)


def apply_version(
    candidates: Sequence[CandidateTests], settings: EvidenceSettings, rates: ErrorRates
) -> tuple[RuleFinding, ...]:
    """Apply the version of the rule that the experiment was run under."""
    if settings.version == 1:
        return apply_rule_v1([tests.gates for tests in candidates], rates)
    return apply_rule(candidates, rates)


def examine_sample(gate: GateSample, settings: EvidenceSettings) -> GateTest:
    """Test one gate as the settings say."""
    return examine_gate(gate, fixed_suite=settings.fixed_suite, planned_tasks=settings.planned_tasks)


def _weigh_candidate(
    comparison: Comparison,
    samples: tuple[tuple[GateSample, ...], GateSample | None],
    finding: RuleFinding,
    tests: tuple[CandidateTests, ...],
    settings: EvidenceSettings,
    rates: ErrorRates,
) -> WeighedEvidence:
    """`tests` are this candidate's, and after them the others'."""
    gates, worth = samples
    unusable = tuple(unusable_reasons(comparison, gates, settings))
    collapse, hard, soft = _drops(comparison, settings, rates)
    gated = any(gate.gated.name == PASS_RATE for gate in gates)
    watched = None if gated else examine_sample(watched_pass_rate(comparison, settings), settings)
    decision = shown = decision_of(finding, watched, hard, unusable, settings, rates)
    # Found once for the decision and for its sensitivity, and only where one of them asks.
    missing = cache(partial(_missing_values, comparison, samples, settings))
    turned = None
    if settings.version > 1 and decision in TURNABLE:
        turned = _turned_by_missing_values(missing(), samples, decision, tests[1:], settings, rates)
    if turned is not None:
        decision, unusable = finding.alarm or Decision.INCONCLUSIVE, (*unusable, turned)
    lost = unequal_exclusions(comparison)
    if lost is None and decision in FORBIDDEN:
        lost = _turned_by_failures(comparison, samples, watched, shown, tests[1:], settings, rates)
    if lost is not None:
        unusable = (*unusable, lost)
        decision = Decision.INCONCLUSIVE if decision in FORBIDDEN else decision
    return WeighedEvidence(
        decision=decision,
        rates=rates,
        tests=tests[0],
        gates=gates,
        worth=worth,
        finding=finding,
        watched=watched,
        others=tests[1:],
        unusable=unusable,
        collapse=collapse,
        hard_drops=hard,
        name_soft_drops=soft,
        find_missing=missing,
        turned=turned is not None,
    )


def _missing_values(
    comparison: Comparison, samples: tuple[tuple[GateSample, ...], GateSample | None], settings: EvidenceSettings
) -> MissingValues | None:
    gates, worth = samples
    tables = comparison.baseline_table, comparison.candidate_table
    return find_missing_values(*tables, gates if worth is None else (*gates, worth), settings.value_usd)


def _turned_by_missing_values(
    missing: MissingValues | None,
    samples: tuple[tuple[GateSample, ...], GateSample | None],
    decision: Decision,
    others: Sequence[CandidateTests],
    settings: EvidenceSettings,
    rates: ErrorRates,
) -> str | None:
    """Why the decision is not made although the known values show it: the missing ones could turn it."""
    if missing is None:
        return None
    gates, worth = samples

    def decide(changed: Sequence[GateSample]) -> Decision:
        tests = examine_samples(changed[: len(gates)], None if worth is None else changed[-1], settings)
        return apply_version([tests, *others], settings, rates)[0].decision

    return could_be_turned(missing, gates if worth is None else (*gates, worth), decision, decide)


def _turned_by_failures(
    comparison: Comparison,
    samples: tuple[tuple[GateSample, ...], GateSample | None],
    watched: GateTest | None,
    decision: Decision,
    others: Sequence[CandidateTests],
    settings: EvidenceSettings,
    rates: ErrorRates,
) -> str | None:
    """Why the decision is not made although the counted runs show it: with excluded ones as failures it is another."""
    failed = count_as_failures(comparison)
    if failed is None:
        return None
    arms = failed.baseline_table, failed.candidate_table
    has_families = any(
        gate.families is not None for gate in (*samples[0], *([] if watched is None else [watched.sample]))
    )
    families = families_of_all_runs(*arms) if has_families else None

    def again(gate: GateSample) -> GateSample:
        return sample_again(gate, arms, None if gate.families is None else families, settings.value_usd)

    # Before the gates, so that what both take is not held at once.
    drops = _drops(failed, settings, rates)[1]
    gates, worth = samples
    tests = examine_samples([again(gate) for gate in gates], None if worth is None else again(worth), settings)
    finding = apply_version([tests, *others], settings, rates)[0]
    watched = None if watched is None else examine_sample(again(watched.sample), settings)
    turned = decision_of(finding, watched, drops, (), settings, rates)
    return None if turned is decision else turned_by_failures(decision, turned)


def _drops(
    comparison: Comparison, settings: EvidenceSettings, rates: ErrorRates
) -> tuple[CollapseTest | None, tuple[Regression, ...], Callable[[], tuple[str, ...]]]:
    tables = comparison.baseline_table, comparison.candidate_table
    if settings.version == 1:
        drops = task_drops(*tables, rates.task_alarm)
        return None, _unless_sequential(drops.supported, settings), lambda: drops.unsupported
    collapse = collapse_test(*tables)
    return collapse, _unless_sequential(_collapsed(collapse, rates), settings), lambda: collapse.lesser


def _unless_sequential(drops: tuple[Regression, ...], settings: EvidenceSettings) -> tuple[Regression, ...]:
    """Their error rate holds for planned looks; a sequential verdict may look at any time."""
    return () if settings.planned_tasks is not None else drops


def _collapsed(collapse: CollapseTest, rates: ErrorRates) -> tuple[Regression, ...]:
    if not collapse.is_alarm(rates.task_alarm):
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


def decision_of(
    finding: RuleFinding,
    watched: GateTest | None,
    drops: Sequence[Regression],
    unusable: Sequence[str],
    settings: EvidenceSettings,
    rates: ErrorRates,
) -> Decision:
    """Alarms come first: what is unknown may silence an improvement, and never a loss."""
    if settings.version == 1:
        if unusable:
            return Decision.INCONCLUSIVE
        worse = drops or (watched is not None and alarmed_gates_v1([watched], rates))
        return Decision.REGRESSED if worse else finding.decision
    if drops or (watched is not None and alarmed_gates([watched], rates)[0]):
        return Decision.REGRESSED
    if unusable:
        return finding.alarm or Decision.INCONCLUSIVE
    return finding.decision
