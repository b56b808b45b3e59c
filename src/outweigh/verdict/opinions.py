"""What every policy says about the same two arms."""

from dataclasses import dataclass, field

from outweigh.compare.comparison import Comparison
from outweigh.score.profile import OBJECTIVE_FIRST, Profile
from outweigh.verdict.by_composite import decide_by_composite
from outweigh.verdict.by_evidence import weigh
from outweigh.verdict.by_gates import decide_by_gates
from outweigh.verdict.evidence_settings import EvidenceSettings, evidence_settings
from outweigh.verdict.thresholds import Thresholds
from outweigh.verdict.verdict import Decision, GateState, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Every policy as it would decide here: with the gates, margins and weights that the verdict will have."""

    evidence: EvidenceSettings = field(default_factory=evidence_settings)
    thresholds: Thresholds = field(default_factory=Thresholds)
    profile: Profile = OBJECTIVE_FIRST


DEFAULT_RULES = Rules()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What a policy says about two arms, and what kept it from judging, if anything did."""

    decision: Decision
    obstacle: str | None


def opinions(comparison: Comparison, rules: Rules) -> dict[str, Opinion]:
    """What every policy says, by its name."""
    (weighed,) = weigh([comparison], rules.evidence)
    gates, composite = decide_by_gates(comparison), decide_by_composite(comparison, rules.thresholds)
    return {
        "evidence": Opinion(decision=weighed.decision, obstacle=next(iter(weighed.obstacles), None)),
        "gates": Opinion(decision=gates.decision, obstacle=_unknown_gate(gates)),
        # The composite policy is inconclusive only where a score is unknown or asserts nothing.
        "composite": Opinion(
            decision=composite.decision,
            obstacle=composite.reasons[0] if composite.decision is Decision.INCONCLUSIVE else None,
        ),
    }


def _unknown_gate(verdict: Verdict) -> str | None:
    return next((gate.detail for gate in verdict.gates if gate.state is GateState.UNKNOWN), None)
