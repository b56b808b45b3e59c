"""Pairwise judging of two arms of a store, in both orders. Only missing answers are requested."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from outweigh.app.judging_round import JudgeRequest, JudgingRound, open_round
from outweigh.app.observer import Notify, RunObserver
from outweigh.compare.preferences import Pairwise, compare_pairwise
from outweigh.engine.batch import EndReason
from outweigh.engine.judging.pairwise import PendingPairs, judge_pairs
from outweigh.errors import UsageError, quote_names
from outweigh.store.run_store import PreferenceLog, read_preferences


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmPair:
    """The two arms that are shown side by side."""

    baseline: str
    candidate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPairs:
    """How a round ended, what the judges prefer by now, and what is still missing."""

    stop: EndReason
    pairwise: Pairwise
    left_open: int
    set_aside: Mapping[str, str]

    @property
    def is_complete(self) -> bool:
        """Whether every pair has a usable answer in both orders."""
        judges = self.pairwise.judges
        return bool(judges) and not (self.left_open or self.set_aside or any(judge.incomplete for judge in judges))


def _choose_arm_pair(baseline: str | None, candidate: str | None, arms: Sequence[str]) -> ArmPair:
    """Both must be named, and be there: which is which is never guessed."""
    if baseline is None or candidate is None:
        raise UsageError("--pairwise compares two arms; name them by --baseline and --candidate.")
    if baseline == candidate:
        raise UsageError(f"baseline and candidate are both {baseline!r}; name two different arms.")
    for name in (baseline, candidate):
        if name not in arms:
            raise UsageError(f"there is no arm {name!r}; the store holds {quote_names(arms, 10)}.")
    return ArmPair(baseline=baseline, candidate=candidate)


def judge_store_pairs(
    request: JudgeRequest, baseline: str | None, candidate: str | None, observer: RunObserver
) -> JudgedPairs:
    """Request every missing answer, store it, and sum up what there is now."""
    with open_round(request, observer) as judging_round:
        arms = list(dict.fromkeys(arm for _, arm, _ in judging_round.store.finished()))
        return _judge_pair(judging_round, _choose_arm_pair(baseline, candidate, arms), observer.notify)


def _judge_pair(judging_round: JudgingRound, sides: ArmPair, notify: Notify) -> JudgedPairs:
    store, options = judging_round.store, judging_round.options
    with closing(PreferenceLog(store.folder)) as log:
        before = read_preferences(store.folder)
        for repair in log.repairs:
            notify(str(repair))
        arms = (sides.baseline, sides.candidate)
        pending = PendingPairs.of(store.finished(), arms, judging_round.askable, judging_round.task_material())
        result = judge_pairs(
            pending.open_calls(before, retry_invalid=options.retry_invalid),
            store=log.append,
            context=judging_round.context(),
            budget=judging_round.budget(),
            jobs=options.jobs,
            listen=options.listen,
        )
    answers = pending.answers(read_preferences(store.folder))
    return JudgedPairs(
        stop=result.stop,
        pairwise=compare_pairwise(answers, sides.baseline, sides.candidate),
        left_open=result.left_open,
        set_aside={**judging_round.available.missing, **result.set_aside},
    )
