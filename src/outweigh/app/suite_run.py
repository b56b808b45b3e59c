"""One suite with its plan and store: what is done before, during and after its runs, wherever they are made."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from outweigh.app.check_before_run import faults_before_start
from outweigh.app.judging_round import (
    STOPS_BEFORE_JUDGING,
    judge_after_run,
    judge_command,
    judge_spending,
    store_judging,
)
from outweigh.app.observer import RunObserver, RunSummary, RunWatch, StopSignals, store_spending
from outweigh.app.preflight_suite import require_preflight
from outweigh.app.prepare_store import begin_store, note_drift
from outweigh.app.run_request import RunPreview, RunRequest, baseline_repeats
from outweigh.app.run_stages import PlannedSuite, tier_budgets
from outweigh.app.suite_versions import SuiteVersions
from outweigh.app.token_limits import RunTokens
from outweigh.app.until_decided import Looks, looks_of_store
from outweigh.engine.batch import EndReason
from outweigh.engine.budget import Budget
from outweigh.engine.executor import AttemptExecutor
from outweigh.engine.experiment import experiment_progress, run_experiment
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.trial_plan import PlannedRun, plan_sha256
from outweigh.errors import UsageError
from outweigh.model.look_plan import LookPlan, plan_even_looks
from outweigh.model.preflight_result import PreflightResult
from outweigh.model.run_record import RunRecord
from outweigh.ports.sandboxes import ReadyImage
from outweigh.prices import price_tables
from outweigh.store.experiment_changes import check_experiment
from outweigh.store.experiment_file import read_experiment
from outweigh.store.run_store import FolderRunStore
from outweigh.store.shard_files import ShardFile, begin_shard
from outweigh.verdict.evidence_settings import JUDGE_SCORE

BudgetsOfArm = Callable[[str], Sequence[Budget]]
"""From which budgets the runs of an arm are paid."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How the trials ended, and whether it was because nobody knows what a run costs."""

    stop: EndReason
    cost_is_unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """One suite with its plan and store: the trials, and after them the judging."""

    suite: LoadedSuite
    request: RunRequest
    plan: tuple[PlannedRun, ...]
    folder: Path
    observer: RunObserver
    versions: SuiteVersions
    planned: PlannedSuite
    tokens: RunTokens

    def preview(self, *, sandbox: str | None = None, harbor_jobs: Mapping[str, str] | None = None) -> RunPreview:
        """What would be run."""
        check_experiment(
            self.folder,
            self.suite.spec,
            self.suite.tasks,
            self.suite.arms,
            self.versions.experiment,
            self.versions.names,
        )
        reused = self.versions.reused(self.plan)
        left = {run.trial.arm for run in self.plan if run.trial.key not in reused.done}
        return RunPreview(
            suite=self.suite,
            plan=(*self.plan, *self.planned.later),
            folder=self.folder,
            reused=reused,
            changes=(*self.versions.describe_new(self.plan), *self.planned.notes),
            faults=() if sandbox is None else tuple(faults_before_start(self.suite, left)),
            sandbox=sandbox,
            harbor_jobs=harbor_jobs or {},
            shard=self.request.shard,
        )

    def open_store(self) -> FolderRunStore:
        """The store, with files of its own for every shard, so that the folders of shards can be copied into one."""
        writer = "engine" if self.request.shard is None else self.request.shard.file_name
        return FolderRunStore.open(self.folder, writer=writer, snapshot=self.versions.snapshot)

    def begin(self, store: FolderRunStore, secrets: Collection[str]) -> None:
        """Store what is to be run, by which rules, before anything is."""
        store.refuse_damage(go_on_without=self.request.go_on_without)
        begin_shard(self.folder, self._shard_file(), begun=store.begun)
        begin_store(
            store,
            self.suite,
            self.plan,
            secrets,
            self.observer.notify,
            looks=self._planned_looks(),
            reuse=self.request.reuse,
            whole=self.planned.whole,
            versions=self.versions.names,
            repeats=self.planned.repeats,
        )
        for words in (*self.versions.describe_new(self.plan), *self.planned.notes):
            self.observer.notify(words)
        if self.suite.spec.judges:
            store_judging(self.folder, self.suite, self.observer.notify)

    def _shard_file(self) -> ShardFile | None:
        """Which part of the plan this store is for; None where it is for all of it."""
        shard = self.request.shard
        if shard is None:
            return None
        return ShardFile(
            schema="outweigh.shard/1",
            index=shard.index,
            count=shard.count,
            plan_sha256=plan_sha256(self.planned.whole),
            planned_runs=len(self.plan),
        )

    def try_tasks(self, scratch: Path, label: str, images: Mapping[str, ReadyImage]) -> tuple[PreflightResult, ...]:
        """What the tasks show before any run, tried in the sandbox of this machine."""
        found = require_preflight(
            self.folder,
            self.suite,
            scratch=scratch,
            label=label,
            ignore_faults=self.request.assume_yes,
            images=images,
        )
        return tuple(found)

    def _planned_looks(self) -> LookPlan | None:
        """When the results are to be looked at; None where the run is to go on to its end."""
        if not self.request.until_decided:
            return None
        order = tuple(dict.fromkeys(run.trial.task_id for run in self.plan))
        return plan_even_looks(order, baseline_repeats(self.suite, self.request))

    def looks(self, store: FolderRunStore) -> Looks | None:
        """The looks of this run, which know of everything that earlier engines finished."""
        planned, experiment = self._planned_looks(), read_experiment(self.folder)
        if planned is None or experiment is None:
            return None
        looks = looks_of_store(experiment, planned.order, planned.repeats, price_tables(None))
        for attempts in store.finished().values():
            for record in attempts:
                looks.add(record)
        return looks

    def watch(self, store: FolderRunStore, signals: StopSignals, work: Callable[[RunWatch], Ended]) -> EndReason:
        """Have the work watched, and sum up the whole experiment when it has ended."""
        for repair in store.repairs:
            self.observer.notify(str(repair))
        before = {record.run_id for record in _records(store)}
        with self.observer.watch_runs(self.plan, signals) as watch:
            ended = work(watch)
        self._scan_for_cheats(store)
        note_drift(store, self.suite, self.observer.notify, self.versions.names)
        self.observer.runs_ended(
            RunSummary(
                stop=ended.stop,
                plan=self.plan,
                progress=experiment_progress(self.plan, store),
                cost_is_unknown=ended.cost_is_unknown,
                store=self.folder,
                spending=store_spending(before, _records(store)),
                later_runs=len(self.planned.later),
                shard=self.request.shard,
            )
        )
        return ended.stop

    def _scan_for_cheats(self, store: FolderRunStore) -> None:
        """Look through what the runs left behind; that nothing could be kept of it takes nothing from the runs."""
        from outweigh.app.scan import keep_scan  # noqa: PLC0415 - when the trials have ended

        try:
            keep_scan(self.folder, _records(store))
        except UsageError as fault:
            self.observer.notify(f"the runs were not scanned for signs of cheating: {fault}")

    def attempt_left(
        self,
        executor: AttemptExecutor,
        store: FolderRunStore,
        signals: StopSignals,
        watch: RunWatch,
        looks: Looks | None,
        note_budgets: Callable[[BudgetsOfArm], None] | None = None,
    ) -> Ended:
        """Attempt what has no result yet, within what is left of the budgets.

        `note_budgets` is told from which budgets the runs of an arm are paid.
        """
        spec = self.suite.spec
        progress = experiment_progress(self.plan, store)
        watch.resume(progress)
        budget = Budget(self.remaining_budget(judge_spending(store)), spec.limits.budget_usd, progress.paid_at_most)
        of_tiers = tier_budgets(self.suite, store, spec.limits.budget_usd, self.request.shard)
        if note_budgets is not None:
            note_budgets(lambda arm: [budget, *([of_tiers[arm]] if arm in of_tiers else [])])
        stop = run_experiment(
            executor,
            progress,
            retries=spec.limits.retries,
            budget=budget,
            looks=looks,
            drain=signals.drain,
            listen=watch.listen,
            keep_going=self.request.keep_going,
            tier_budgets=of_tiers,
        )
        return Ended(stop, budget.cost_is_unknown)

    def judge(self, store: FolderRunStore, stop: EndReason) -> EndReason:
        """How the command ends; whatever judges do, runs that are done stay done."""
        if not self.suite.spec.judges or stop not in STOPS_BEFORE_JUDGING:
            return stop
        left = self.remaining_budget(experiment_progress(self.plan, store).spent_usd)
        judged = judge_after_run(
            self.suite,
            store,
            jobs=self.request.jobs,
            budget_usd=left,
            keep_going=self.request.keep_going,
            observer=self.observer,
        )
        if judged.stop is EndReason.INTERRUPTED:
            return judged.stop
        decides = JUDGE_SCORE in (self.suite.spec.policy.gates or ())
        if not decides or not judged.lacks_judgments or stop is EndReason.INCOMPLETE:
            return stop
        command = judge_command(self.folder, retry_invalid=judged.totals.unusable > 0)
        self.observer.notify(
            f"judges decide about this suite, and not all runs are judged, so there is no verdict yet. Fix what the "
            f"lines above name, then run `{command}`; no trial is run again."
        )
        return EndReason.UNJUDGED

    def arms_left(self, store: FolderRunStore) -> frozenset[str]:
        """The arms that have runs left."""
        return experiment_progress(self.plan, store).arms_left

    @property
    def has_budget(self) -> bool:
        """Whether dollars are limited, of a run or of all."""
        return self.suite.spec.limits.budget_usd is not None or self.remaining_budget(0.0) is not None

    def remaining_budget(self, spent_usd: float) -> float | None:
        """What is left of the experiment's budget after what was spent otherwise: on judges, or on runs."""
        budget = self.request.total_budget_usd(self.suite)
        return None if budget is None else budget - spent_usd


def _records(store: FolderRunStore) -> list[RunRecord]:
    return [record for attempts in store.finished().values() for record in attempts]
