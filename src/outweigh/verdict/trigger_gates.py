"""A verdict about tasks that is held to trigger cases: these can only take an improvement back, never make one.

So the chance that a change without effect is called improved does not grow.
"""

from msgspec.structs import replace

from outweigh.verdict.decision import Decision, GateState, Verdict
from outweigh.verdict.evidence_settings import gate_title

HELD = (Decision.IMPROVED, Decision.NEUTRAL, Decision.TRADE_OFF)
"""Decisions that need every trigger gate to hold."""


def hold_to_triggers(main: Verdict, cases: Verdict) -> Verdict:
    """The verdict with the gates of trigger cases: worse ones make it regressed, unproven ones inconclusive."""
    unproven = [gate for gate in cases.gates if gate.state is not GateState.HOLDS]
    worse = cases.decision is Decision.REGRESSED
    decision = main.decision
    if worse:
        decision = Decision.REGRESSED
    elif main.decision in HELD and unproven:
        decision = Decision.INCONCLUSIVE
    doubts = tuple(f"{gate_title(gate.name)} is not shown to hold: {gate.detail}" for gate in unproven)
    changed = decision is not main.decision
    return replace(
        main,
        decision=decision,
        seed_wording=decision.value,
        gates=(*main.gates, *cases.gates),
        reasons=(*doubts, *main.reasons) if unproven else (*main.reasons, *_summary(cases)),
        regressions=(*main.regressions, *cases.regressions),
        blockers=(*main.blockers, *doubts),
        settings={**main.settings, "trigger_cases": cases.settings},
        superiority_p=None if changed else main.superiority_p,
        alarm_p=cases.alarm_p if worse and main.decision is not Decision.REGRESSED else main.alarm_p,
        needs=None if changed else main.needs,
        in_the_way=None if changed else main.in_the_way,
    )


def _summary(cases: Verdict) -> tuple[str, ...]:
    return tuple(f"{gate_title(gate.name)} holds over trigger cases: {gate.detail}" for gate in cases.gates)
