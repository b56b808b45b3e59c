"""Hold verdicts to the runs that a quarantine sets aside: what was dropped after it was run must not make the gain."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.compare.evidence import Evidence, SetAsideTask
from outweigh.errors import EvidenceError, quote_names
from outweigh.verdict.decision import Decision, Verdict

SHOWN_TASKS = 5

DecideAgain = Callable[[Evidence], Sequence[Verdict]]
"""Decides about the same candidates from other evidence."""


def hold_to_all_runs(
    verdicts: Sequence[Verdict],
    evidence: Evidence,
    request: EvidenceRequest,
    decide_again: DecideAgain,
    allowed: frozenset[Decision] = frozenset({Decision.IMPROVED}),
) -> tuple[Verdict, ...]:
    """The same verdicts, with a blocker where an improvement is one only without tasks that were run and set aside.

    `allowed` are the decisions that allow what is asked about: improved for a promotion.

    Who knows the results can choose the tasks; so a quarantine of tasks that have runs may cost a promotion, and never
    brings one. A task that was set aside before it was run changes nothing here.
    """
    run = [each for each in evidence.quarantine if each.runs]
    if not run or all(verdict.decision not in allowed for verdict in verdicts):
        return tuple(verdicts)
    try:
        others = [verdict.decision for verdict in decide_again(read_evidence(replace(request, with_quarantined=True)))]
    except EvidenceError:  # runs that cannot be compared, such as those of a task that changed in between
        others = [Decision.INCONCLUSIVE] * len(verdicts)
    return tuple(_hold(verdict, other, run, allowed) for verdict, other in zip(verdicts, others, strict=True))


def _hold(verdict: Verdict, with_all: Decision, run: Sequence[SetAsideTask], allowed: frozenset[Decision]) -> Verdict:
    if verdict.decision not in allowed or with_all in allowed:
        return verdict
    names = quote_names([each.task for each in run], SHOWN_TASKS)
    reason = (
        f"with the tasks that were set aside after they had been run ({names}), "
        f"the candidate is {with_all.words}. Run the suite into a new store, where they are set aside from the start."
    )
    return replace(verdict, blockers=(*verdict.blockers, reason))
