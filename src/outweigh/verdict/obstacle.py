"""The gate in the way of a decision: what keeps an inconclusive candidate from being called improved, in a sentence."""

from collections.abc import Sequence

from outweigh.verdict.decision import Gate, GateEvidence, GateState, Obstacle
from outweigh.verdict.evidence_settings import ERROR_RATES, WORTH, EffectScale


def find_obstacle(gates: Sequence[Gate], *, by_margin: bool = False) -> Obstacle | None:
    """The gate that is least shown to be good enough, from the gates of an inconclusive verdict that can be judged.

    An improvement needs quality within its margin and every resource below its tolerance. Where all of that is shown,
    no gain is, and the gate is named that is least shown to be the same. None without any tested gate. With `by_margin`
    resources must stay within their margins too, as in version 1 of the rule.
    """
    tested = {gate.name: gate.evidence for gate in gates if gate.evidence is not None and gate.name != WORTH}
    if unknown := next((gate for gate in gates if gate.state is GateState.UNKNOWN), None):
        return Obstacle(gate=unknown.name, detail=f"{unknown.name} is unknown: {unknown.detail}")
    if not tested:
        return None
    if any(gate.state is GateState.WORSE for gate in gates):
        return Obstacle(gate=WORTH, detail="worth is not shown to be a gain or a loss, so the trade-off is not settled")
    claim = "non_inferior" if by_margin else "tolerable"
    name, evidence = max(tested.items(), key=lambda item: _doubt(item[1], claim))
    if _doubt(evidence, claim) > ERROR_RATES.non_inferiority:
        return Obstacle(gate=name, detail=f"{name} {_what_it_may_be(evidence, by_margin=by_margin)}")
    name = max(tested, key=lambda each: _doubt(tested[each], "equivalent"))
    detail = f"no gain beyond chance is shown, and {name} is not shown to be the same within its margin"
    return Obstacle(gate=name, detail=detail)


def _doubt(evidence: GateEvidence, claim: str) -> float:
    p_value = evidence.p_values.get(claim)
    return 1.0 if p_value is None else p_value


def _what_it_may_be(evidence: GateEvidence, *, by_margin: bool) -> str:
    """How bad the gate may still be, and how bad it may be at most."""
    if evidence.scale == EffectScale.POINTS:
        worst, limit, unit = evidence.low, evidence.margin, "points worse"
    else:
        ends = [evidence.high, None if evidence.total is None else evidence.total.high]
        worst = max((end for end in ends if end is not None), default=None)
        limit = evidence.margin if by_margin or evidence.tolerance is None else evidence.tolerance
        unit = "% more"
    if worst is None:
        return f"has no interval; that it is less than {100 * limit:g} {unit} must be shown"
    return f"may be {100 * abs(worst):.0f} {unit}; that it is less than {100 * limit:g} {unit} must be shown"
