"""Judge the runs of a store: find the judges that are available, request what is missing, and sum up the answers.

As the last part of a run it starts when all trials have ended, so that no trial waits for a judge.
"""

import secrets
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from threading import Event

import msgspec

from outweigh.app.preflight_suite import PREFLIGHT_FILE
from outweigh.cli.console import interruptible
from outweigh.cli.progress import JudgingProgress, log_events, write_notice
from outweigh.engine.batch import EndReason
from outweigh.engine.budget import JudgeBudget
from outweigh.engine.events import EventListener
from outweigh.engine.judging.ask import JudgingContext
from outweigh.engine.judging.pointwise import (
    AnswerHistory,
    JudgmentsByRun,
    PendingCalls,
    judge_runs,
    judging_costs,
)
from outweigh.engine.judging.pool import PoolResult
from outweigh.engine.load_suite import LoadedSuite, identifying_names, solution_text, tasks_with_rubric
from outweigh.judging.material import TaskMaterial
from outweigh.model.judgment import Judgment, Preference
from outweigh.model.preflight_result import Preflight
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import CheckResult
from outweigh.model.suite import JudgeSpec
from outweigh.plugins import load_adapter
from outweigh.ports.judges import Judge
from outweigh.prices import price_tables
from outweigh.report.formatting import escape_controls
from outweigh.report.judge_page import JudgeTotals, JudgingTotals, summarize_judging
from outweigh.score.judge_scores import wants_another_pass
from outweigh.store.judging_file import JudgedTask, JudgingFile, lowered_requirements, write_judging
from outweigh.store.run_store import FolderRunStore, read_preferences

PROMPT_CODE_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailableJudges:
    """The judges that can be asked from here, and why the others cannot."""

    backends: Mapping[str, Judge]
    missing: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundOptions:
    """What one round of judging is given."""

    jobs: int
    cap_usd: float | None
    retry_invalid: bool
    prices: PriceTables
    drain: Event
    cancel: Event
    listen: EventListener


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


