"""Judges of a store's runs, put together from what the store or a suite says about them."""

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

from outweigh.adapters.stores.judging_file import JudgedTask, JudgingFile, lowered_demands, remember_judging
from outweigh.adapters.stores.preference_log import kept_preferences
from outweigh.adapters.stores.run_store import FolderRunStore
from outweigh.cli.progress import tell
from outweigh.cli.trying import PREFLIGHT_FILE
from outweigh.judge.brief import Brief
from outweigh.plugins import load
from outweigh.ports.judges import Judge
from outweigh.record.check_result import CheckResult
from outweigh.record.judgment import Judgment
from outweigh.record.preference import Preference
from outweigh.record.pricing import FirstKnown
from outweigh.report.judge_view import JudgeAccount, JudgeAccounts
from outweigh.report.wording import visible
from outweigh.run.case import Answers, Docket, Judgments
from outweigh.run.courtroom import Courtroom
from outweigh.run.events import Listener
from outweigh.run.judging import Judging
from outweigh.run.judging_setup import judged_tasks, solution_text, tell_tales
from outweigh.run.loading import LoadedSuite
from outweigh.run.preflight_findings import Preflight
from outweigh.run.purse import Purse
from outweigh.run.questions import Judged
from outweigh.score.consensus import wants_another_pass
from outweigh.task.judge import JudgeSpec

CODE_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The judges that can be asked from here, and why the others cannot."""

    backends: Mapping[str, Judge]
    missing: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """What one round of judging is given."""

    jobs: int
    cap_usd: float | None
    retry_invalid: bool
    prices: FirstKnown
    drain: Event
    cancel: Event
    listen: Listener


def judging_of(suite: LoadedSuite) -> JudgingFile:
    """What a suite tells judges."""
    return JudgingFile(
        judges=tuple(suite.spec.judges),
        tasks={
            task.id: JudgedTask(
                checksum=task.checksum, instruction=task.instruction, rubric=task.rubric, solution=solution_text(task)
            )
            for task in judged_tasks(suite)
            if task.rubric is not None
        },
        tell_tales=tell_tales(suite.arms.values()),
    )


def keep_judging(folder: Path, suite: LoadedSuite) -> JudgingFile:
    """Keep what the suite tells judges. Where it demands less of one than before, say that this changes nothing."""
    judging = remember_judging(folder, judging_of(suite))
    for name, least in lowered_demands(judging).items():
        tell(
            f"outweigh: of judge {visible(name)!r}, {folder} was made under minimum_alpha = {least:g}; that stays in "
            "force here, though the suite now demands less. Demand less in a new store, before there are results.\n",
            sys.stderr,
        )
    return judging


def panel_of(judges: Sequence[JudgeSpec]) -> Panel:
    """Find every judge's backend; what is missing is said, and does not stop the others."""
    backends: dict[str, Judge] = {}
    missing: dict[str, str] = {}
    for judge in judges:
        backend: Judge = load("judge", judge.backend)
        if (complaint := backend.missing(judge)) is None:
            backends[judge.name] = backend
        else:
            missing[judge.name] = complaint
    return Panel(backends=backends, missing=missing)


def judge_store(
    store: FolderRunStore, judging: JudgingFile, judges: Sequence[JudgeSpec], panel: Panel, sitting: Sitting
) -> tuple[Judged, JudgeAccounts]:
    """Ask whatever is open, keep every answer, and sum up what there is now."""
    docket = Docket(
        judges=[judge for judge in judges if judge.name in panel.backends],
        briefs=briefs_of(store.folder, judging),
        wants_another=wants_another_pass,
        retry_invalid=sitting.retry_invalid,
    )
    finished, before = store.finished(), store.judgments()
    court = Judging(
        store=store,
        room=courtroom_of(store, panel, sitting),
        docket=docket,
        purse=purse_of(judges, sitting.cap_usd, store),
        jobs=sitting.jobs,
        listen=sitting.listen,
    )
    judged = court.run(docket.open_cases(finished, before), before)
    return judged, _accounts(judged, docket, judges, panel, store, before)


def briefs_of(folder: Path, judging: JudgingFile) -> dict[str, Brief]:
    """What is told about every task that has a rubric."""
    untouched = _untouched(folder)
    return {
        name: Brief(
            instruction=task.instruction,
            rubric=task.rubric,
            checks_before=untouched.get((name, task.checksum)),
            solution=task.solution,
            tell_tales=judging.tell_tales,
        )
        for name, task in judging.tasks.items()
    }


def _untouched(folder: Path) -> dict[tuple[str, str], tuple[CheckResult, ...] | None]:
    """What the checks said before any work, where preflight was kept."""
    try:
        kept = msgspec.json.decode((folder / PREFLIGHT_FILE).read_bytes(), type=Preflight)
    except (OSError, msgspec.MsgspecError):
        return {}
    return {(result.task_id, result.task_checksum): result.untouched for result in kept.tasks}


def courtroom_of(store: FolderRunStore, panel: Panel, sitting: Sitting) -> Courtroom:
    """Where this store's runs are judged in this sitting."""
    return Courtroom(
        backends=panel.backends,
        artifact=store.artifact,
        prices=sitting.prices,
        draw_code=lambda: secrets.token_hex(CODE_BYTES),
        now=lambda: datetime.now(UTC),
        drain=sitting.drain,
        cancel=sitting.cancel,
    )


def purse_of(judges: Sequence[JudgeSpec], cap_usd: float | None, store: FolderRunStore) -> Purse:
    """What judges may still take: each has one budget for all that it was asked here, about one run or two."""
    earlier: dict[str, list[float | None]] = defaultdict(list)
    judgments = (judgment for given in store.judgments().values() for judgment in given)
    answers: Iterable[Judgment | Preference] = chain(judgments, kept_preferences(store.folder))
    for answer in answers:
        earlier[answer.judge.name].append(answer.cost.usd)
    return Purse(cap_usd, {judge.name: judge.budget_usd for judge in judges}, earlier)


def _accounts(
    judged: Judged,
    docket: Docket,
    judges: Sequence[JudgeSpec],
    panel: Panel,
    store: FolderRunStore,
    before: Judgments,
) -> JudgeAccounts:
    after = store.judgments()
    answers = docket.answers(store.finished(), after)
    set_aside = {**panel.missing, **judged.set_aside}
    return JudgeAccounts(
        accounts=[
            JudgeAccount(
                judge=judge,
                judgments=said.standing,
                replaced=said.replaced,
                set_aside=set_aside.get(judge.name),
            )
            for judge in judges
            for said in [answers.get(judge.name, Answers([], []))]
        ],
        stop=judged.stop.value,
        asked=sum(map(len, after.values())) - sum(map(len, before.values())),
        open=judged.left_open,
    )
