"""Run a suite: attempt every trial that has no result yet, store the records, and have them judged."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from outweigh.app.build_engine import (
    Scratch,
    SuiteAdapters,
    build_engine_deps,
    engine_label,
    load_suite_adapters,
    open_model_gateway,
    scratch_folder,
    sweep_scratch,
)
from outweigh.app.check_before_run import check_before_run, faults_before_start
from outweigh.app.judging_round import (
    STOPS_BEFORE_JUDGING,
    judge_after_run,
    judge_command,
    judge_spending,
    missing_judges,
    store_judging,
)
from outweigh.app.observer import RunObserver, RunSummary, RunWatch, StopSignals, store_spending
from outweigh.app.open_files import require_open_files
from outweigh.app.preflight_suite import require_preflight
from outweigh.app.prepare_store import begin_store, note_drift
from outweigh.app.run_request import (
    NothingToCompare,
    RunPreview,
    RunRequest,
    baseline_repeats,
    plan_suite,
    with_reuse_limit,
)
from outweigh.app.run_stages import PlannedSuite, planned_repeats, run_in_stages, tier_budgets
from outweigh.app.sandbox_limits import with_default_limits
from outweigh.app.suite_sandbox import choose_sandbox, model_hosts, open_allowed_hosts, sandbox_name
from outweigh.app.suite_selection import choose_suite, nothing_to_compare
from outweigh.app.suite_versions import SuiteVersions, find_versions
from outweigh.app.task_images import (
    prepare_task_images,
    refuse_store_without_images,
    require_agents_start,
)
from outweigh.app.token_limits import RunTokens, refuse_unkept_token_limit
from outweigh.app.try_arms import TryRequest
from outweigh.app.until_decided import Looks, looks_of_store
from outweigh.engine.batch import EndReason
from outweigh.engine.budget import Budget
from outweigh.engine.experiment import (
    close_abandoned_attempts,
    experiment_progress,
    run_experiment,
    thread_executor,
)
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.run_agent import EngineDeps
from outweigh.engine.trial_plan import PlannedRun, plan_sha256, shard_runs
from outweigh.errors import UsageError
from outweigh.model.look_plan import LookPlan, plan_even_looks
from outweigh.model.preflight_result import PreflightResult
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import Executor
from outweigh.prices import price_tables
from outweigh.store.experiment_changes import check_experiment
from outweigh.store.experiment_file import read_experiment, read_rule_labels
from outweigh.store.run_store import FolderRunStore
from outweigh.store.shard_files import ShardFile, begin_shard
from outweigh.verdict.evidence_settings import JUDGE_SCORE
from outweigh.workspace.trash import Trash

if TYPE_CHECKING:
    from outweigh.app.run_on_cluster import ClusterRun


def run(request: RunRequest, observer: RunObserver) -> EndReason | RunPreview | NothingToCompare:
    """Run, or go on with, the requested suite."""
    with choose_suite(request.suite) as suite:
        if (reason := nothing_to_compare(suite, request.suite)) is not None:
            return NothingToCompare(reason)
        return run_suite(suite, request, observer)


def run_suite(suite: LoadedSuite, request: RunRequest, observer: RunObserver) -> EndReason | RunPreview:
    """Everything that is left to do of a suite; only a preview of it in a dry run."""
    suite = with_reuse_limit(suite, request)
    if suite.inheriting:
        return run_in_stages(suite, request, observer, run_planned)
    folder = request.store_folder(suite)
    versions = find_versions(suite, folder, fresh_baseline=request.fresh_baseline)
    asked = plan_suite(versions.suite, request)
    whole = versions.extend_plan(asked, baseline_repeats(versions.suite, request))
    plan = whole if request.shard is None else shard_runs(whole, request.shard)
    planned = PlannedSuite(versions=versions, plan=plan, repeats=planned_repeats(asked), whole=whole)
    ended = run_planned(planned, request, observer)
    return EndReason.BUDGET if ended is EndReason.TIER_BUDGET else ended


def run_planned(planned: PlannedSuite, request: RunRequest, observer: RunObserver) -> EndReason | RunPreview:
    """Attempt what is left of a plan, and judge it."""
    versions = planned.versions
    suite, folder, known = versions.suite, request.store_folder(versions.suite), versions.experiment
    if request.fresh_baseline and request.reuse:
        raise UsageError("--fresh-baseline runs the baseline again, and --reuse takes over its runs; use one of them.")
    if request.until_decided and known is not None and known.looked_at is None and (versions.new or known.versions):
        raise UsageError(
            f"--until-decided plans its looks before the first run, and {folder} was begun without it. Leave it out, "
            "or run into another folder with -o."
        )
    refuse_unkept_token_limit(suite)
    work = _SuiteRun(
        suite=suite,
        request=request,
        plan=planned.plan,
        folder=folder,
        observer=observer,
        versions=versions,
        planned=planned,
        tokens=RunTokens(suite, request),
    )
    if suite.spec.executor is Executor.HARBOR:
        return work.through_harbor()
    if suite.spec.executor is Executor.DASK:
        return work.through_cluster()
    adapters = load_suite_adapters(suite)
    if request.dry_run:
        return work.preview(sandbox=adapters.sandboxes.name)
    return work.through_engine(adapters)


def _records(store: FolderRunStore) -> list[RunRecord]:
    return [record for attempts in store.finished().values() for record in attempts]


@dataclass(frozen=True, slots=True)
class _Ended:
    """How the trials ended, and whether it was because nobody knows what a run costs."""

    stop: EndReason
    cost_is_unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _SuiteRun:
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

    def through_engine(self, adapters: SuiteAdapters) -> EndReason:
        """Attempt the trials in sandboxes of this machine."""
        signals, label = StopSignals(), engine_label(self.folder)
        require_open_files(
            self.request.jobs, adapters.sandboxes.name, asks_models=bool(adapters.model_users(self.suite))
        )
        # Before anything is stored or paid for: an image may not build, and an agent may not start in it.
        refuse_store_without_images(self.folder, self.suite)
        images = prepare_task_images(self.suite, adapters.sandboxes, self.observer.notify)
        require_agents_start(self.suite, adapters.sandboxes, adapters.agents, images)
        adapters = replace(adapters, images=images)
        with self._open_store() as store:
            self._begin(store, adapters.secrets.values())
            self._remove_leftovers(adapters, label)
            with (
                scratch_folder(self.folder) as scratch,
                Trash(scratch / "waste") as trash,
                open_allowed_hosts(self.suite.spec.sandbox, model_hosts(self.suite)) as hosts,
                open_model_gateway(self.suite, adapters, self.tokens.queue) as gateway,
            ):
                self._check_arms(store, adapters, scratch, label)
                tried = require_preflight(
                    self.folder,
                    self.suite,
                    scratch=scratch,
                    label=label,
                    ignore_faults=self.request.assume_yes,
                    images=images,
                )
                deps = build_engine_deps(
                    self.suite,
                    adapters,
                    store,
                    label,
                    Scratch(folder=scratch, remove=trash.remove),
                    cancel=signals.cancel,
                    gateway=gateway,
                    hosts=hosts,
                    labels=read_rule_labels(store.folder),
                )
                deps = replace(deps, sandbox=with_default_limits(deps.sandbox, self.request.jobs))
                deps = replace(deps, expected_cases={result.task_id: result.case_names for result in tried})
                stop = self._watch(store, signals, lambda watch: self._attempt_trials(deps, store, signals, watch))
            return self._judge(store, stop)

    def through_cluster(self) -> EndReason | RunPreview:
        """Attempt the trials on the hosts of a Dask cluster; this process decides and stores."""
        from outweigh.app.run_on_cluster import ClusterRun, check_cluster  # noqa: PLC0415 - only where it is asked for

        signals = StopSignals()
        cluster = check_cluster(self.suite, self.request)
        if self.request.dry_run:
            return self.preview(sandbox=sandbox_name(self.suite.spec.sandbox, self.suite.tasks))
        with self._open_store() as store:
            self._begin(store, ())
            tried = self._try_tasks(store)
            work = ClusterRun(suite=self.suite, plan=self.plan, cluster=cluster, tried=tried, store=store)
            stop = self._watch(store, signals, lambda watch: self._attempt_on(work, store, signals, watch))
            return self._judge(store, stop)

    def _try_tasks(self, store: FolderRunStore) -> tuple[PreflightResult, ...]:
        """What the tasks show before any run, tried in the sandbox of this machine."""
        label = engine_label(self.folder)
        with scratch_folder(self.folder) as scratch:
            images = prepare_task_images(
                self.suite, choose_sandbox(self.suite.spec.sandbox, self.suite.tasks), self.observer.notify
            )
            found = require_preflight(
                store.folder,
                self.suite,
                scratch=scratch,
                label=label,
                ignore_faults=self.request.assume_yes,
                images=images,
            )
        return tuple(found)

    def _attempt_on(self, work: "ClusterRun", store: FolderRunStore, signals: StopSignals, watch: RunWatch) -> _Ended:
        spec = self.suite.spec
        budgets = tier_budgets(self.suite, store, spec.limits.budget_usd, self.request.shard)
        looks = self._looks(store)
        with work.open(looks, signals, watch.listen) as executor:
            work.recover(executor, watch.listen)
            progress = experiment_progress(self.plan, store)
            watch.resume(progress)
            budget = Budget(
                self._remaining_budget(judge_spending(store)), spec.limits.budget_usd, progress.paid_at_most
            )
            executor.budgets = lambda arm: [budget, *([budgets[arm]] if arm in budgets else [])]
            stop = run_experiment(
                work.paced(executor, watch.listen),
                progress,
                retries=spec.limits.retries,
                budget=budget,
                looks=looks,
                drain=signals.drain,
                listen=watch.listen,
                keep_going=self.request.keep_going,
                tier_budgets=budgets,
            )
        return _Ended(stop, budget.cost_is_unknown)

    def through_harbor(self) -> EndReason | RunPreview:
        """The same suite and store; Harbor makes the runs."""
        from outweigh.app.run_harbor import (  # noqa: PLC0415 - only where Harbor is asked for
            prepare_harbor_run,
            preview_jobs,
            refuse_unsupported_limits,
        )

        request, signals = self.request, StopSignals()
        refuse_unsupported_limits(budget_usd=request.budget_usd, until_decided=request.until_decided)
        if request.dry_run:
            return self.preview(harbor_jobs=preview_jobs(self.suite, request.jobs, self.plan, self.folder))
        harbor = prepare_harbor_run(self.suite, jobs=request.jobs, assume_yes=request.assume_yes)
        with self._open_store() as store:
            self._begin(store, harbor.secrets)
            for complaint in missing_judges(self.suite):
                self.observer.notify(complaint)
            stop = self._watch(store, signals, lambda watch: _Ended(harbor.run(self.plan, store, signals, watch)))
            return self._judge(store, stop)

    def _open_store(self) -> FolderRunStore:
        """The store, with files of its own for every shard, so that the folders of shards can be copied into one."""
        writer = "engine" if self.request.shard is None else self.request.shard.file_name
        return FolderRunStore.open(self.folder, writer=writer, snapshot=self.versions.snapshot)

    def _begin(self, store: FolderRunStore, secrets: Collection[str]) -> None:
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

    def _check_arms(self, store: FolderRunStore, adapters: SuiteAdapters, scratch: Path, label: str) -> None:
        """Before the first paid run: what is wrong with the arms that have runs left, their models and the judges."""
        request, limits = self.request, self.suite.spec.limits
        tries = TryRequest(
            suite=self.suite,
            adapters=adapters,
            arms={run.trial.arm for run, _ in experiment_progress(self.plan, store).left},
            store=self.folder,
            scratch=scratch,
            label=label,
            jobs=request.jobs,
            keep_faults=request.assume_yes,
        )
        has_budget = limits.budget_usd is not None or self._remaining_budget(0.0) is not None
        check_before_run(tries, self.observer.notify, has_budget=has_budget, ignore_faults=request.assume_yes)

    def _planned_looks(self) -> LookPlan | None:
        """When the results are to be looked at; None where the run is to go on to its end."""
        if not self.request.until_decided:
            return None
        order = tuple(dict.fromkeys(run.trial.task_id for run in self.plan))
        return plan_even_looks(order, baseline_repeats(self.suite, self.request))

    def _looks(self, store: FolderRunStore) -> Looks | None:
        """The looks of this run, which know of everything that earlier engines finished."""
        planned, experiment = self._planned_looks(), read_experiment(self.folder)
        if planned is None or experiment is None:
            return None
        looks = looks_of_store(experiment, planned.order, planned.repeats, price_tables(None))
        for attempts in store.finished().values():
            for record in attempts:
                looks.add(record)
        return looks

    def _remove_leftovers(self, adapters: SuiteAdapters, label: str) -> None:
        """Processes first: they might still write to the folders."""
        left = [*adapters.sandboxes.sweep(f"{label}:"), sweep_scratch(self.folder)]
        for what in filter(None, left):
            self.observer.notify(f"removed what an earlier engine left behind: {what}")

    def _watch(self, store: FolderRunStore, signals: StopSignals, work: Callable[[RunWatch], _Ended]) -> EndReason:
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

    def _attempt_trials(self, deps: EngineDeps, store: FolderRunStore, signals: StopSignals, watch: RunWatch) -> _Ended:
        spec = self.suite.spec
        close_abandoned_attempts(deps, self.plan, store.abandoned(), watch.listen)
        progress = experiment_progress(self.plan, store)
        watch.resume(progress)
        budget = Budget(self._remaining_budget(judge_spending(store)), spec.limits.budget_usd, progress.paid_at_most)
        looks = self._looks(store)
        stop = run_experiment(
            self.tokens.paced(thread_executor(deps, self.request.jobs, looks), watch.listen),
            progress,
            retries=spec.limits.retries,
            budget=budget,
            looks=looks,
            drain=signals.drain,
            listen=watch.listen,
            keep_going=self.request.keep_going,
            tier_budgets=tier_budgets(self.suite, store, spec.limits.budget_usd, self.request.shard),
        )
        return _Ended(stop, budget.cost_is_unknown)

    def _judge(self, store: FolderRunStore, stop: EndReason) -> EndReason:
        """How the command ends; whatever judges do, runs that are done stay done."""
        if not self.suite.spec.judges or stop not in STOPS_BEFORE_JUDGING:
            return stop
        left = self._remaining_budget(experiment_progress(self.plan, store).spent_usd)
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

    def _remaining_budget(self, spent_usd: float) -> float | None:
        """What is left of the experiment's budget after what was spent otherwise: on judges, or on runs."""
        budget = self.request.total_budget_usd(self.suite)
        return None if budget is None else budget - spent_usd
