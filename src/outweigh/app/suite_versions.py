"""Which version of each arm a suite has now in the store that it is run into, and which runs there are reused."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.reuse import anchor_repeats
from outweigh.engine.trial_plan import PlannedRun, add_arm_runs
from outweigh.errors import UsageError, quote_names
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.run_record import AgentKind, RunRecord, TrialKey
from outweigh.model.suite import DEFAULT_REUSE_MAX_AGE, age_in_days
from outweigh.store.arm_versions import ArmVersion, name_versions, versions_of
from outweigh.store.experiment_changes import VersionNames
from outweigh.store.experiment_file import ExperimentFile, read_experiment
from outweigh.store.run_store import RunSnapshot, has_begun
from outweigh.store.write_experiment import was_expected


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteVersions:
    """A suite whose arms go by the names that its store has for them.

    `experiment` is what the store was run for so far, None where nothing was run there; `snapshot` has its records.
    `new` are the arms that begin now.
    """

    suite: LoadedSuite
    experiment: ExperimentFile | None
    names: VersionNames
    new: tuple[str, ...]
    snapshot: RunSnapshot

    @property
    def runs(self) -> Sequence[RunRecord]:
        """The runs of the store."""
        return self.snapshot.runs

    def extend_plan(self, plan: Sequence[PlannedRun], repeats: int) -> tuple[PlannedRun, ...]:
        """The plan with runs of the baseline that must be made anew, because its earlier ones are too old."""
        baseline = self.suite.spec.baseline
        of_baseline = [run for run in self.runs if run.trial.arm == baseline]
        longer = tuple(plan)
        for version in self._versions():
            max_age = None if version.fresh_baseline else self._max_age()
            anchors = anchor_repeats(of_baseline, repeats, begun_at=version.begun_at, max_age=max_age)
            longer = add_arm_runs(longer, baseline, anchors, self.suite.spec.seed)
        return longer

    def reused(self, plan: Sequence[PlannedRun]) -> "ReusedResults":
        """What the store has already of a plan."""
        wanted = {run.trial.key for run in plan}
        found = {
            run.trial.key: run for run in self.runs if run.trial.key in wanted and run.status not in EXCLUDED_STATUSES
        }
        costs = [run.cost.usd for run in found.values() if run.cost.usd is not None]
        return ReusedResults(
            done=frozenset(found),
            runs=Counter(run.trial.arm for run in found.values()),
            known_usd=sum(costs) if costs else None,
            simulated=bool(found) and all(run.agent.kind is not AgentKind.REAL for run in found.values()),
        )

    def describe_new(self, plan: Sequence[PlannedRun]) -> tuple[str, ...]:
        """What has changed since the last run here: a sentence for each arm, for further tasks, and for old runs."""
        experiment = self.experiment
        if experiment is None:
            return ()
        arms = (self._describe_arm(name, experiment) for name in self.new)
        tasks = [task.id for task in self.suite.tasks if task.id not in experiment.tasks]
        more = (f"new tasks: {quote_names(tasks)}. Only their runs are missing.",) if tasks else ()
        return (*arms, *more, *self._describe_age(plan))

    def _describe_age(self, plan: Sequence[PlannedRun]) -> Iterator[str]:
        """How old the baseline's runs are that new arms are compared with, and how many are made anew for that."""
        baseline, begun_at = self.suite.spec.baseline, self.names.begun_at
        kept = {
            run.trial.key: run.started_at
            for run in self.runs
            if run.trial.arm == baseline and run.status not in EXCLUDED_STATUSES and run.started_at is not None
        }
        oldest = max((begun_at - started_at for started_at in kept.values()), default=timedelta(0))
        if not self.new or oldest < timedelta(days=1):
            return
        tasks = {task for task, _, _ in kept}
        anew = [run for run in plan if run.trial.arm == baseline and run.trial.key not in kept]
        fresh = sum(run.trial.task_id in tasks for run in anew)
        words = f"the runs of {baseline} in the store are up to {oldest / timedelta(days=1):.1f} days old"
        yield f"{words}; {fresh} are repeated among those of {quote_names(self.new)}." if fresh else f"{words}."

    def _describe_arm(self, name: str, experiment: ExperimentFile) -> str:
        arm = next(arm for arm, named in self.names.names.items() if named == name)
        earlier = versions_of(arm, experiment.arms, experiment.versions)
        if not earlier:
            return f"{arm} is new in this store."
        return f"{arm} has changed: version {len(earlier) + 1} is kept as {name}, beside {quote_names(earlier)}."

    def _versions(self) -> list[ArmVersion]:
        """The versions that the suite has now and that came after the first run."""
        known = {} if self.experiment is None else self.experiment.versions
        return [
            known.get(name)
            or ArmVersion(arm=arm, number=1, begun_at=self.names.begun_at, fresh_baseline=self.names.fresh_baseline)
            for arm, name in self.names.names.items()
            if name in known or name in self.new
        ]

    def _max_age(self) -> timedelta:
        stored = None if self.experiment is None else self.experiment.reuse_max_age
        return timedelta(days=age_in_days(stored or DEFAULT_REUSE_MAX_AGE))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusedResults:
    """Runs of a plan that need not be made: which, how many of each arm, and what they cost where that is known."""

    done: frozenset[TrialKey]
    runs: Counter[str]
    known_usd: float | None
    simulated: bool


