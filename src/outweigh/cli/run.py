"""`outweigh run`: attempt every trial of a suite and store the records."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event

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
from outweigh.app.judge import STOPS_BEFORE_JUDGING, judge_after_run, judge_spending, prepare_judges
from outweigh.app.preflight_suite import require_preflight
from outweigh.app.prepare_store import add_reuse_options, begin_store, note_drift
from outweigh.app.suite_sandbox import open_allowed_hosts
from outweigh.app.suite_selection import add_suite_options, choose_suite, nothing_to_compare
from outweigh.cli.arguments import Parser, parse_dollars, parse_jobs, parse_repeats
from outweigh.cli.console import interruptible
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.progress import RunProgress, log_events, print_run_summary, write_notice
from outweigh.engine.attempt import EngineDeps
from outweigh.engine.batch import EndReason
from outweigh.engine.budget import Budget
from outweigh.engine.experiment import (
    close_abandoned_attempts,
    experiment_progress,
    run_experiment,
    sequential_decision,
)
from outweigh.engine.load_suite import LoadedSuite, effective_repeats
from outweigh.engine.trial_plan import PlannedRun, plan_runs
from outweigh.errors import UsageError
from outweigh.model.suite import Executor
from outweigh.prices import price_tables
from outweigh.store.run_store import FolderRunStore
from outweigh.verdict.evidence_settings import JUDGE_SCORE
from outweigh.workspace.trash import Trash

SHOWN_RUNS = 10

RUN_EXIT_CODES = {
    EndReason.DONE: ExitCode.SATISFIED,
    EndReason.DECIDED: ExitCode.SATISFIED,
    EndReason.INCOMPLETE: ExitCode.UNUSABLE_EVIDENCE,
    EndReason.BUDGET: ExitCode.BUDGET_EXHAUSTED,
    EndReason.INTERRUPTED: ExitCode.INTERRUPTED,
}


def main(arguments: Sequence[str]) -> int:
    """Run, or go on with, an experiment."""
    options = run_parser().parse_args(arguments)
    with choose_suite(options) as suite:
        if (why := nothing_to_compare(suite, options)) is not None:
            print(why)
            return ExitCode.SATISFIED
        return run_suite(suite, options)


def run_suite(suite: LoadedSuite, options: argparse.Namespace) -> int:
    """Everything that is left to do of a suite, as the options of `outweigh run` say."""
    plan = _plan(suite, options)
    folder = Path(options.output or Path("outweigh-runs") / suite.spec.name)
    if suite.spec.executor is Executor.HARBOR:
        return _through_harbor(suite, options, plan, folder)
    equipment = load_suite_adapters(suite)
    if options.dry_run:
        return _print_plan(plan, suite, equipment, folder)
    with FolderRunStore.open(folder) as store:
        begin_store(store, suite, plan, options, equipment.secrets.values())
        prepare_judges(folder, suite)
        _remove_leftovers(equipment, folder)
        with (
            scratch_folder(folder) as scratch,
            Trash(scratch / "waste") as wastebin,
            open_allowed_hosts(suite.spec.sandbox) as hosts,
            open_model_gateway(suite, equipment) as gateway,
        ):
            require_preflight(folder, suite, scratch=scratch, label=engine_label(folder), go_on=options.yes)
            deps = build_engine_deps(
                suite,
                equipment,
                store,
                engine_label(folder),
                Scratch(folder=scratch, remove=wastebin.remove),
                cancel=Event(),
                gateway=gateway,
                hosts=hosts,
            )
            stop = _run(options, suite, plan, deps, store)
        if suite.spec.judges and stop in STOPS_BEFORE_JUDGING:
            stop = _judge(options, suite, plan, store) or stop
    return RUN_EXIT_CODES[stop]


def _through_harbor(suite: LoadedSuite, options: argparse.Namespace, plan: Sequence[PlannedRun], folder: Path) -> int:
    """The same suite and the same store; the runs are made elsewhere."""
    from outweigh.app.run_harbor import describe_jobs, prepare_harbor_run  # noqa: PLC0415 - only where Harbor is asked for

    if options.dry_run:
        return describe_jobs(suite, options, plan, folder)
    work = prepare_harbor_run(suite, options)
    with FolderRunStore.open(folder) as store:
        begin_store(store, suite, plan, options, work.secrets)
        prepare_judges(folder, suite)
        stop = work.run(options, plan, store)
        if suite.spec.judges and stop in STOPS_BEFORE_JUDGING:
            stop = _judge(options, suite, plan, store) or stop
    return RUN_EXIT_CODES[stop]


def _plan(suite: LoadedSuite, options: argparse.Namespace) -> tuple[PlannedRun, ...]:
    if options.until_decided and suite.spec.policy.name != "evidence":
        raise UsageError(
            f"--until-decided goes by the policy evidence, and the suite has {suite.spec.policy.name!r}; leave out one."
        )
    if options.until_decided and JUDGE_SCORE in (suite.spec.policy.gates or ()):
        raise UsageError(
            "--until-decided: judges are asked when all trials have ended, so their gate cannot decide before. "
            "Leave it out, or take judge_score out of the gates."
        )
    repeats = options.repeats or effective_repeats(suite)
    tasks = [task.id for task in suite.tasks]
    return plan_runs(tasks, list(suite.arms), repeats, suite.spec.seed, task_by_task=options.until_decided)


def _remove_leftovers(equipment: SuiteAdapters, folder: Path) -> None:
    """Processes first: they might still write to the folders."""
    left = [*equipment.sandboxes.sweep(f"{engine_label(folder)}:"), sweep_scratch(folder)]
    for what in filter(None, left):
        write_notice(f"outweigh: removed what an earlier engine left behind: {what}\n", sys.stderr)


def _run(
    options: argparse.Namespace, suite: LoadedSuite, plan: Sequence[PlannedRun], deps: EngineDeps, store: FolderRunStore
) -> EndReason:
    spec, drain = suite.spec, Event()
    for repair in store.repairs:
        write_notice(f"outweigh: {repair}\n", sys.stderr)
    with (
        RunProgress(plan, sys.stderr) as line,
        log_events(options.events, line) as listen,
        interruptible(drain, deps.cancel),
    ):
        close_abandoned_attempts(deps, plan, store.abandoned(), listen)
        progress = experiment_progress(plan, store)
        line.resume(progress)
        budget = Budget(_remaining_budget(options, suite, judge_spending(store)), spec.limits.budget_usd, progress.paid)
        decided = sequential_decision(spec, store, deps.tasks, price_tables(None)) if options.until_decided else None
        stop = run_experiment(
            deps, spec, progress, jobs=options.jobs, budget=budget, decided=decided, drain=drain, listen=listen
        )
    note_drift(store, suite)
    print_run_summary(stop, plan, experiment_progress(plan, store), budget, store.folder)
    return stop


def _judge(
    options: argparse.Namespace, suite: LoadedSuite, plan: Sequence[PlannedRun], store: FolderRunStore
) -> EndReason | None:
    """Why the command ends otherwise than its runs did; whatever judges do, runs that are done stay done."""
    left = _remaining_budget(options, suite, experiment_progress(plan, store).spent_usd)
    stop = judge_after_run(suite, store, jobs=options.jobs, cap_usd=left, events=options.events)
    return stop if stop is EndReason.INTERRUPTED else None


def _remaining_budget(options: argparse.Namespace, suite: LoadedSuite, spent_usd: float) -> float | None:
    """What is left of the experiment's purse once somebody else has been paid."""
    cap: float | None = options.budget or suite.spec.budget_usd
    return None if cap is None else cap - spent_usd


