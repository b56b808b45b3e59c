"""Whether a verdict allows a promotion or a deletion, and whether it is still valid: what was tested is what would be
proposed, to the byte.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from outweigh.errors import quote_names
from outweigh.model.run_record import AgentKind
from outweigh.verdict.decision import Decision, Verdict


def may_promote(verdict: Verdict, evidence_sha256: str) -> bool:
    """Only where the candidate improved, nothing regressed or blocks it, and the evidence is unchanged."""
    improved = verdict.decision is Decision.IMPROVED
    unblocked = not verdict.regressions and not verdict.blockers
    return improved and unblocked and verdict.evidence_sha256 == evidence_sha256


def may_drop(verdict: Verdict, evidence_sha256: str) -> bool:
    """Only where the arm without the parts is shown to be the same or better, by the same conditions."""
    same_or_better = verdict.decision in (Decision.NEUTRAL, Decision.IMPROVED)
    unblocked = not verdict.regressions and not verdict.blockers
    return same_or_better and unblocked and verdict.evidence_sha256 == evidence_sha256


SHOWN = 5


class PromotionArm(Struct, frozen=True, kw_only=True):
    """What the store says an arm is, and what its runs say; `lost` is what they name and the store does not have."""

    name: str
    fingerprint: str
    run_fingerprints: frozenset[str | None]
    agent_kinds: frozenset[AgentKind]
    lost: tuple[str, ...]


class PromotionState(Struct, frozen=True, kw_only=True):
    """Everything a promotion rests on, as it is now.

    `shown_sha256` is the hash of the evidence that somebody looked at, where they say so. `besides_files` are the
    differences between the arms that no file carries, `moved_candidate` and `moved_base` the files that are no longer
    as they were tested, `never_run` the tasks of the suite that an arm has no run of.
    """

    verdict: Verdict
    evidence_sha256: str
    shown_sha256: str | None
    arms: tuple[PromotionArm, PromotionArm]
    never_run: tuple[str, ...]
    changed_files: int
    besides_files: tuple[str, ...]
    moved_candidate: tuple[str, ...]
    moved_base: tuple[str, ...]


def verdict_refusals(verdict: Verdict, evidence_sha256: str) -> tuple[str, ...]:
    """Why the verdict alone allows nothing; empty where it does."""
    if may_promote(verdict, evidence_sha256):
        return ()
    decided = verdict.decision is Decision.IMPROVED
    first = () if decided else (f"the candidate is {verdict.decision.words}, not improved.",)
    return (*first, *_blocked(verdict, evidence_sha256))


def drop_refusals(verdict: Verdict, evidence_sha256: str) -> tuple[str, ...]:
    """Why the verdict about an arm without some parts allows no deletion; empty where it does."""
    if may_drop(verdict, evidence_sha256):
        return ()
    decided = verdict.decision in (Decision.NEUTRAL, Decision.IMPROVED)
    first = () if decided else (f"the arm without them is {verdict.decision.words}, not neutral or improved.",)
    return (*first, *_blocked(verdict, evidence_sha256))


def _blocked(verdict: Verdict, evidence_sha256: str) -> Iterator[str]:
    yield from (f"{item.kind.value} on task {item.task_id!r}: {item.detail}" for item in verdict.regressions)
    yield from verdict.blockers
    if verdict.evidence_sha256 != evidence_sha256:
        yield "the records have changed since the verdict. Decide again."


def promotion_refusals(state: PromotionState) -> tuple[str, ...]:
    """Every reason not to promote, each with its remedy; empty where the candidate may be promoted."""
    verdict = verdict_refusals(state.verdict, state.evidence_sha256)
    return (*verdict, *_evidence(state), *_files(state))


def _evidence(state: PromotionState) -> Iterator[str]:
    if state.shown_sha256 not in (None, state.evidence_sha256, state.verdict.evidence_sha256_v1):
        yield "the records are not those of the verdict that --evidence names. Decide again."
    yield from arm_refusals(state.arms, state.never_run)


def arm_refusals(arms: Sequence[PromotionArm], never_run: Sequence[str]) -> Iterator[str]:
    """What is wrong with the runs of arms whose files are to be proposed."""
    for arm in arms:
        if arm.run_fingerprints != {arm.fingerprint}:
            yield f"runs of {arm.name} were made with another configuration than the one in the store. Run it again."
        if unreal := sorted(kind.value for kind in arm.agent_kinds - {AgentKind.REAL}):
            kinds = " and ".join(unreal)
            yield f"runs of {arm.name} come from {kinds} agents. Only runs of real agents can be promoted."
        if not arm.agent_kinds:
            yield f"{arm.name} has no runs."
        if arm.lost:
            yield f"artifacts of runs of {arm.name} are missing or damaged ({quote_names(arm.lost, SHOWN)})."
    if never_run:
        yield f"task {quote_names(never_run, SHOWN)} has not been run by both arms. Run the suite to its end."


def _files(state: PromotionState) -> Iterator[str]:
    if state.besides_files:
        yield (
            f"the arms differ in more than files: {quote_names(state.besides_files, SHOWN)}. A pull request would "
            "contain only a part of what was tested."
        )
    if not state.changed_files:
        yield "the candidate changes no file, so a pull request would be empty."
    if state.moved_candidate:
        yield (
            f"the candidate is no longer what was tested: {quote_names(state.moved_candidate, SHOWN)}. "
            "Test it again, or go back to the tested commit."
        )
    if state.moved_base:
        yield (
            f"the base is no longer what was tested against: {quote_names(state.moved_base, SHOWN)}. Bring the "
            "candidate up to date and test it again."
        )
