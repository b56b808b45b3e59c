"""The one condition under which anything is promoted."""

from outweigh.verdict.verdict import Decision, Verdict


def may_promote(verdict: Verdict, evidence_sha256: str) -> bool:
    """Fail closed: improved, nothing regressed, nothing in the way, and the evidence is still the same."""
    improved = verdict.decision is Decision.IMPROVED
    unblocked = not verdict.regressions and not verdict.blockers
    return improved and unblocked and verdict.evidence_sha256 == evidence_sha256