def _print_plan(plan: Sequence[PlannedRun], suite: LoadedSuite, equipment: SuiteAdapters, folder: Path) -> int:
    shape = f"{len(suite.tasks)} tasks × {len(suite.arms)} arms"
    rooms = equipment.sandboxes.name
    print(f"{suite.spec.name}: {shape}, {len(plan)} runs in {rooms} sandboxes, to be kept in {folder}")
    cap = suite.spec.limits.budget_usd
    worst = None if cap is None else cap * len(plan)
    capped = f"cost: at most ${worst or 0:,.2f}, without {'judges and ' if suite.spec.judges else ''}failed attempts"
    print("cost: unknown; [limits] budget_usd would cap a run" if worst is None else capped)
    for judge in suite.spec.judges:
        often = "once" if judge.passes == 1 else f"{judge.passes} times"
        print(f"judged by {judge.name} ({judge.backend}, {judge.model or 'its own model'}), {often} a run")
    for run in plan[:SHOWN_RUNS]:
        print(f"  {run.position + 1}. {run.trial.task_id}, {run.trial.arm}, repeat {run.trial.repeat}")
    if len(plan) > SHOWN_RUNS:
        print(f"  … and {len(plan) - SHOWN_RUNS} more")
    return ExitCode.SATISFIED


def run_parser() -> Parser:
    """The options of `outweigh run`."""
    parser = Parser(prog="outweigh run", description="Attempt every trial of a suite.", allow_abbrev=False)
    add_suite_options(parser)
    parser.add_argument(
        "-k", "--repeats", type=parse_repeats, metavar="N", help="repeats (default: the suite's, else 5)"
    )
    parser.add_argument("-j", "--jobs", type=parse_jobs, default=2, metavar="N", help="at once (default: %(default)s)")
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="the store (default: outweigh-runs/NAME); resumed if it exists"
    )
    parser.add_argument("--budget", type=parse_dollars, metavar="USD", help="stop before the run that could exceed it")
    parser.add_argument(
        "--executor",
        choices=[each.value for each in Executor],
        metavar="NAME",
        help="who makes the runs: engine or harbor (default: the suite's, else engine)",
    )
    add_reuse_options(parser)
    parser.add_argument("--until-decided", action="store_true", help="stop as soon as the evidence decides")
    parser.add_argument("--events", metavar="FILE", help="append every event as a line of JSON")
    parser.add_argument(
        "-y",
        "--yes",
        action="store_true",
        help="go on although preflight found faults in tasks; let Harbor's tasks have the variables that they ask for",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the plan and what it may cost")
    return parser
