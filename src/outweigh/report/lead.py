"""The verdict in one sentence, for somebody with ten seconds."""

from outweigh.compare.comparison import Comparison
from outweigh.verdict.verdict import Decision, Verdict


def verdict_sentence(verdict: Verdict, comparison: Comparison, *, allowed: bool) -> str:
    """What came out and what it means for shipping, with the first reason."""
    candidate, baseline = comparison.candidate.name, comparison.baseline.name
    reason = f": {verdict.reasons[0].rstrip('.')}" if verdict.reasons else ""
    match verdict.decision:
        case Decision.IMPROVED:
            return f"{candidate} is better than {baseline}{reason}. {_promotion(verdict, allowed=allowed)}"
        case Decision.REGRESSED:
            return f"{candidate} is worse than {baseline}{reason}. It must not be promoted."
        case Decision.NEUTRAL:
            return f"{candidate} makes no difference that matters to {baseline}{reason}. There is nothing to promote."
        case Decision.INCONCLUSIVE:
            need = "" if verdict.needs is None else f" To decide, you would need {verdict.needs.detail}."
            return f"Nobody can tell yet whether {candidate} is better or worse than {baseline}{reason}.{need}"


def _promotion(verdict: Verdict, *, allowed: bool) -> str:
    if allowed:
        return "It may be promoted."
    why = f": {verdict.blockers[0]}" if verdict.blockers else "."
    return f"Even so it may not be promoted{why}"
