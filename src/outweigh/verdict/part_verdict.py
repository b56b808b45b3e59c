"""What the verdicts about paired arms say about parts: keep, drop, hurts, or not known yet.

A part is judged by two arms that differ in it alone. All parts of a store are one family: with no effect anywhere, the
chance that some part is called helpful or harmful is at most 5 %. Of that, 2 % are the rule's own for improvements,
which it corrects over all candidates; regressions, which it does not correct, are corrected here by Holm.
"""

from collections.abc import Sequence
from enum import StrEnum
from math import ceil

from msgspec import Struct

from outweigh.stats.distributions import normal_quantile
from outweigh.stats.hypothesis_tests import adjust_holm
from outweigh.verdict.decision import Decision, RequiredSample, Verdict
from outweigh.verdict.promotion import may_drop

FAMILY_ALARM = 0.03
"""How often some part may be called worse in an arm than it is, over all parts together."""
POWER = 0.8


class PartDecision(StrEnum):
    """What to do about a part. *drop* is shown to make no meaningful difference; *not_known* is lack of evidence."""

    KEEP = "keep"
    DROP = "drop"
    HURTS = "hurts"
    NOT_KNOWN = "not_known"

    @property
    def words(self) -> str:
        """As people read it; the value is what the JSON has."""
        return "not known yet" if self is PartDecision.NOT_KNOWN else self.value


class PairedArms(Struct, frozen=True, kw_only=True):
    """A part with the verdict about the arm that differs from the baseline in this part alone.

    `added` says that the candidate has the part and the baseline does not; otherwise it is left out of the candidate.
    """

    part: str
    candidate: str
    added: bool
    verdict: Verdict
    evidence_sha256: str
    tasks: int
    repeats: int


class Need(Struct, frozen=True, kw_only=True):
    """What it would probably take to decide: so many tasks at so many repeats, or as many tasks at more repeats."""

    tasks: int | None
    repeats: int
    repeats_instead: int | None
    cost_usd: float | None


class PartVerdict(Struct, frozen=True, kw_only=True):
    """The answer about one part; without a candidate and a verdict where no pair of arms was run.

    `blockers` are why an arm without it alone could not be proposed yet. `family_p` is the p-value of a loss, corrected
    over all parts; None where nothing was lost.
    """

    part: str
    decision: PartDecision
    reason: str
    candidate: str | None = None
    added: bool = False
    need: Need | None = None
    may_drop: bool = False
    blockers: tuple[str, ...] = ()
    family_p: float | None = None
    verdict: Verdict | None = None


def unjudged_part(part: str, reason: str) -> PartVerdict:
    """A part that no pair of arms has been run for."""
    return PartVerdict(part=part, decision=PartDecision.NOT_KNOWN, reason=reason)


_LEFT_OUT = {
    Decision.REGRESSED: PartDecision.KEEP,
    Decision.NEUTRAL: PartDecision.DROP,
    Decision.IMPROVED: PartDecision.HURTS,
}
_ADDED = {
    Decision.REGRESSED: PartDecision.HURTS,
    Decision.NEUTRAL: PartDecision.DROP,
    Decision.IMPROVED: PartDecision.KEEP,
}


def judge_parts(pairs: Sequence[PairedArms]) -> tuple[PartVerdict, ...]:
    """The answer about every part, all of them as one family."""
    lost = [pair.verdict.alarm_p if pair.verdict.decision is Decision.REGRESSED else None for pair in pairs]
    family = adjust_holm(lost) if pairs else ()
    return tuple(
        _judge(pair, None if p is None else float(adjusted), len(pairs))
        for pair, p, adjusted in zip(pairs, lost, family, strict=True)
    )


def _judge(pair: PairedArms, family_p: float | None, parts: int) -> PartVerdict:
    verdict = pair.verdict
    decision = (_ADDED if pair.added else _LEFT_OUT).get(verdict.decision, PartDecision.NOT_KNOWN)
    if verdict.decision is Decision.REGRESSED and (family_p is None or family_p > FAMILY_ALARM):
        decision = PartDecision.NOT_KNOWN
    # An arm that adds a part says nothing about an arm without it beside all others.
    allowed = not pair.added and may_drop(verdict, pair.evidence_sha256)
    return PartVerdict(
        part=pair.part,
        decision=decision,
        candidate=pair.candidate,
        added=pair.added,
        reason=_reason(pair, decision, family_p, parts),
        need=_need(pair, parts) if decision is PartDecision.NOT_KNOWN else None,
        may_drop=allowed,
        blockers=(*(item.detail for item in verdict.regressions), *verdict.blockers),
        family_p=family_p,
        verdict=verdict,
    )


def _reason(pair: PairedArms, decision: PartDecision, family_p: float | None, parts: int) -> str:
    what = "adding it" if pair.added else "leaving it out"
    match pair.verdict.decision:
        case Decision.REGRESSED if decision is PartDecision.NOT_KNOWN:
            chance = "unknown" if family_p is None else f"{100 * family_p:.2g} %"
            among = "of one part" if parts == 1 else f"among {parts} parts"
            return (
                f"{what} looks worse, and the chance of such a loss {among} that do nothing is {chance}; "
                f"at most {100 * FAMILY_ALARM:g} % is asked for"
            )
        case Decision.TRADE_OFF:
            return f"{what} is a trade-off: better on quality, and more expensive. Say what a solved task is worth"
        case Decision.INCONCLUSIVE:
            return next(iter(pair.verdict.reasons), "the evidence does not decide")
        case Decision.NEUTRAL:
            return f"{what} is shown to make no difference beyond the margins"
        case _:
            why = next(iter(pair.verdict.reasons), "")
            return f"{what} {pair.verdict.decision.words}{f': {why}' if why else ''}"


def _need(pair: PairedArms, parts: int) -> Need | None:
    """By the planning code where the rule asked for it; for a loss that is not yet clear enough, by its t."""
    if pair.verdict.needs is not None:
        return _planned(pair, pair.verdict.needs)
    p_value = pair.verdict.alarm_p
    if pair.verdict.decision is not Decision.REGRESSED or p_value is None or not 0 < p_value < 0.5:
        return None
    reach = -normal_quantile(FAMILY_ALARM / parts) + normal_quantile(POWER)
    tasks = ceil(pair.tasks * (reach / -normal_quantile(p_value)) ** 2)
    return Need(tasks=max(tasks, pair.tasks + 1), repeats=pair.repeats, repeats_instead=None, cost_usd=None)


def _planned(pair: PairedArms, needs: RequiredSample) -> Need | None:
    if needs.more_tasks is None and needs.more_repeats is None:
        return None
    return Need(
        tasks=None if needs.more_tasks is None else pair.tasks + needs.more_tasks,
        repeats=pair.repeats,
        repeats_instead=None if needs.more_repeats is None else pair.repeats + needs.more_repeats,
        cost_usd=needs.cost_usd,
    )
