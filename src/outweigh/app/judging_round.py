"""A round of judging: which judges are available, what they are told and may cost, and what they have said by now.

As the last part of a run it starts when all trials have ended, so that no trial waits for a judge.
"""

import secrets
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from outweigh.app.observer import Notify, RunObserver, StopSignals
from outweigh.engine.batch import EndReason
from outweigh.engine.events import EventListener
from outweigh.engine.failure_streak import SAME_FAILURES
from outweigh.engine.judging.ask import JudgingContext
from outweigh.engine.judging.pointwise import AnswerHistory, JudgmentsByRun, PendingCalls, judge_runs, judging_costs
from outweigh.engine.judging.pool import JudgeBudget, PoolResult
from outweigh.engine.load_suite import LoadedSuite, identifying_names, solution_text, tasks_with_rubric
from outweigh.judging.material import TaskMaterial
from outweigh.model.judgment import Judgment, Preference
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import CheckResult
from outweigh.model.suite import JudgeSpec
from outweigh.plugins import load_adapter
from outweigh.ports.judges import Judge
from outweigh.prices import price_tables
from outweigh.report.formatting import escape_controls
from outweigh.report.judge_page import JudgeTotals, JudgingTotals
from outweigh.score.judge_scores import wants_another_pass
from outweigh.store.judging_file import JudgedTask, JudgingFile, lowered_requirements, write_judging
from outweigh.store.preflight_file import read_preflight
from outweigh.store.run_store import FolderRunStore, read_preferences

PROMPT_CODE_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailableJudges:
    """The judges that can be asked from here, and why the others cannot."""

    backends: Mapping[str, Judge]
    missing: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundOptions:
    """How one round of judging goes. With `keep_going` a judge is asked on after the same connection error in a row."""

    jobs: int
    budget_usd: float | None
    retry_invalid: bool
    keep_going: bool
    prices: PriceTables
    signals: StopSignals
    listen: EventListener


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingRound:
    """An open store with its judges and rubrics, and how this round goes."""

    store: FolderRunStore
    judging: JudgingFile
    judges: Sequence[JudgeSpec]
    available: AvailableJudges
    options: RoundOptions

    @property
    def askable(self) -> list[JudgeSpec]:
        """The chosen judges that are available."""
        return [judge for judge in self.judges if judge.name in self.available.backends]

    def task_material(self) -> dict[str, TaskMaterial]:
        """What judges are told about every task that has a rubric."""
        untouched = _checks_before(self.store.folder)
        return {
            name: TaskMaterial(
                instruction=task.instruction,
                rubric=task.rubric,
                checks_before=untouched.get((name, task.checksum)),
                solution=task.solution,
                identifying_names=self.judging.tell_tales,
            )
            for name, task in self.judging.tasks.items()
        }

    def context(self) -> JudgingContext:
        """What every judge call of this round shares."""
        return JudgingContext(
            backends=self.available.backends,
            artifact=self.store.artifact,
            prices=self.options.prices,
            draw_code=lambda: secrets.token_hex(PROMPT_CODE_BYTES),
            now=lambda: datetime.now(UTC),
            drain=self.options.signals.drain,
            cancel=self.options.signals.cancel,
            same_failures=None if self.options.keep_going else SAME_FAILURES,
        )

    def budget(self) -> JudgeBudget:
        """What judges may still take: each has one budget for all that it was asked here, about one run or two."""
        earlier: dict[str, list[float | None]] = defaultdict(list)
        judgments = (judgment for given in self.store.judgments().values() for judgment in given)
        answers: Iterable[Judgment | Preference] = chain(judgments, read_preferences(self.store.folder))
        for answer in answers:
            earlier[answer.judge.name].append(answer.cost.usd)
        limits = {judge.name: judge.budget_usd for judge in self.judges}
        return JudgeBudget(self.options.budget_usd, limits, earlier)


def judging_file_of(suite: LoadedSuite) -> JudgingFile:
    """What a suite tells judges."""
    return JudgingFile(
        judges=tuple(suite.spec.judges),
        tasks={
            task.id: JudgedTask(
                checksum=task.checksum, instruction=task.instruction, rubric=task.rubric, solution=solution_text(task)
            )
            for task in tasks_with_rubric(suite)
            if task.rubric is not None
        },
        tell_tales=identifying_names(suite.arms.values()),
    )