def store_judging(folder: Path, suite: LoadedSuite) -> JudgingFile:
    """Keep what the suite tells judges. Where it demands less of one than before, say that this changes nothing."""
    judging = write_judging(folder, judging_file_of(suite))
    for name, least in lowered_requirements(judging).items():
        write_notice(
            f"outweigh: of judge {escape_controls(name)!r}, {folder} was made under minimum_alpha = {least:g}; that "
            "stays in force here, though the suite now demands less. Demand less in a new store, before there are "
            "results.\n",
            sys.stderr,
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


def judge_store(
    store: FolderRunStore,
    judging: JudgingFile,
    judges: Sequence[JudgeSpec],
    available: AvailableJudges,
    options: RoundOptions,
) -> tuple[PoolResult, JudgingTotals]:
    """Ask whatever is open, keep every answer, and sum up what there is now."""
    pending = PendingCalls(
        judges=[judge for judge in judges if judge.name in available.backends],
        tasks=task_materials(store.folder, judging),
        wants_another=wants_another_pass,
        retry_invalid=options.retry_invalid,
    )
    before = store.judgments()
    result = judge_runs(
        pending,
        store=store,
        context=make_judging_context(store, available, options),
        budget=make_judge_budget(judges, options.cap_usd, store),
        jobs=options.jobs,
        listen=options.listen,
    )
    return result, _judging_totals(result, pending, judges, available, store, before)


def task_materials(folder: Path, judging: JudgingFile) -> dict[str, TaskMaterial]:
    """What is told about every task that has a rubric."""
    untouched = _checks_before(folder)
    return {
        name: TaskMaterial(
            instruction=task.instruction,
            rubric=task.rubric,
            checks_before=untouched.get((name, task.checksum)),
            solution=task.solution,
            identifying_names=judging.tell_tales,
        )
        for name, task in judging.tasks.items()
    }


def _checks_before(folder: Path) -> dict[tuple[str, str], tuple[CheckResult, ...] | None]:
    """What the checks said before any work, where preflight was kept."""
    try:
        kept = msgspec.json.decode((folder / PREFLIGHT_FILE).read_bytes(), type=Preflight)
    except (OSError, msgspec.MsgspecError):
        return {}
    return {(result.task_id, result.task_checksum): result.untouched for result in kept.tasks}


def make_judging_context(store: FolderRunStore, available: AvailableJudges, options: RoundOptions) -> JudgingContext:
    """What all judge calls of this round share."""
    return JudgingContext(
        backends=available.backends,
        artifact=store.artifact,
        prices=options.prices,
        draw_code=lambda: secrets.token_hex(PROMPT_CODE_BYTES),
        now=lambda: datetime.now(UTC),
        drain=options.drain,
        cancel=options.cancel,
    )


def make_judge_budget(judges: Sequence[JudgeSpec], cap_usd: float | None, store: FolderRunStore) -> JudgeBudget:
    """What judges may still take: each has one budget for all that it was asked here, about one run or two."""
    earlier: dict[str, list[float | None]] = defaultdict(list)
    judgments = (judgment for given in store.judgments().values() for judgment in given)
    answers: Iterable[Judgment | Preference] = chain(judgments, read_preferences(store.folder))
    for answer in answers:
        earlier[answer.judge.name].append(answer.cost.usd)
    return JudgeBudget(cap_usd, {judge.name: judge.budget_usd for judge in judges}, earlier)


def _judging_totals(
    result: PoolResult,
    pending: PendingCalls,
    judges: Sequence[JudgeSpec],
    available: AvailableJudges,
    store: FolderRunStore,
    before: JudgmentsByRun,
) -> JudgingTotals:
    after = store.judgments()
    answers = pending.answers(store.finished(), after)
    set_aside = {**available.missing, **result.set_aside}
    return JudgingTotals(
        accounts=[
            JudgeTotals(
                judge=judge,
                judgments=said.current,
                replaced=said.replaced,
                set_aside=set_aside.get(judge.name),
            )
            for judge in judges
            for said in [answers.get(judge.name, AnswerHistory([], []))]
        ],
        stop=result.stop.value,
        asked=sum(map(len, after.values())) - sum(map(len, before.values())),
        open=result.left_open,
    )


STOPS_BEFORE_JUDGING = (EndReason.DONE, EndReason.DECIDED, EndReason.INCOMPLETE)
"""Ends of a run after which judges are asked; a run that was interrupted or is out of money asks nobody."""


def prepare_judges(folder: Path, suite: LoadedSuite) -> None:
    """Keep what judges will be told, and say before the first run who cannot be asked."""
    if not suite.spec.judges:
        return
    store_judging(folder, suite)
    for complaint in find_judges(suite.spec.judges).missing.values():
        write_notice(
            f"outweigh: {escape_controls(complaint)} Until then its scores are left out, on all sides.\n", sys.stderr
        )


def judge_spending(store: FolderRunStore) -> float:
    """Dollars of all judgments whose cost is known."""
    judgments = (judgment for given in store.judgments().values() for judgment in given)
    return sum(cost or 0.0 for costs in judging_costs(judgments).values() for cost in costs)


def judge_after_run(
    suite: LoadedSuite, store: FolderRunStore, *, jobs: int, cap_usd: float | None, events: str | None
) -> EndReason:
    """Judge what has no judgment yet, within what the runs have left of the budget. A run stands without it."""
    judges, drain, cancel = suite.spec.judges, Event(), Event()
    with JudgingProgress(sys.stderr) as line, log_events(events, line) as listen, interruptible(drain, cancel):
        options = RoundOptions(
            jobs=jobs,
            cap_usd=cap_usd,
            retry_invalid=False,
            prices=price_tables(None),
            drain=drain,
            cancel=cancel,
            listen=listen,
        )
        result, totals = judge_store(store, judging_file_of(suite), judges, find_judges(judges), options)
    for words in summarize_judging(totals):
        write_notice(f"{escape_controls(words)}\n", sys.stderr)
    return result.stop
