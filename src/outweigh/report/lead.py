"""The verdict in one sentence, for somebody with ten seconds."""

from collections.abc import Sequence

from outweigh.compare.comparison import Comparison
from outweigh.verdict.verdict import Decision, Verdict

SHOWN = 6


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


def several_sentence(decided: Sequence[tuple[str, Decision]], allowed: Sequence[str]) -> str:
    """All candidates at once: who came out how, and who may be promoted."""
    parts = []
    for decision in Decision:
        names = [name for name, found in decided if found is decision]
        if names:
            parts.append(f"{decision.value}: {_named(names)}")
    promotion = f"{_named(allowed)} may be promoted" if allowed else "none may be promoted"
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}. {promotion[0].upper()}{promotion[1:]}."


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _promotion(verdict: Verdict, *, allowed: bool) -> str:
    if allowed:
        return "It may be promoted."
    why = f": {verdict.blockers[0]}" if verdict.blockers else "."
    return f"Even so it may not be promoted{why}"
