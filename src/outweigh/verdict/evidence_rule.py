"""The rule of the evidence policy on gate tests alone: alarms first, then two ways to an improvement, then sameness.

The first way is a gain in quality by itself, with every resource below its tolerance. The second is a gain of all gates
together (O'Brien's sum of standardised task deltas), with quality not worse and no total much dearer.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from outweigh.compare.arm_table import Column
from outweigh.stats.hypothesis_tests import adjust_holm
from outweigh.stats.sample import has_no_spread
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import ERROR_RATES, EffectScale, ErrorRates, GateRole
from outweigh.verdict.gate_sample import GateSample, p_values_of
from outweigh.verdict.gate_test import GateTest, examine_gate, weakest

ALL_GATES = "all gates together"
"""What improved where no gate is better by itself and their sum is."""


class RuleFinding(Struct, frozen=True, kw_only=True, eq=False):
    """What the rule says about one candidate, before anything outside the deltas is looked at.

    `alarm` is the decision that alarms lead to, whatever else is unknown; None without one. `decision` holds where the
    evidence is usable. `superiority_p` is the p-value of the gain that an improvement rests on.
    """

    decision: Decision
    alarm: Decision | None
    tests: tuple[GateTest, ...]
    superior: tuple[str, ...]
    alarms: tuple[str, ...]
    superiority_p: float | None


class CandidateTests(Struct, frozen=True, kw_only=True, eq=False):
    """Everything that is tested about one candidate. `gain` is the p-value of the sum of all gates.

    `worth` is the test of what the candidate is worth, where a solved task has a value.
    """

    gates: tuple[GateTest, ...]
    gain: float | None
    worth: GateTest | None = None

    def of(self, role: GateRole) -> tuple[GateTest, ...]:
        """The gates of one role."""
        return tuple(test for test in self.gates if test.sample.gated.role is role)


def examine_candidate(
    gates: Sequence[GateSample],
    worth: GateSample | None = None,
    *,
    fixed_suite: bool = False,
    planned_tasks: int | None = None,
) -> CandidateTests:
    """Test every gate of a candidate, and all of them together."""
    return CandidateTests(
        gates=tuple(examine_gate(gate, fixed_suite=fixed_suite, planned_tasks=planned_tasks) for gate in gates),
        gain=gain_of_all_gates(gates, fixed_suite=fixed_suite, planned_tasks=planned_tasks),
        worth=None if worth is None else examine_gate(worth, fixed_suite=fixed_suite, planned_tasks=planned_tasks),
    )


def gain_of_all_gates(
    samples: Sequence[GateSample], *, fixed_suite: bool = False, planned_tasks: int | None = None
) -> float | None:
    """One-sided p-value of O'Brien's sum: each gate's deltas over their deviation, added up task by task.

    None where a gate is unknown. Gates on which nothing differs add nothing.
    """
    if any(sample.unknown is not None or len(sample.benefits) < 2 for sample in samples):
        return None
    varying = [sample for sample in samples if not has_no_spread(sample.benefits, 1.0)]
    if not varying:
        return None
    if fixed_suite:
        # The noise of runs is known gate by gate and not jointly, so gates are tested each and corrected.
        p_values = [p_values_of(sample, fixed_suite=True, planned_tasks=None).above(0.0) for sample in varying]
        return float(adjust_holm(p_values).min())
    return p_values_of(_sum_of_gates(varying), fixed_suite=False, planned_tasks=planned_tasks).above(0.0)


def _sum_of_gates(samples: Sequence[GateSample]) -> GateSample:
    """The sum as a sample of its own, over the tasks that every gate knows."""
    tasks, columns = _shared_tasks(samples)
    totals = np.zeros(len(tasks))
    for sample, values in zip(samples, columns, strict=True):
        totals += values / float(sample.benefits.std(ddof=1))
    return replace(
        samples[0],
        # A sum is no rate: it is tested by t alone.
        gated=replace(samples[0].gated, scale=EffectScale.RATIO),
        tasks=tasks,
        benefits=totals,
        families=_families_of(samples[0], tasks),
        noise=None,
        total=None,
    )


def _shared_tasks(samples: Sequence[GateSample]) -> tuple[tuple[str, ...], list[Column]]:
    """The tasks that every gate knows, and each gate's benefits on them."""
    first = samples[0].tasks
    if all(sample.tasks is first or sample.tasks == first for sample in samples):
        return first, [sample.benefits for sample in samples]
    others = [set(sample.tasks) for sample in samples[1:]]
    tasks = tuple(task for task in first if all(task in known for known in others))
    places = [{task: place for place, task in enumerate(sample.tasks)} for sample in samples]
    return tasks, [
        sample.benefits[[place[task] for task in tasks]] for sample, place in zip(samples, places, strict=True)
    ]