def find_versions(suite: LoadedSuite, folder: Path, *, fresh_baseline: bool = False) -> SuiteVersions:
    """Look up every arm of the suite in the store; nothing is written."""
    experiment = read_experiment(folder) if has_begun(folder) else None
    now = {name: arm.fingerprint for name, arm in suite.arms.items()}
    baseline = suite.spec.baseline
    names = {name: name for name in now}
    new: tuple[str, ...] = ()
    snapshot = RunSnapshot((), {})
    if experiment is not None:
        # A changed baseline keeps its name, and is refused: all that is here was compared with the old one.
        names = {**name_versions(now, experiment.arms, experiment.versions), baseline: baseline}
        new = tuple(
            name for name in names.values() if name not in experiment.arms and not was_expected(name, experiment)
        )
        snapshot = RunSnapshot.read(folder)
    if fresh_baseline and experiment is not None and not new:
        _require_fresh(names.values(), experiment)
    return SuiteVersions(
        suite=_with_names(suite, names),
        experiment=experiment,
        names=VersionNames(
            names=names,
            begun_at=datetime.now(UTC),
            fresh_baseline=fresh_baseline,
            has_results=any(run.trial.arm == baseline and run.status not in EXCLUDED_STATUSES for run in snapshot.runs),
        ),
        new=new,
        snapshot=snapshot,
    )


def _require_fresh(names: Iterable[str], experiment: ExperimentFile) -> None:
    """Runs of the baseline that are made after those of a version would not be made beside them."""
    versions = [name for name in names if name != experiment.baseline]
    if reusing := [name for name in versions if name not in experiment.versions or not _is_fresh(name, experiment)]:
        raise UsageError(
            f"--fresh-baseline: {quote_names(reusing)} has runs here already, and runs of the baseline that are made "
            "later would not be made beside them. Use it when you run a changed arm, or name another folder with -o."
        )


def _is_fresh(name: str, experiment: ExperimentFile) -> bool:
    return experiment.versions[name].fresh_baseline


def _with_names(suite: LoadedSuite, names: Mapping[str, str]) -> LoadedSuite:
    return replace(
        suite,
        arms={names[arm.name]: msgspec.structs.replace(arm, name=names[arm.name]) for arm in suite.arms.values()},
        origins={names[name]: origin for name, origin in suite.origins.items()},
        arm_repeats={names[name]: repeats for name, repeats in suite.arm_repeats.items()},
    )
