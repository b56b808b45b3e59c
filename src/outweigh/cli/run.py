"""`outweigh run`: attempt every trial of a suite, and leave records that can be trusted."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from outweigh.adapters.stores.run_store import FolderRunStore
from outweigh.adapters.workspaces.wastebin import Wastebin
from outweigh.cli.allowed_hosts import allowed_hosts
from outweigh.cli.amounts import dollars, jobs, repeats
from outweigh.cli.arguments import Parser, price_tables
from outweigh.cli.event_file import told_to_file
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.interruptible import interruptible
from outweigh.cli.judging_after_run import BEFORE_JUDGING, judge_afterwards, prepare_judges, spent_on_judges
from outweigh.cli.model_gateway import model_gateway
from outweigh.cli.progress import ProgressLine, tell
from outweigh.cli.reusing import add_reuse_options, begin_store, note_drift
from outweigh.cli.run_ending import say_how_it_ended
from outweigh.cli.scratch_folder import Scratch, scratch_folder, sweep_scratch
from outweigh.cli.suite_choice import add_suite_options, chosen_suite, nothing_to_compare
from outweigh.cli.trying import require_preflight
from outweigh.cli.workshop import Equipment, equip, label_of, workshop
from outweigh.errors import UsageError
from outweigh.run.batch import Stop
from outweigh.run.budget import Budget
from outweigh.run.experiment import clear_up, conduct, decided_by, progress_of
from outweigh.run.loading import LoadedSuite, usual_repeats
from outweigh.run.plan import PlannedRun, plan_runs
from outweigh.run.workshop import Workshop
from outweigh.task.suite import Executor
from outweigh.verdict.gated_metric import JUDGE_SCORE

SHOWN_RUNS = 10

CODES = {
    Stop.DONE: ExitCode.SATISFIED,
    Stop.DECIDED: ExitCode.SATISFIED,
    Stop.INCOMPLETE: ExitCode.UNUSABLE_EVIDENCE,
    Stop.BUDGET: ExitCode.BUDGET_EXHAUSTED,
    Stop.INTERRUPTED: ExitCode.INTERRUPTED,
}


def main(arguments: Sequence[str]) -> int:
    """Run, or go on with, an experiment."""
    options = run_parser().parse_args(arguments)
    with chosen_suite(options) as suite:
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
    equipment = equip(suite)
    if options.dry_run:
        return _describe(plan, suite, equipment, folder)
    with FolderRunStore.open(folder) as store:
        begin_store(store, suite, plan, options, equipment.secrets.values())
        prepare_judges(folder, suite)
        _sweep(equipment, folder)
        with (
            scratch_folder(folder) as scratch,
            Wastebin(scratch / "waste") as wastebin,
            allowed_hosts(suite.spec.sandbox) as hosts,
            model_gateway(suite, equipment) as gateway,
        ):
            require_preflight(folder, suite, scratch=scratch, label=label_of(folder), go_on=options.yes)
            shop = workshop(
                suite,
                equipment,
                store,
                label_of(folder),
                Scratch(folder=scratch, remove=wastebin.remove),
                cancel=Event(),
                gateway=gateway,
                hosts=hosts,
            )
            stop = _run(options, suite, plan, shop, store)
        if suite.spec.judges and stop in BEFORE_JUDGING:
            stop = _judge(options, suite, plan, store) or stop
    return CODES[stop]


def _through_harbor(suite: LoadedSuite, options: argparse.Namespace, plan: Sequence[PlannedRun], folder: Path) -> int:
    """The same suite and the same store; the runs are made elsewhere."""
    from outweigh.cli.harbor_run import describe_jobs, harbor_work  # noqa: PLC0415 - only where Harbor is asked for

    if options.dry_run:
        return describe_jobs(suite, options, plan, folder)
    work = harbor_work(suite, options)
    with FolderRunStore.open(folder) as store:
        begin_store(store, suite, plan, options, work.secrets)
        prepare_judges(folder, suite)
        stop = work.run(options, plan, store)
        if suite.spec.judges and stop in BEFORE_JUDGING:
            stop = _judge(options, suite, plan, store) or stop
    return CODES[stop]


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
    repeats = options.repeats or usual_repeats(suite)
    tasks = [task.id for task in suite.tasks]
    return plan_runs(tasks, list(suite.arms), repeats, suite.spec.seed, task_by_task=options.until_decided)


def _sweep(equipment: Equipment, folder: Path) -> None:
    """Processes first: they might still write to the folders."""
    left = [*equipment.sandboxes.sweep(f"{label_of(folder)}:"), sweep_scratch(folder)]
    for what in filter(None, left):
        tell(f"outweigh: removed what an earlier engine left behind: {what}\n", sys.stderr)


def _run(
    options: argparse.Namespace, suite: LoadedSuite, plan: Sequence[PlannedRun], shop: Workshop, store: FolderRunStore
) -> Stop:
    spec, drain = suite.spec, Event()
    for repair in store.repairs:
        tell(f"outweigh: {repair}\n", sys.stderr)
    with (
        ProgressLine(plan, sys.stderr) as line,
        told_to_file(options.events, line) as listen,
        interruptible(drain, shop.cancel),
    ):
        clear_up(shop, plan, store.abandoned(), listen)
        progress = progress_of(plan, store)
        line.resume(progress)
        budget = Budget(_left(options, suite, spent_on_judges(store)), spec.limits.budget_usd, progress.paid)
        decided = decided_by(spec, store, shop.tasks, price_tables(None)) if options.until_decided else None
        stop = conduct(
            shop, spec, progress, jobs=options.jobs, budget=budget, decided=decided, drain=drain, listen=listen
        )
    note_drift(store, suite)
    say_how_it_ended(stop, plan, progress_of(plan, store), budget, store.folder)
    return stop


def _judge(
    options: argparse.Namespace, suite: LoadedSuite, plan: Sequence[PlannedRun], store: FolderRunStore
) -> Stop | None:
    """Why the command ends otherwise than its runs did; whatever judges do, runs that are done stay done."""
    left = _left(options, suite, progress_of(plan, store).spent_usd)
    stop = judge_afterwards(suite, store, jobs=options.jobs, cap_usd=left, events=options.events)
    return stop if stop is Stop.INTERRUPTED else None


def _left(options: argparse.Namespace, suite: LoadedSuite, spent_usd: float) -> float | None:
    """What is left of the experiment's purse once somebody else has been paid."""
    cap: float | None = options.budget or suite.spec.budget_usd
    return None if cap is None else cap - spent_usd


def _describe(plan: Sequence[PlannedRun], suite: LoadedSuite, equipment: Equipment, folder: Path) -> int:
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
    parser.add_argument("-k", "--repeats", type=repeats, metavar="N", help="repeats (default: the suite's, else 5)")
    parser.add_argument("-j", "--jobs", type=jobs, default=2, metavar="N", help="at once (default: %(default)s)")
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="the store (default: outweigh-runs/NAME); resumed if it exists"
    )
    parser.add_argument("--budget", type=dollars, metavar="USD", help="stop before the run that could exceed it")
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
