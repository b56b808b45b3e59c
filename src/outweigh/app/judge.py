"""Judge the runs of a store again, one by one or two arms side by side. Only missing answers are requested."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from outweigh.app.judging_round import (
    Judged,
    JudgingRound,
    RoundOptions,
    find_judges,
    judge_round,
    judging_file_of,
    store_judging,
)
from outweigh.app.observer import Notify, RunObserver, StopSignals
from outweigh.app.suite_selection import read_suite
from outweigh.compare.preferences import Pairwise, compare_pairwise
from outweigh.engine.batch import EndReason
from outweigh.engine.judging.pairwise import PendingPairs, judge_pairs
from outweigh.errors import UsageError, quote_names
from outweigh.model.corrections import CORRECTIONS_FILE
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.suite import JudgeSpec
from outweigh.prices import price_tables
from outweigh.store.corrections_file import read_corrections
from outweigh.store.experiment_file import read_experiment
from outweigh.store.judging_file import JudgingFile, read_judging
from outweigh.store.read_only_stores import refuse_read_only
from outweigh.store.run_store import FolderRunStore, PreferenceLog, read_preferences


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """A store to judge, by whom, and within which limits.

    Without `suite` the judges and rubrics are those that the store remembers; without `judges` all of them are asked.
    `go_on_without` asks again for answers whose lines in the store are damaged. `keep_going` asks all questions
    although one after another fails with the same connection error.
    """

    store: Path
    suite: str | None = None
    judges: tuple[str, ...] = ()
    jobs: int = 4
    budget_usd: float | None = None
    retry_invalid: bool = False
    go_on_without: bool = False
    keep_going: bool = False
    prices: str | None = None


def judge_store(request: JudgeRequest, observer: RunObserver) -> Judged:
    """Judge what has no judgment yet in a store."""
    with open_round(request, observer) as judging_round:
        return judge_round(judging_round)


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


def _choose_arm_pair(
    baseline: str | None, candidate: str | None, arms: Sequence[str], suite_baseline: str | None
) -> ArmPair:
    """The arms that are named, else the suite's baseline and the only other arm."""
    baseline = baseline or suite_baseline
    others = [arm for arm in arms if arm != baseline]
    if candidate is None and len(others) == 1:
        candidate = others[0]
    if baseline is None or candidate is None:
        raise UsageError(
            f"--pairwise compares two arms; name them with --baseline and --candidate: {quote_names(arms, 10)}."
        )
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
    if read_corrections(request.store) is not None:
        raise UsageError(
            f"{request.store / CORRECTIONS_FILE} gives runs other names than judges of pairs would store. Import the "
            "runs into another folder under the right names, and judge them there."
        )
    with open_round(request, observer) as judging_round:
        arms = list(dict.fromkeys(arm for _, arm, _ in judging_round.store.finished()))
        experiment = read_experiment(judging_round.store.folder)
        suite_baseline = None if experiment is None else experiment.baseline
        return _judge_pair(judging_round, _choose_arm_pair(baseline, candidate, arms, suite_baseline))


def _judge_pair(judging_round: JudgingRound, sides: ArmPair) -> JudgedPairs:
    store, options = judging_round.store, judging_round.options
    with closing(PreferenceLog(store.folder)) as log:
        before = read_preferences(store.folder)
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


@contextmanager
def open_round(request: JudgeRequest, observer: RunObserver) -> Iterator[JudgingRound]:
    """Hold the store, and have the round watched, as long as the context lasts."""
    refuse_read_only(request.store)
    if not request.store.is_dir():
        raise UsageError(
            f"{request.store} is not a store; judgments are kept beside the runs, so name the folder of a run."
        )
    signals = StopSignals()
    with FolderRunStore.open(request.store) as store:
        store.refuse_damage(go_on_without=request.go_on_without)
        for repair in store.repairs:
            observer.notify(str(repair))
        judging = _load_judging(store.folder, request.suite, observer.notify)
        judges = _choose_judges(judging, request.judges)
        available = find_judges(judges)
        if not available.backends:
            why = " ".join(available.missing.values())
            raise UsageError(f"no judge can be asked from here: {why} {_count_judged(store, judging)}")
        with observer.watch_judging(signals) as listen:
            options = RoundOptions(
                jobs=request.jobs,
                budget_usd=request.budget_usd,
                retry_invalid=request.retry_invalid,
                keep_going=request.keep_going,
                prices=price_tables(request.prices),
                signals=signals,
                listen=listen,
            )
            yield JudgingRound(store=store, judging=judging, judges=judges, available=available, options=options)


def _count_judged(store: FolderRunStore, judging: JudgingFile) -> str:
    """How many runs have a valid judgment by now, so that nobody takes the store for empty."""
    counted = {
        record.run_id
        for attempts in store.finished().values()
        for record in attempts
        if record.status not in EXCLUDED_STATUSES and record.trial.task_id in judging.tasks
    }
    given = store.judgments()
    valid = {run for run in counted if any(one.invalid_reason is None for one in given.get(run, ()))}
    return f"{len(valid)} of {len(counted)} runs have a valid judgment."


def _load_judging(folder: Path, suite: str | None, notify: Notify) -> JudgingFile:
    """What the suite says now, or what the store remembers of it."""
    if suite is not None:
        loaded = read_suite(suite)
        _refuse_other_tasks(folder, judging_file_of(loaded))
        return store_judging(folder, loaded, notify)
    known = read_judging(folder)
    if known is None:
        raise UsageError(f"{folder} has no rubric; name the suite that has [[judges]] and rubrics with -c.")
    return known


def _refuse_other_tasks(folder: Path, judging: JudgingFile) -> None:
    """A judge must be told what the agent was told. The rubric may be another; the task may not."""
    experiment = read_experiment(folder)
    ran = {} if experiment is None else experiment.tasks
    changed = [name for name, task in judging.tasks.items() if ran.get(name, task.checksum) != task.checksum]
    if changed:
        raise UsageError(
            f"{quote_names(changed)}: the task is not what it was when it was run in {folder}. Change it back; only "
            "its rubric may change."
        )


def _choose_judges(judging: JudgingFile, names: Sequence[str]) -> Sequence[JudgeSpec]:
    known = {judge.name: judge for judge in judging.judges}
    if not known:
        raise UsageError("the suite names no judge; write a [[judges]] table into its suite.toml.")
    for name in names:
        if name not in known:
            raise UsageError(f"there is no judge {name!r}; the suite has {quote_names(known, 10)}.")
    return [known[name] for name in dict.fromkeys(names or known)]
