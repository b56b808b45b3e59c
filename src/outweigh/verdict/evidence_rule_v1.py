"""Version 1 of the evidence rule, by which experiments are decided that were run under it.

It looks at the typical run alone: non-inferior on every gate by its margin, and superior on one.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from outweigh.stats.hypothesis_tests import adjust_holm
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import RuleFinding
from outweigh.verdict.evidence_settings import ERROR_RATES, EffectScale, ErrorRates
from outweigh.verdict.gate_test import GateTest, weakest

ERROR_RATES_V1 = replace(ERROR_RATES, superiority=0.02)
"""Version 1 tests superiority on every gate, at 2 % for all of them together."""


def apply_rule_v1(
    candidates: Sequence[Sequence[GateTest]], rates: ErrorRates = ERROR_RATES_V1
) -> tuple[RuleFinding, ...]:
    """Decide about all candidates of one baseline together.

    Gains are corrected over all candidates, so that one of many does not win by luck. Alarms are corrected within
    each candidate only: testing others beside it must not hide a loss.
    """
    superior = _superior(candidates, rates.superiority)
    not_worse = adjust_holm([weakest([test.typical.non_inferior for test in tests]) for tests in candidates])
    return tuple(
        _finding(tests, superior[index], not_worse[index] <= rates.non_inferiority, rates)
        for index, tests in enumerate(candidates)
    )


def alarmed_gates_v1(tests: Sequence[GateTest], rates: ErrorRates = ERROR_RATES_V1) -> tuple[str, ...]:
    """The gates on which one candidate is shown to be worse."""
    passes = _rejected(tests, EffectScale.POINTS, rates.pass_rate_alarm)
    return (*passes, *_rejected(tests, EffectScale.RATIO, rates.resource_alarm))


def _finding(tests: Sequence[GateTest], superior: tuple[str, ...], not_worse: bool, rates: ErrorRates) -> RuleFinding:
    alarms = alarmed_gates_v1(tests, rates)
    return RuleFinding(
        decision=_decide(tests, bool(superior) and not_worse, alarms, rates),
        alarm=Decision.REGRESSED if alarms else None,
        tests=tuple(tests),
        superior=superior,
        alarms=alarms,
        superiority_p=None,
    )


def _decide(tests: Sequence[GateTest], improved: bool, alarms: tuple[str, ...], rates: ErrorRates) -> Decision:
    if any(test.typical.non_inferior is None for test in tests):
        return Decision.INCONCLUSIVE
    if alarms:
        return Decision.REGRESSED
    if improved:
        return Decision.IMPROVED
    same = weakest([test.typical.equivalent for test in tests])
    return Decision.NEUTRAL if same is not None and same <= rates.non_inferiority else Decision.INCONCLUSIVE


def _superior(candidates: Sequence[Sequence[GateTest]], alpha: float) -> list[tuple[str, ...]]:
    """The gates of each candidate whose gain survives Holm's correction over all gates of all candidates."""
    asked = [(index, test) for index, tests in enumerate(candidates) for test in tests]
    found: list[list[str]] = [[] for _ in candidates]
    adjusted = adjust_holm([test.typical.superior for _, test in asked]) if asked else ()
    for (index, test), p_value in zip(asked, adjusted, strict=True):
        if p_value <= alpha:
            found[index].append(test.sample.gated.name)
    return [tuple(names) for names in found]


def _rejected(tests: Sequence[GateTest], scale: EffectScale, alpha: float) -> tuple[str, ...]:
    asked = [test for test in tests if test.sample.gated.scale is scale]
    adjusted = adjust_holm([test.typical.alarm for test in asked]) if asked else ()
    return tuple(test.sample.gated.name for test, p in zip(asked, adjusted, strict=True) if p <= alpha)