def store_judging(folder: Path, suite: LoadedSuite, notify: Notify) -> JudgingFile:
    """Keep what the suite tells judges. Where it demands less of one than before, say that this changes nothing."""
    judging = write_judging(folder, judging_file_of(suite))
    for name, least in lowered_requirements(judging).items():
        notify(
            f"of judge {escape_controls(name)!r}, {folder} was made under minimum_alpha = {least:g}; that stays in "
            "force here, though the suite now demands less. Demand less in a new store, before there are results."
        )
    return judging


def find_judges(judges: Sequence[JudgeSpec]) -> AvailableJudges:
    """Find every judge's backend; what is missing is said, and does not stop the others."""
    backends: dict[str, Judge] = {}
    missing: dict[str, str] = {}
    for judge in judges:
        backend: Judge = load_adapter("judge", judge.backend)
        if (complaint := backend.missing(judge)) is None:
            backends[judge.name] = backend
        else:
            missing[judge.name] = complaint
    return AvailableJudges(backends=backends, missing=missing)


def _checks_before(folder: Path) -> dict[tuple[str, str], tuple[CheckResult, ...] | None]:
    """What the checks said before any work, where preflight was kept."""
    kept = read_preflight(folder)
    if kept is None:
        return {}
    return {(result.task_id, result.task_checksum): result.untouched for result in kept.tasks}


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
        return not (invalid or self.lacks_judgments)

    @property
    def lacks_judgments(self) -> bool:
        """Whether a judge has not been asked about every run, or has no usable answer at all."""
        accounts = self.totals.accounts
        silent = any(not any(one.invalid_reason is None for one in account.judgments) for account in accounts)
        return bool(self.totals.open) or silent or any(account.set_aside for account in accounts)


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
        asked=_count_answers(after) - _count_answers(before),
        failed=_count_invalid(after) - _count_invalid(before),
        open=result.left_open,
        retry_command=judge_command(judging_round.store.folder, retry_invalid=True),
    )


def _count_answers(judgments: JudgmentsByRun) -> int:
    return sum(map(len, judgments.values()))


def _count_invalid(judgments: JudgmentsByRun) -> int:
    return sum(one.invalid_reason is not None for given in judgments.values() for one in given)


def judge_command(folder: Path, *, retry_invalid: bool) -> str:
    """The command that asks the judges of a store for what is missing and, with `retry_invalid`, for what failed."""
    return shlex.join(["outweigh", "judge", str(folder), *(["--retry-invalid"] if retry_invalid else [])])


STOPS_BEFORE_JUDGING = (
    EndReason.DONE,
    EndReason.DECIDED,
    EndReason.FUTILE,
    EndReason.INCOMPLETE,
    EndReason.TIER_BUDGET,
)
"""Ends of a run after which judges are asked; a run that was interrupted or is out of money asks nobody."""


def missing_judges(suite: LoadedSuite) -> list[str]:
    """Who cannot be asked, and what that means; runs stand without judges."""
    complaints = find_judges(suite.spec.judges).missing.values()
    return [f"{complaint} Until then its scores are left out, on all sides." for complaint in complaints]


def judge_spending(store: FolderRunStore) -> float:
    """Dollars of all judgments whose cost is known."""
    judgments = (judgment for given in store.judgments().values() for judgment in given)
    return sum(cost or 0.0 for costs in judging_costs(judgments).values() for cost in costs)


def judge_after_run(
    suite: LoadedSuite,
    store: FolderRunStore,
    *,
    jobs: int,
    budget_usd: float | None,
    keep_going: bool,
    observer: RunObserver,
) -> Judged:
    """Judge what has no judgment yet, within what the runs have left of the budget. A run stands without it."""
    judges, signals = suite.spec.judges, StopSignals()
    with observer.watch_judging(signals) as listen:
        options = RoundOptions(
            jobs=jobs,
            budget_usd=budget_usd,
            retry_invalid=False,
            keep_going=keep_going,
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
    return judged
