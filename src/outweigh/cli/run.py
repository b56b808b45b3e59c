"""`outweigh run`: attempt every trial of a suite, and leave records that can be trusted."""

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event as Signal

from outweigh.adapters.stores.experiment_file import remember_suite
from outweigh.adapters.stores.run_store import FolderRunStore
from outweigh.adapters.workspaces.copies import CachedWorkspaces
from outweigh.adapters.workspaces.patch import diff
from outweigh.cli.arguments import Parser
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.progress import ProgressLine
from outweigh.cli.sandbox_choice import choose_sandbox
from outweigh.errors import UsageError
from outweigh.plugins import load
from outweigh.ports import Agent, SandboxProvider
from outweigh.run.attempt import Workshop
from outweigh.run.batch import Stop
from outweigh.run.experiment import Progress, clear_up, conduct, progress_of
from outweigh.run.loading import LoadedSuite, load_suite
from outweigh.run.plan import PlannedRun, plan_runs
from outweigh.task.suite import DEFAULT_REPEATS, LADDER_REPEATS

SHOWN_RUNS = 10

CODES = {
    Stop.DONE: ExitCode.SATISFIED,
    Stop.DECIDED: ExitCode.SATISFIED,
    Stop.BUDGET: ExitCode.BUDGET_EXHAUSTED,
    Stop.INTERRUPTED: ExitCode.INTERRUPTED,
}


def main(arguments: Sequence[str]) -> int:
    """Run, or go on with, an experiment."""
    options = _parser().parse_args(arguments)
    suite = load_suite(Path(options.suite))
    repeats = options.repeats or suite.spec.repeats or _usual_repeats(suite)
    plan = plan_runs(
        [task.id for task in suite.tasks],
        list(suite.arms),
        repeats,
        suite.spec.seed,
        task_by_task=options.until_decided,
    )
    provider = choose_sandbox(suite.spec.sandbox.kind)
    agents = _agents(suite)
    folder = Path(options.output or Path("outweigh-runs") / suite.spec.name)
    if options.dry_run:
        return _describe(plan, suite, provider, folder)
    with FolderRunStore.open(folder) as store, tempfile.TemporaryDirectory(prefix="outweigh-") as scratch:
        remember_suite(folder, suite.spec, suite.tasks, suite.arms)
        return _run(options, suite, plan, provider, agents, store, Path(scratch))


def _run(
    options: argparse.Namespace,
    suite: LoadedSuite,
    plan: Sequence[PlannedRun],
    provider: SandboxProvider,
    agents: dict[str, Agent],
    store: FolderRunStore,
    scratch: Path,
) -> int:
    label = f"outweigh:{suite.spec.name}"
    for left in provider.sweep(label):
        print(f"outweigh: removed what an earlier engine left behind: {left}", file=sys.stderr)
    drain, cancel = Signal(), Signal()
    shop = _workshop(suite, provider, agents, store, scratch, label, cancel)
    with ProgressLine(plan, sys.stderr) as line, _interruptible(drain, cancel):
        for repair in store.repairs:
            print(f"outweigh: {repair}", file=sys.stderr)
        clear_up(shop, plan, store.abandoned(), line)
        progress = progress_of(plan, store)
        line.resume(progress)
        stop = conduct(
            shop,
            suite.spec,
            progress,
            jobs=options.jobs,
            budget_usd=options.budget or suite.spec.budget_usd,
            until_decided=options.until_decided,
            drain=drain,
            listen=line,
        )
    _say_how_it_ended(stop, plan, progress_of(plan, store))
    return CODES[stop]


def _workshop(
    suite: LoadedSuite,
    provider: SandboxProvider,
    agents: dict[str, Agent],
    store: FolderRunStore,
    scratch: Path,
    label: str,
    cancel: Signal,
) -> Workshop:
    return Workshop(
        tasks={task.id: task for task in suite.tasks},
        arms=suite.arms,
        overlays=suite.overlays,
        agents=agents,
        sandboxes=provider,
        workspaces=CachedWorkspaces(scratch / "pristine"),
        store=store,
        sandbox=suite.spec.sandbox,
        limits=suite.spec.limits,
        secrets=_secrets(suite),
        scratch=scratch / "trials",
        label=label,
        cancel=cancel,
        now=lambda: datetime.now(UTC),
        diff=diff,
    )


