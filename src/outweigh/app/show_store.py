"""Count what one store holds, arm by arm, in one reading. Lines that cannot be read are counted too."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from shlex import join

from outweigh.app.arm_figures import figures_of
from outweigh.app.next_comparison import next_comparison
from outweigh.errors import EvidenceError
from outweigh.model.codec import UNFINISHED_RECORD, InvalidLine, LocatedRecord
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.judgment import Judgment, Preference
from outweigh.model.run_record import AgentKind, RunRecord, TrialKey, amount_paid
from outweigh.report.document import Report
from outweigh.report.formatting import count_of
from outweigh.report.next_step import NextStep
from outweigh.report.store_page import ArmOverview, StoreOverview, stores_report
from outweigh.score.arm_tally import ArmTally
from outweigh.store.experiment_file import ExperimentFile
from outweigh.store.hosts_file import HostCondition, read_hosts
from outweigh.store.records import read_imports
from outweigh.store.store import Store
from outweigh.store.store_files import record_files, size_on_disk
from outweigh.store.store_lock import is_engine_running
from outweigh.store.unfinished_copy import refuse_unfinished_copy


@dataclass(slots=True)
class _ArmCount:
    """What has been counted of one arm so far."""

    has_result: dict[TrialKey, bool] = field(default_factory=dict)
    run_ids: dict[str, bool] = field(default_factory=dict)
    kinds: set[AgentKind] = field(default_factory=set)
    attempts: int = 0
    usd: dict[str, float] = field(default_factory=dict)
    unpriced: int = 0
    estimated: int = 0

    def add(self, run: RunRecord) -> None:
        """Count one attempt."""
        counts = run.status not in EXCLUDED_STATUSES
        self.has_result[run.trial.key] = self.has_result.get(run.trial.key, False) or counts
        self.run_ids[run.run_id] = self.run_ids.get(run.run_id, False) or counts
        self.kinds.add(run.agent.kind)
        self.attempts += 1
        self.estimated += run.cost.is_estimated
        paid = amount_paid(run)
        if paid is None:
            self.unpriced += 1
        elif paid:
            source = run.cost.provenance.value
            self.usd[source] = self.usd.get(source, 0.0) + paid

    def most_repeats(self) -> int:
        """How often the task that was tried most often was tried."""
        return max(Counter(task for task, _, _ in self.has_result).values(), default=0)


@dataclass(slots=True)
class _JudgingCount:
    """Judgments: whether any can be used, how many cannot, and what all of them cost."""

    is_judged: bool = False
    invalid: int = 0
    usd: float = 0.0
    unpriced: int = 0

    def add(self, judgment: Judgment | Preference) -> None:
        """Count one judgment."""
        self.is_judged = self.is_judged or judgment.invalid_reason is None
        self.invalid += judgment.invalid_reason is not None
        self.usd += judgment.cost.usd or 0.0
        self.unpriced += judgment.cost.usd is None


class _StoreCount:
    """Everything that is counted in one reading."""

    def __init__(self) -> None:
        self.arms: dict[str, _ArmCount] = defaultdict(_ArmCount)
        self.tallies: dict[str, ArmTally] = defaultdict(ArmTally)
        self.judging: dict[str, _JudgingCount] = defaultdict(_JudgingCount)
        self.pairs = _JudgingCount()
        self.pair_count = 0
        self.judges: dict[str, None] = {}
        self.tasks: set[str] = set()
        self.moments: list[datetime] = []

    def add(self, located: LocatedRecord) -> None:
        record = located.record
        if isinstance(record, RunRecord):
            self.arms[record.trial.arm].add(record)
            self.tallies[record.trial.arm].add(record)
            self.tasks.add(record.trial.task_id)
            if record.started_at is not None:
                self.moments = [min((record.started_at, *self.moments)), max((record.started_at, *self.moments))]
        elif isinstance(record, Judgment):
            self.judges[record.judge.name] = None
            self.judging[record.run_id].add(record)
        elif isinstance(record, Preference):
            self.judges[record.judge.name] = None
            self.pairs.add(record)
            self.pair_count += 1

    def overview_of(self, name: str, planned: int | None, *, is_earlier: bool) -> ArmOverview:
        """One arm, of which so many trials are planned; nothing more is planned of an earlier version."""
        arm = self.arms[name]
        done = sum(arm.has_result.values())
        judging = [self.judging[run] for run in arm.run_ids if run in self.judging]
        return ArmOverview(
            name=name,
            done=done,
            missing=_missing(0 if is_earlier else planned, len(arm.has_result)),
            failed=len(arm.has_result) - done,
            attempts=arm.attempts,
            judged=sum(1 for run, counts in arm.run_ids.items() if counts and self.judging[run].is_judged),
            invalid_judgments=sum(each.invalid for each in judging),
            usd=dict(arm.usd),
            unpriced=arm.unpriced,
            estimated=arm.estimated,
            judging_usd=sum(each.usd for each in judging),
            unpriced_judgments=sum(each.unpriced for each in judging),
            simulated=arm.kinds == {AgentKind.SCRIPTED},
            is_earlier=is_earlier,
        )


def _missing(planned: int | None, attempted: int) -> int | None:
    return None if planned is None else max(0, planned - attempted)


def show_store(store: Store) -> StoreOverview:
    """What the store is for, how far it is, and what it cost."""
    store.require()
    if store.folder is not None:
        refuse_unfinished_copy(store.folder, store.name)
    experiment = store.experiment
    running = store.folder is not None and is_engine_running(store.folder)
    damaged: list[InvalidLine] = []
    count = _StoreCount()
    for located in _records(store, damaged):
        count.add(located)
    if running:  # the last line may still be written
        damaged = [line for line in damaged if line.reason != UNFINISHED_RECORD]
    earlier = _earlier_versions(experiment)
    repeats = _planned_repeats(experiment, earlier, sum(len(count.arms[name].has_result) for name in earlier))
    tasks = len(count.tasks) if experiment is None else len(experiment.tasks)
    planned_arms = () if experiment is None else (*experiment.arms, *experiment.planned_inherits)
    names = dict.fromkeys((*planned_arms, *count.arms))
    planned = None if repeats is None else tasks * repeats
    judging = () if store.judging is None else (judge.name for judge in store.judging.judges)
    return StoreOverview(
        name=store.name,
        suite=None if experiment is None else experiment.suite,
        baseline=None if experiment is None else experiment.baseline,
        tasks=tasks,
        repeats=repeats,
        most_repeats=max((arm.most_repeats() for arm in count.arms.values()), default=0),
        judges=tuple(dict.fromkeys((*judging, *count.judges))),
        arms=tuple(
            count.overview_of(name, _planned_runs(name, tasks, planned, experiment), is_earlier=name in earlier)
            for name in names
        ),
        pair_judgments=count.pair_count,
        pair_judging_usd=count.pairs.usd,
        sources=tuple(_sources(store.folder)),
        first=count.moments[0] if count.moments else None,
        last=count.moments[-1] if count.moments else None,
        size_bytes=None if store.path is None or store.is_fetched else size_on_disk(store.path),
        running=running,
        hosts=_describe_hosts(store) if running else None,
        damaged=tuple(map(str, (*damaged, *store.unread_rows()))),
        shards=tuple(str(each.shard) for each in store.shards),
        choices=_describe_choices(store, experiment),
        figures=figures_of(store, count.tallies),
    )


def _describe_hosts(store: Store) -> str | None:
    """The hosts of a run on a cluster, as its lead saw them last."""
    seen = None if store.folder is None else read_hosts(store.folder)
    if seen is None:
        return None
    lost = sum(host.condition is HostCondition.LOST for host in seen.hosts)
    words = [f"{seen.running:,} of {seen.slots:,} slots busy", *([f"{lost:,} lost"] if lost else [])]
    return f"{count_of(seen.ready_hosts, 'host')} ({', '.join(words)})"


def show_stores(stores: Sequence[Store]) -> Report:
    """What each of the stores holds, and the command that compares their arms."""
    overviews = [show_store(store) for store in stores]
    arms: dict[str, ArmTally] = {}
    for figures in (arm for overview in overviews for arm in overview.figures):
        arms[figures.name] = figures.tally.joined(arms.get(figures.name))
    names = [store.name for store in stores]
    if len(stores) == 1 and stores[0].experiment is not None:
        asked = NextStep(words="decide by the rule of its suite", command=join(["outweigh", "verdict", *names]))
        return stores_report(overviews, asked if any(arm.done for arm in overviews[0].arms) else None)
    return stores_report(overviews, next_comparison(names, arms))


def _describe_choices(store: Store, experiment: ExperimentFile | None) -> dict[str, str]:
    """What every inheriting arm is built on, why it is not run, or what it waits for."""
    said: dict[str, str] = {}
    for arm, asked in ({} if experiment is None else experiment.planned_inherits).items():
        choice = store.choices.get(arm)
        if choice is None:
            said[arm] = f"waits for the runs of tier {' and '.join(map(str, asked.best_of))}"
        elif choice.chosen is None:
            said[arm] = f"not run: {choice.reason}"
        else:
            said[arm] = f"built on {choice.chosen}: {choice.reason}"
    return said


def _records(store: Store, damaged: list[InvalidLine]) -> Iterator[LocatedRecord]:
    """Every record. A store that was begun may have files without any; elsewhere that is refused."""
    if store.folder is None or store.experiment is None:
        yield from store.records(damaged.append)
        return
    for file in record_files(store.folder):
        with suppress(EvidenceError):  # no record in it: what cannot be read is counted
            yield from Store.open(file).records(damaged.append)


def _earlier_versions(experiment: ExperimentFile | None) -> frozenset[str]:
    """The arms of a store that its suite has changed since."""
    if experiment is None or not experiment.current:
        return frozenset()
    return frozenset(experiment.arms) - frozenset(experiment.current.values())


def _planned_repeats(experiment: ExperimentFile | None, earlier: frozenset[str], made: int) -> int | None:
    """Repeats of every trial, where the plan has as many for each task and arm.

    The trials that were made of earlier versions are planned ones too.
    """
    if experiment is None or experiment.planned_runs is None or experiment.planned_repeats:
        return None
    trials = len(experiment.tasks) * len(experiment.arms.keys() - earlier)
    repeats, rest = divmod(experiment.planned_runs - made, trials) if trials else (0, 1)
    return None if rest else repeats


def _planned_runs(name: str, tasks: int, usual: int | None, experiment: ExperimentFile | None) -> int | None:
    """How many runs of an arm are planned: where arms differ in that, as many as it has repeats."""
    repeats = None if experiment is None else experiment.planned_repeats.get(name)
    return usual if repeats is None else tasks * repeats


def _sources(folder: Path | None) -> Iterator[str]:
    for imported in () if folder is None else read_imports(folder):
        yield f"{imported.source} ({imported.format})"
