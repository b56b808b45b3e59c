"""Judge the runs of a store, one by one or two arms side by side: request what is missing, and sum up the answers.

As the last part of a run it starts when all trials have ended, so that no trial waits for a judge.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from outweigh.app.judging_round import (
    JudgeRequest,
    JudgingRound,
    RoundOptions,
    find_judges,
    judging_file_of,
    open_round,
    store_judging,
)
from outweigh.app.observer import Notify, RunObserver, StopSignals
from outweigh.compare.preferences import Pairwise, compare_pairwise
from outweigh.engine.batch import EndReason
from outweigh.engine.judging.pairwise import PendingPairs, judge_pairs
from outweigh.engine.judging.pointwise import (
    AnswerHistory,
    JudgmentsByRun,
    PendingCalls,
    judge_runs,
    judging_costs,
)
from outweigh.engine.judging.pool import PoolResult
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError, quote_names
from outweigh.prices import price_tables
from outweigh.report.judge_page import JudgeTotals, JudgingTotals
from outweigh.score.judge_scores import wants_another_pass
from outweigh.store.run_store import FolderRunStore, PreferenceLog, read_preferences


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How a round ended, and what every judge has said by now."""

    stop: EndReason
    totals: JudgingTotals

    @property
    def is_complete(self) -> bool:
        """Whether every judge has a usable answer about every run."""
        accounts = self.totals.accounts
        invalid = any(judgment.invalid_reason for account in accounts for judgment in account.judgments)
        return not (invalid or self.totals.open or any(account.set_aside for account in accounts))


def judge_store(request: JudgeRequest, observer: RunObserver) -> Judged:
    """Judge what has no judgment yet in a store."""
    with open_round(request, observer) as judging_round:
        return judge_round(judging_round)


def judge_round(judging_round: JudgingRound) -> Judged:
    """Request every missing judgment, store every answer, and sum up what there is now."""
    store, options = judging_round.store, judging_round.options
    pending = PendingCalls(
        judges=judging_round.askable,
        tasks=judging_round.task_material(),
        wants_another=wants_another_pass,
        retry_invalid=options.retry_invalid,
    )
    before = store.judgments()
    result = judge_runs(
        pending,
        store=store,
        context=judging_round.context(),
        budget=judging_round.budget(),
        jobs=options.jobs,
        listen=options.listen,
    )
    return Judged(stop=result.stop, totals=_sum_up(result, pending, judging_round, before))


def _sum_up(
    result: PoolResult, pending: PendingCalls, judging_round: JudgingRound, before: JudgmentsByRun
) -> JudgingTotals:
    after = judging_round.store.judgments()
    answers = pending.answers(judging_round.store.finished(), after)
    set_aside = {**judging_round.available.missing, **result.set_aside}
    return JudgingTotals(
        accounts=[
            JudgeTotals(
                judge=judge,
                judgments=said.current,
                replaced=said.replaced,
                set_aside=set_aside.get(judge.name),
            )
            for judge in judging_round.judges
            for said in [answers.get(judge.name, AnswerHistory([], []))]
        ],
        stop=result.stop.value,
        asked=sum(map(len, after.values())) - sum(map(len, before.values())),
        open=result.left_open,
    )


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


STOPS_BEFORE_JUDGING = (EndReason.DONE, EndReason.DECIDED, EndReason.INCOMPLETE)
"""Ends of a run after which judges are asked; a run that was interrupted or is out of money asks nobody."""


def prepare_judges(folder: Path, suite: LoadedSuite, notify: Notify) -> None:
    """Keep what judges will be told, and say before the first run who cannot be asked."""
    if not suite.spec.judges:
        return
    store_judging(folder, suite, notify)
    for complaint in find_judges(suite.spec.judges).missing.values():
        notify(f"{complaint} Until then its scores are left out, on all sides.")


def judge_spending(store: FolderRunStore) -> float:
    """Dollars of all judgments whose cost is known."""
    judgments = (judgment for given in store.judgments().values() for judgment in given)
    return sum(cost or 0.0 for costs in judging_costs(judgments).values() for cost in costs)


def judge_after_run(
    suite: LoadedSuite, store: FolderRunStore, *, jobs: int, budget_usd: float | None, observer: RunObserver
) -> EndReason:
    """Judge what has no judgment yet, within what the runs have left of the budget. A run stands without it."""
    judges, signals = suite.spec.judges, StopSignals()
    with observer.watch_judging(signals) as listen:
        options = RoundOptions(
            jobs=jobs,
            budget_usd=budget_usd,
            retry_invalid=False,
            prices=price_tables(None),
            signals=signals,
            listen=listen,
        )
        judged = judge_round(
            JudgingRound(
                store=store,
                judging=judging_file_of(suite),
                judges=judges,
                available=find_judges(judges),
                options=options,
            )
        )
    observer.judging_ended(judged.totals)
    return judged.stop