def _families_of(sample: GateSample, tasks: tuple[str, ...]) -> tuple[str, ...] | None:
    if sample.families is None or tasks is sample.tasks:
        return sample.families
    labels = dict(zip(sample.tasks, sample.families, strict=True))
    return tuple(labels[task] for task in tasks)


def apply_rule(candidates: Sequence[CandidateTests], rates: ErrorRates = ERROR_RATES) -> tuple[RuleFinding, ...]:
    """Decide about all candidates of one baseline together.

    Gains are corrected over all candidates, so that one of many does not win by luck. Alarms are corrected within
    each candidate only: testing others beside it must not hide a loss.
    """
    ways = [_ways_to_improve(tests) for tests in candidates]
    by_quality, by_sum = (_holm_over_candidates([way[place] for way in ways]) for place in range(2))
    return tuple(_finding(tests, by_quality[index], by_sum[index], rates) for index, tests in enumerate(candidates))


class _Way(Struct, frozen=True, kw_only=True):
    """One way to an improvement: p-values of the gain, and of the conditions that must hold beside it."""

    gain: float | None
    conditions: float | None

    def is_shown(self, rates: ErrorRates) -> bool:
        return _at_most(self.gain, rates.superiority) and _at_most(self.conditions, rates.non_inferiority)


def _ways_to_improve(tests: CandidateTests) -> tuple[_Way, _Way]:
    quality, resources = tests.of(GateRole.QUALITY), tests.of(GateRole.RESOURCE)
    if not tests.gates:
        return _Way(gain=None, conditions=None), _Way(gain=None, conditions=None)
    known = not any(test.unknown for test in tests.gates)
    others_hold = [test.non_inferior for test in quality]
    by_quality = _Way(
        gain=_quality_gain(quality),
        # With one quality gate its own superiority implies this; with two the other must not be worse.
        conditions=_all_of([*others_hold, *(test.tolerable for test in resources)]),
    )
    by_sum = _Way(
        gain=tests.gain if known else None,
        conditions=_all_of([*others_hold, *(test.tolerable_saving for test in resources)]),
    )
    return by_quality, by_sum


def _quality_gain(quality: Sequence[GateTest]) -> float | None:
    return float(adjust_holm([test.superior for test in quality]).min()) if quality else None


def _all_of(p_values: list[float | None]) -> float | None:
    """The p-value of all claims together; certain where there is no claim to show."""
    return weakest(p_values) if p_values else 0.0


def _holm_over_candidates(ways: Sequence[_Way]) -> list[_Way]:
    gains, conditions = (adjust_holm([getattr(way, name) for way in ways]) for name in ("gain", "conditions"))
    return [
        _Way(
            gain=None if way.gain is None else float(gain),
            conditions=None if way.conditions is None else float(condition),
        )
        for way, gain, condition in zip(ways, gains, conditions, strict=True)
    ]


def _at_most(p_value: float | None, alpha: float) -> bool:
    return p_value is not None and p_value <= alpha


