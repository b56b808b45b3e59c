"""Run a suite: attempt every trial that has no result yet, store the records, and have them judged."""

from dataclasses import replace
from pathlib import Path

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
from outweigh.app.check_before_run import check_before_run, describe_refusal, faults_of_suite
from outweigh.app.judging_round import missing_judges
from outweigh.app.observer import RunObserver, RunWatch, StopSignals
from outweigh.app.open_files import require_open_files
from outweigh.app.run_request import (
    NothingToCompare,
    RunPreview,
    RunRequest,
    baseline_repeats,
    plan_suite,
    with_reuse_limit,
)
from outweigh.app.run_stages import PlannedSuite, planned_repeats, run_in_stages
from outweigh.app.sandbox_limits import with_default_limits
from outweigh.app.suite_run import Ended, SuiteRun
from outweigh.app.suite_sandbox import choose_sandbox, model_hosts, open_allowed_hosts, sandbox_name
from outweigh.app.suite_selection import choose_suite, nothing_to_compare
from outweigh.app.suite_versions import find_versions
from outweigh.app.task_images import (
    prepare_task_images,
    refuse_store_without_images,
    require_agents_start,
)
from outweigh.app.token_limits import RunTokens, refuse_unkept_token_limit
from outweigh.app.try_arms import TryRequest
from outweigh.engine.batch import EndReason
from outweigh.engine.experiment import (
    close_abandoned_attempts,
    thread_executor,
)
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.run_agent import EngineDeps
from outweigh.engine.trial_plan import shard_runs
from outweigh.errors import UsageError
from outweigh.model.suite import Executor
from outweigh.ports.sandboxes import SandboxProvider
from outweigh.store.experiment_file import read_rule_labels
from outweigh.store.run_store import FolderRunStore
from outweigh.workspace.trash import Trash


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
    work = SuiteRun(
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
        return _through_harbor(work)
    if suite.spec.executor is Executor.DASK:
        return _through_cluster(work)
    adapters = load_suite_adapters(suite)
    if request.dry_run:
        return work.preview(sandbox=adapters.sandboxes.name)
    return _through_engine(work, adapters)


def _through_engine(work: SuiteRun, adapters: SuiteAdapters) -> EndReason:
    """Attempt the trials in sandboxes of this machine."""
    signals, label = StopSignals(), engine_label(work.folder)
    require_open_files(work.request.jobs, adapters.sandboxes.name, asks_models=bool(adapters.model_users(work.suite)))
    # Before anything is stored or paid for: an image may not build, and an agent may not start in it.
    refuse_store_without_images(work.folder, work.suite)
    images = prepare_task_images(work.suite, adapters.sandboxes, work.observer.notify)
    require_agents_start(work.suite, adapters.sandboxes, adapters.agents, images)
    adapters = replace(adapters, images=images)
    with work.open_store() as store:
        work.begin(store, adapters.secrets.values())
        _remove_leftovers(work, adapters.sandboxes, label)
        with (
            scratch_folder(work.folder) as scratch,
            Trash(scratch / "waste") as trash,
            open_allowed_hosts(work.suite.spec.sandbox, model_hosts(work.suite)) as hosts,
            open_model_gateway(work.suite, adapters, work.tokens.queue) as gateway,
        ):
            _check_arms(work, store, adapters, scratch, label)
            tried = work.try_tasks(scratch, label, images)
            deps = build_engine_deps(
                work.suite,
                adapters,
                store,
                label,
                Scratch(folder=scratch, remove=trash.remove),
                cancel=signals.cancel,
                gateway=gateway,
                hosts=hosts,
                labels=read_rule_labels(store.folder),
            )
            deps = replace(deps, sandbox=with_default_limits(deps.sandbox, work.request.jobs))
            deps = replace(deps, expected_cases={result.task_id: result.case_names for result in tried})
            stop = work.watch(store, signals, lambda watch: _attempt_here(work, deps, store, signals, watch))
        return work.judge(store, stop)


def _attempt_here(
    work: SuiteRun, deps: EngineDeps, store: FolderRunStore, signals: StopSignals, watch: RunWatch
) -> Ended:
    close_abandoned_attempts(deps, work.plan, store.abandoned(), watch.listen)
    looks = work.looks(store)
    executor = work.tokens.paced(thread_executor(deps, work.request.jobs, looks), watch.listen)
    return work.attempt_left(executor, store, signals, watch, looks)


def _check_arms(work: SuiteRun, store: FolderRunStore, adapters: SuiteAdapters, scratch: Path, label: str) -> None:
    """Before the first paid run: what is wrong with the arms that have runs left, their models and the judges."""
    request = work.request
    tries = TryRequest(
        suite=work.suite,
        adapters=adapters,
        arms=work.arms_left(store),
        store=work.folder,
        scratch=scratch,
        label=label,
        jobs=request.jobs,
        keep_faults=request.assume_yes,
    )
    check_before_run(tries, work.observer.notify, has_budget=work.has_budget, ignore_faults=request.assume_yes)


def _refuse_faults(work: SuiteRun, faults: list[str]) -> None:
    """What can be said on this machine of arms that run on others, which try them."""
    if faults and not work.request.assume_yes:
        raise UsageError(describe_refusal(faults))
    for fault in faults:
        work.observer.notify(fault)


def _remove_leftovers(work: SuiteRun, sandboxes: SandboxProvider, label: str) -> None:
    """Processes first: they might still write to the folders."""
    left = [*sandboxes.sweep(f"{label}:"), sweep_scratch(work.folder)]
    for what in filter(None, left):
        work.observer.notify(f"removed what an earlier engine left behind: {what}")


def _through_cluster(work: SuiteRun) -> EndReason | RunPreview:
    """Attempt the trials on the hosts of a Dask cluster; this process decides and stores."""
    from outweigh.app.run_on_cluster import (  # noqa: PLC0415 - only where it is asked for
        ClusterRun,
        check_cluster,
        keys_that_travel,
    )

    signals, suite = StopSignals(), work.suite
    cluster = check_cluster(suite, work.request)
    if work.request.dry_run:
        return work.preview(sandbox=sandbox_name(suite.spec.sandbox, suite.tasks))
    with work.open_store() as store:
        work.begin(store, ())
        _refuse_faults(work, [*keys_that_travel(suite), *faults_of_suite(suite, work.arms_left(store))])
        sandboxes, label = choose_sandbox(suite.spec.sandbox, suite.tasks), engine_label(work.folder)
        _remove_leftovers(work, sandboxes, label)
        with scratch_folder(work.folder) as scratch:
            images = prepare_task_images(suite, sandboxes, work.observer.notify)
            tried = work.try_tasks(scratch, label, images)
        on_cluster = ClusterRun(
            suite=suite,
            plan=work.plan,
            cluster=cluster,
            tried=tried,
            store=store,
            has_budget=work.has_budget,
            ignore_faults=work.request.assume_yes,
        )

        def attempt(watch: RunWatch) -> Ended:
            looks = work.looks(store)
            with on_cluster.open(looks, signals, watch.listen) as executor:
                on_cluster.recover(executor, watch.listen)
                on_cluster.require_arms(executor, signals)
                paced = on_cluster.paced(executor, watch.listen)
                return work.attempt_left(paced, store, signals, watch, looks, executor.note_budgets)

        return work.judge(store, work.watch(store, signals, attempt))


def _through_harbor(work: SuiteRun) -> EndReason | RunPreview:
    """The same suite and store; Harbor makes the runs."""
    from outweigh.app.run_harbor import (  # noqa: PLC0415 - only where Harbor is asked for
        prepare_harbor_run,
        preview_jobs,
        refuse_unsupported_limits,
    )

    request, signals = work.request, StopSignals()
    refuse_unsupported_limits(budget_usd=request.budget_usd, until_decided=request.until_decided)
    if request.dry_run:
        return work.preview(harbor_jobs=preview_jobs(work.suite, request.jobs, work.plan, work.folder))
    harbor = prepare_harbor_run(work.suite, jobs=request.jobs, assume_yes=request.assume_yes)
    with work.open_store() as store:
        work.begin(store, harbor.secrets)
        for complaint in missing_judges(work.suite):
            work.observer.notify(complaint)
        stop = work.watch(store, signals, lambda watch: Ended(harbor.run(work.plan, store, signals, watch)))
        return work.judge(store, stop)