def _agents(suite: LoadedSuite) -> dict[str, Agent]:
    """Every agent the arms name; one that cannot run here is refused before anything is paid for."""
    agents: dict[str, Agent] = {name: load("agent", name) for name in {arm.agent for arm in suite.arms.values()}}
    for arm in suite.arms.values():
        if (missing := agents[arm.agent].missing(arm)) is not None:
            raise UsageError(f"arm {arm.name!r} cannot run here: {missing}")
    return agents


def _secrets(suite: LoadedSuite) -> dict[str, str]:
    wanted = {name for arm in suite.arms.values() for name in arm.secrets}
    missing = sorted(name for name in wanted if name not in os.environ)
    if missing:
        raise UsageError(f"the suite names the secret {missing[0]}, which is not in the environment; export it first.")
    return {name: os.environ[name] for name in wanted}


def _usual_repeats(suite: LoadedSuite) -> int:
    return LADDER_REPEATS if any(arm.tier is not None for arm in suite.arms.values()) else DEFAULT_REPEATS


@contextmanager
def _interruptible(drain: Signal, cancel: Signal) -> Iterator[None]:
    """The first Ctrl-C lets running trials finish, the second ends them."""

    def interrupt(number: int, frame: object) -> None:  # noqa: ARG001 - the signature of a handler
        if drain.is_set():
            cancel.set()
        drain.set()

    before = {kind: signal.signal(kind, interrupt) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _describe(plan: Sequence[PlannedRun], suite: LoadedSuite, provider: SandboxProvider, folder: Path) -> int:
    shape = f"{len(suite.tasks)} tasks × {len(suite.arms)} arms"
    print(f"{suite.spec.name}: {shape}, {len(plan)} runs in {provider.name} sandboxes, to be kept in {folder}")
    cap = suite.spec.limits.budget_usd
    worst = None if cap is None else cap * len(plan)
    print("cost: unknown; [limits] budget_usd would cap a run" if worst is None else f"cost: at most ${worst:,.2f}")
    for run in plan[:SHOWN_RUNS]:
        print(f"  {run.position + 1}. {run.trial.task_id}, {run.trial.arm}, repeat {run.trial.repeat}")
    if len(plan) > SHOWN_RUNS:
        print(f"  … and {len(plan) - SHOWN_RUNS} more")
    return ExitCode.SATISFIED


def _say_how_it_ended(stop: Stop, plan: Sequence[PlannedRun], progress: Progress) -> None:
    spent = f"${progress.spent_usd:,.4f}" + (f" and {progress.costs_unknown} unknown" if progress.costs_unknown else "")
    print(f"{stop.value}: {progress.done} of {len(plan)} trials have a result, {spent} spent", file=sys.stderr)
    if stop is Stop.BUDGET:
        print("to go on: raise the budget with --budget and run the same command again", file=sys.stderr)
    if stop is Stop.INTERRUPTED:
        print("to go on: run the same command again; nothing that finished is repeated", file=sys.stderr)


def _parser() -> Parser:
    parser = Parser(prog="outweigh run", description="Attempt every trial of a suite.", allow_abbrev=False)
    parser.add_argument("-c", "--suite", required=True, metavar="SUITE", help="a suite.toml, or the folder it is in")
    parser.add_argument("-k", "--repeats", type=_positive, metavar="N", help="repeats (default: the suite's, else 5)")
    parser.add_argument("-j", "--jobs", type=_positive, default=2, metavar="N", help="at once (default: %(default)s)")
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="the store (default: outweigh-runs/NAME); resumed if it exists"
    )
    parser.add_argument("--budget", type=_dollars, metavar="USD", help="stop before the run that could exceed it")
    parser.add_argument("--until-decided", action="store_true", help="stop as soon as the evidence decides")
    parser.add_argument("--dry-run", action="store_true", help="show the plan and what it may cost")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def _dollars(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 < amount < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount in dollars")
    return amount