def _finding(tests: CandidateTests, by_quality: _Way, by_sum: _Way, rates: ErrorRates) -> RuleFinding:
    quality_alarms, resource_alarms = alarmed_gates(tests.gates, rates)
    superior = _superior_gates(tests, rates) if _at_most(by_quality.gain, rates.superiority) else ()
    alarm = None
    if quality_alarms:
        alarm = Decision.REGRESSED
    elif resource_alarms:
        alarm = Decision.TRADE_OFF if superior else Decision.REGRESSED
    shown = [way for way in (by_quality, by_sum) if way.is_shown(rates)]
    decision = _decide(tests, alarm, improved=bool(shown), rates=rates)
    p_value = None
    if decision is Decision.IMPROVED:
        p_value = _superiority_p(shown or [by_quality], tests.worth if alarm else None)
    return RuleFinding(
        decision=decision,
        alarm=alarm,
        tests=tests.gates,
        superior=superior or ((ALL_GATES,) if by_sum in shown else ()),
        alarms=(*quality_alarms, *resource_alarms),
        superiority_p=p_value,
    )


def _decide(tests: CandidateTests, alarm: Decision | None, *, improved: bool, rates: ErrorRates) -> Decision:
    if alarm is Decision.TRADE_OFF and tests.worth is not None:
        return _settle(tests.worth, rates)
    if alarm is not None:
        return alarm
    if not tests.gates or any(test.unknown for test in tests.gates):
        return Decision.INCONCLUSIVE
    if improved:
        return Decision.IMPROVED
    same = weakest([test.equivalent for test in tests.gates])
    return Decision.NEUTRAL if _at_most(same, rates.non_inferiority) else Decision.INCONCLUSIVE


def _settle(worth: GateTest, rates: ErrorRates) -> Decision:
    """What a trade-off comes to where a solved task has a value."""
    if _at_most(worth.superior, rates.superiority):
        return Decision.IMPROVED
    return Decision.REGRESSED if _at_most(worth.typical.alarm, rates.pass_rate_alarm) else Decision.INCONCLUSIVE


def _superiority_p(ways: Sequence[_Way], worth: GateTest | None) -> float | None:
    """The p-value of the gain, for both ways together; a settled trade-off needs its worth shown too."""
    gains = [weakest([way.gain] if worth is None else [way.gain, worth.superior]) for way in ways]
    known = [gain for gain in gains if gain is not None]
    return min(1.0, 2 * min(known)) if known else None


def _superior_gates(tests: CandidateTests, rates: ErrorRates) -> tuple[str, ...]:
    quality = tests.of(GateRole.QUALITY)
    adjusted = adjust_holm([test.superior for test in quality])
    return tuple(test.sample.gated.name for test, p in zip(quality, adjusted, strict=True) if p <= rates.superiority)


def alarmed_gates(
    tests: Sequence[GateTest], rates: ErrorRates = ERROR_RATES
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The gates on which one candidate is shown to be worse: of quality, and of resources by either ratio."""
    return (
        _rejected(tests, GateRole.QUALITY, rates.pass_rate_alarm),
        _rejected(tests, GateRole.RESOURCE, rates.resource_alarm),
    )


def alarm_p_value(tests: Sequence[GateTest], collapse: float | None, rates: ErrorRates = ERROR_RATES) -> float:
    """One p-value of all alarms about one candidate: that some alarm is raised this clearly if nothing got worse.

    Each kind of alarm has its share of the p-value as it has its share of the error rates, so that it is at most the
    sum of the rates where an alarm is raised, and only there. `collapse` is the p-value of collapsed tasks.
    """
    by_role = {
        role: [p for test in tests if test.sample.gated.role is role for p in test.alarms]
        for role in (GateRole.QUALITY, GateRole.RESOURCE)
    }
    quality, resource = (float(adjust_holm(found).min()) if found else 1.0 for found in by_role.values())
    shares = (
        (quality, rates.pass_rate_alarm),
        (resource, rates.resource_alarm),
        (1.0 if collapse is None else collapse, rates.task_alarm),
    )
    whole = sum(rate for _, rate in shares)
    return min(1.0, *(p * whole / rate for p, rate in shares))


def _rejected(tests: Sequence[GateTest], role: GateRole, alpha: float) -> tuple[str, ...]:
    asked = [(test, p_value) for test in tests if test.sample.gated.role is role for p_value in test.alarms]
    adjusted = adjust_holm([p_value for _, p_value in asked]) if asked else ()
    names = [test.sample.gated.name for (test, _), p in zip(asked, adjusted, strict=True) if p <= alpha]
    return tuple(dict.fromkeys(names))
