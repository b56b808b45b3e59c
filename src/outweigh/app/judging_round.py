"""A round of judging: the judges and rubrics of a store, which judges are available, what they may cost."""

import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from outweigh.app.observer import Notify, RunObserver, StopSignals
from outweigh.app.suite_selection import read_suite
from outweigh.engine.events import EventListener
from outweigh.engine.judging.ask import JudgingContext
from outweigh.engine.judging.pool import JudgeBudget
from outweigh.engine.load_suite import LoadedSuite, identifying_names, solution_text, tasks_with_rubric
from outweigh.errors import UsageError, quote_names
from outweigh.judging.material import TaskMaterial
from outweigh.model.judgment import Judgment, Preference
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import CheckResult
from outweigh.model.suite import JudgeSpec
from outweigh.plugins import load_adapter
from outweigh.ports.judges import Judge
from outweigh.prices import price_tables
from outweigh.report.formatting import escape_controls
from outweigh.store.experiment_file import read_experiment
from outweigh.store.judging_file import JudgedTask, JudgingFile, lowered_requirements, read_judging, write_judging
from outweigh.store.preflight_file import read_preflight
from outweigh.store.run_store import FolderRunStore, read_preferences

PROMPT_CODE_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """A store to judge, by whom, and within which limits.

    Without `suite` the judges and rubrics are those that the store remembers; without `judges` all of them are asked.
    """

    store: Path
    suite: str | None = None
    judges: tuple[str, ...] = ()
    jobs: int = 4
    budget_usd: float | None = None
    retry_invalid: bool = False
    prices: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailableJudges:
    """The judges that can be asked from here, and why the others cannot."""

    backends: Mapping[str, Judge]
    missing: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundOptions:
    """How one round of judging goes."""

    jobs: int
    budget_usd: float | None
    retry_invalid: bool
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


@contextmanager
def open_round(request: JudgeRequest, observer: RunObserver) -> Iterator[JudgingRound]:
    """Hold the store, and have the round watched, as long as the context lasts."""
    if not request.store.is_dir():
        raise UsageError(
            f"{request.store} is no store; judgments are kept beside the runs, so name the folder of a run."
        )
    signals = StopSignals()
    with FolderRunStore.open(request.store) as store:
        for repair in store.repairs:
            observer.notify(str(repair))
        judging = _load_judging(store.folder, request.suite, observer.notify)
        judges = _choose_judges(judging, request.judges)
        available = find_judges(judges)
        if not available.backends:
            raise UsageError(f"no judge can be asked from here: {' '.join(available.missing.values())}")
        with observer.watch_judging(signals) as listen:
            options = RoundOptions(
                jobs=request.jobs,
                budget_usd=request.budget_usd,
                retry_invalid=request.retry_invalid,
                prices=price_tables(request.prices),
                signals=signals,
                listen=listen,
            )
            yield JudgingRound(store=store, judging=judging, judges=judges, available=available, options=options)


def _load_judging(folder: Path, suite: str | None, notify: Notify) -> JudgingFile:
    """What the suite says now, or what the store remembers of it."""
    if suite is not None:
        loaded = read_suite(suite)
        _refuse_other_tasks(folder, judging_file_of(loaded))
        return store_judging(folder, loaded, notify)
    known = read_judging(folder)
    if known is None:
        raise UsageError(f"{folder} knows no rubric; name the suite that has [[judges]] and rubrics by -c.")
    return known


def _refuse_other_tasks(folder: Path, judging: JudgingFile) -> None:
    """A judge must be told what the agent was told. The rubric may be another; the task may not."""
    experiment = read_experiment(folder)
    ran = {} if experiment is None else experiment.tasks
    changed = [name for name, task in judging.tasks.items() if ran.get(name, task.checksum) != task.checksum]
    if changed:
        raise UsageError(
            f"{quote_names(changed)}: the task is not what it was when it was run in {folder}. Change it back; only "
            "its rubric may be another."
        )


def _choose_judges(judging: JudgingFile, names: Sequence[str]) -> Sequence[JudgeSpec]:
    known = {judge.name: judge for judge in judging.judges}
    if not known:
        raise UsageError("the suite names no judge; write a [[judges]] table into its suite.toml.")
    for name in names:
        if name not in known:
            raise UsageError(f"there is no judge {name!r}; the suite has {quote_names(known, 10)}.")
    return [known[name] for name in dict.fromkeys(names or known)]


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
