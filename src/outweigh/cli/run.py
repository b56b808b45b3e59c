"""`outweigh run`: attempt every trial of a suite and store the records."""

import argparse
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from outweigh.app.run import run
from outweigh.app.run_request import NothingToCompare, RunPreview, RunRequest
from outweigh.app.suite_selection import SuiteRequest, read_launch_spec
from outweigh.app.this_folder import remember_store
from outweigh.cli.arguments import (
    CommandOptions,
    Parser,
    add_damage_option,
    parse_dollars,
    parse_jobs,
    parse_output,
    parse_repeats,
)
from outweigh.cli.console import print_escaped
from outweigh.cli.defaults import choose_suite_file
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.progress import ConsoleObserver
from outweigh.engine.batch import EndReason
from outweigh.model.launch_spec import LaunchSpec
from outweigh.model.shard import parse_shard
from outweigh.model.suite import Executor
from outweigh.report.formatting import escape_controls

SHOWN_RUNS = 10
MAX_REUSE_DAYS = 3650.0

RUN_EXIT_CODES = {
    EndReason.DONE: ExitCode.SATISFIED,
    EndReason.DECIDED: ExitCode.SATISFIED,
    EndReason.FUTILE: ExitCode.SATISFIED,
    EndReason.INCOMPLETE: ExitCode.UNUSABLE_EVIDENCE,
    EndReason.STOPPED: ExitCode.UNUSABLE_EVIDENCE,
    EndReason.UNJUDGED: ExitCode.UNUSABLE_EVIDENCE,
    EndReason.BUDGET: ExitCode.BUDGET_EXHAUSTED,
    EndReason.TIER_BUDGET: ExitCode.BUDGET_EXHAUSTED,
    EndReason.INTERRUPTED: ExitCode.INTERRUPTED,
}


_WHOLE = (EndReason.DONE, EndReason.DECIDED, EndReason.FUTILE)
"""After these nothing is left to do, so the result can be shown."""


def main(arguments: Sequence[str]) -> int:
    """Run, or go on with, an experiment."""
    options = build_parser().parse_command(arguments, RunOptions())
    request = options.run_request()
    if request.output is not None and not request.dry_run:
        remember_store(request.output)
    observer = ConsoleObserver(options.events, shlex.join(options.command))
    ended = run(request, observer)
    if isinstance(ended, EndReason):
        if ended in _WHOLE and observer.comparable_store is not None:
            _print_decisions(observer.comparable_store)
        return RUN_EXIT_CODES[ended]
    if isinstance(ended, NothingToCompare):
        print(ended.reason)
    else:
        print_preview(ended)
    return ExitCode.SATISFIED


def _print_decisions(store: Path) -> None:
    from outweigh.app.decide_store import decisions_of_store  # noqa: PLC0415 - when the trials have ended

    for decision in decisions_of_store(store):
        print_escaped(decision)


def print_preview(preview: RunPreview) -> None:
    """What `--dry-run` shows."""
    suite, plan = preview.suite, preview.plan
    where = "through Harbor" if preview.sandbox is None else f"in {preview.sandbox} sandboxes"
    shape = f"{len(suite.tasks)} tasks × {len(suite.tiers)} arms"
    part = "" if preview.shard is None else f" of shard {preview.shard}"
    print(f"{suite.spec.name}: {shape}, {len(plan)} runs{part} {where}, to be kept in {preview.folder}")
    faults = (f"to fix before a run: {fault}" for fault in preview.faults)
    notes = (f"note: {note}" for note in suite.notes)
    for words in (*notes, *preview.changes, *_describe_reuse(preview), *faults):
        print(escape_controls(words))
    if preview.sandbox is None:
        print("cost: unknown; Harbor holds no budget")
        for arm, job in preview.harbor_jobs.items():
            print(f"{arm}:\n{job}", end="")
        return
    _print_most_cost(preview)
    for judge in suite.spec.judges:
        often = "once" if judge.passes == 1 else f"{judge.passes} times"
        print(f"judged by {judge.name} ({judge.backend}, {judge.model or 'its own model'}), {often} a run")
    left = preview.missing
    for each in left[:SHOWN_RUNS]:
        print(f"  {each.position + 1}. {each.trial.task_id}, {each.trial.arm}, repeat {each.trial.repeat}")
    if len(left) > SHOWN_RUNS:
        print(f"  … and {len(left) - SHOWN_RUNS} more")


def _describe_reuse(preview: RunPreview) -> Iterator[str]:
    """Which runs need not be made, and what that saves; nothing where the store is new."""
    reused = preview.reused
    if not reused.runs:
        return
    arms = ", ".join(f"{arm} {count}" for arm, count in sorted(reused.runs.items()))
    cost = "" if reused.known_usd is None else f", about ${reused.known_usd:,.2f}"
    saved = f"{len(reused.done)} runs{' (simulated)' if reused.simulated else cost}"
    yield f"reused: {len(reused.done)} of {len(preview.plan)} runs are in the store ({arms}). That saves {saved}."
    yield f"to run: {len(preview.missing)}"


def _print_most_cost(preview: RunPreview) -> None:
    if preview.most_usd is None:
        print("cost: unknown; [limits] budget_usd would cap a run")
    else:
        judges = "judges and " if preview.suite.spec.judges else ""
        print(f"cost: at most ${preview.most_usd:,.2f}, without {judges}failed attempts")


class SuiteOptions(CommandOptions):
    """What `add_suite_options` adds, as the parser fills it in."""

    suite: str | None
    base: str | None
    head: str | None
    repo: str | None

    def suite_request(
        self, executor: Executor | None = None, scheduler: str | None = None, launch: LaunchSpec | None = None
    ) -> SuiteRequest:
        """The suite that the options name, else the one of this folder."""
        return SuiteRequest(
            path=choose_suite_file(self.suite, self.command),
            base=self.base,
            head=self.head,
            repository=self.repo,
            executor=executor,
            scheduler=scheduler,
            launch=launch,
        )


class RunOptions(SuiteOptions):
    """What `run_parser` knows, as it fills it in; verbs that run a suite add their own options."""

    repeats: int | None
    jobs: int
    output: str | None
    budget: float | None
    executor: str | None
    scheduler: str | None
    cluster: str | None
    shard: str | None
    reuse: list[str]
    reuse_days: float | None
    until_decided: bool
    events: str | None
    yes: bool
    go_on_without: bool
    keep_going: bool
    fresh_baseline: bool
    dry_run: bool

    def run_request(self) -> RunRequest:
        """What the options ask for."""
        return RunRequest(
            suite=self.suite_request(
                None if self.executor is None else Executor(self.executor),
                self.scheduler,
                None if self.cluster is None else read_launch_spec(Path(self.cluster)),
            ),
            output=parse_output(self.output) if self.output else None,
            repeats=self.repeats,
            jobs=self.jobs,
            budget_usd=self.budget,
            reuse=tuple(self.reuse),
            reuse_max_age=None if self.reuse_days is None else f"{self.reuse_days:.6f}".rstrip("0").rstrip(".") + "d",
            until_decided=self.until_decided,
            assume_yes=self.yes,
            go_on_without=self.go_on_without,
            keep_going=self.keep_going,
            fresh_baseline=self.fresh_baseline,
            shard=None if self.shard is None else parse_shard(self.shard, os.environ),
            dry_run=self.dry_run,
        )


def add_suite_options(parser: Parser) -> None:
    """The suite, and the revisions of the agent's configuration that it is to try."""
    group = parser.group("Suite")
    group.add_argument(
        "-c", "--suite", metavar="SUITE", help="a suite.toml, or the folder it is in (default: this folder's)"
    )
    group.add_argument(
        "--base", metavar="REF", help="configure the baseline arm as in this commit (default: as the suite says)"
    )
    group.add_argument("--head", metavar="REF", help="and compare it with the same arm, configured as in this commit")
    group.add_argument(
        "--repo", metavar="DIR", help="the repository of refs and from_git (default: the one that holds the suite)"
    )


def build_parser() -> Parser:
    """The options of this verb."""
    return run_parser(
        "run",
        "Run every trial of a suite and record the results; run it again to resume.",
        "outweigh run --dry-run",
        "outweigh run -c my-suite -k 1",
        "outweigh run --budget 20 -j 4",
        "outweigh run --shard 2/8 --dry-run",
    )


def run_parser(verb: str, description: str, *examples: str) -> Parser:
    """The options of `outweigh run`, which other verbs that run a suite take as well."""
    parser = Parser(prog=f"outweigh {verb}", description=description, examples=examples)
    add_suite_options(parser)
    _add_size_options(parser)
    _add_executor_options(parser)
    _add_reuse_options(parser)
    store = parser.group("Store")
    store.add_argument(
        "-o", "--output", metavar="DIR", help="the store; resumed if it exists (default: outweigh-runs/NAME)"
    )
    add_damage_option(parser)
    store.add_argument("--events", metavar="FILE", help="append every event to FILE as a line of JSON")
    return parser


def _add_size_options(parser: Parser) -> None:
    group = parser.group("Runs")
    group.add_argument(
        "-k", "--repeats", type=parse_repeats, metavar="N", help="repeats of every trial (default: the suite's, else 5)"
    )
    group.add_argument(
        "-j", "--jobs", type=parse_jobs, default=2, metavar="N", help="runs at a time (default: %(default)s)"
    )
    group.add_argument(
        "--budget", type=parse_dollars, metavar="USD", help="stop before a run could exceed it (default: the suite's)"
    )
    group.add_argument(
        "--until-decided",
        action="store_true",
        help="look at planned points, and stop when the evidence decides or is unlikely to",
    )
    group.add_argument(
        "--keep-going",
        action="store_true",
        help="attempt all trials and ask all judges, also when three in a row fail with the same infrastructure error",
    )
    group.add_argument("--dry-run", action="store_true", help="show the plan and what it may cost, and run nothing")
    group.add_argument(
        "-y",
        "--yes",
        action="store_true",
        help="run although a check before the start found faults in arms or tasks; give Harbor's tasks the variables "
        "that they ask for",
    )


def _add_executor_options(parser: Parser) -> None:
    group = parser.group("Where")
    group.add_argument(
        "--executor",
        choices=[each.value for each in Executor],
        metavar="NAME",
        help="what makes the runs: engine, dask or harbor (default: the suite's, else engine)",
    )
    group.add_argument(
        "--scheduler", metavar="ADDRESS", help="the Dask scheduler of --executor dask (default: the suite's)"
    )
    group.add_argument(
        "--cluster", metavar="FILE", help="how to start a scheduler and hosts for --executor dask, on Slurm or by ssh"
    )
    group.add_argument(
        "--shard",
        metavar="I/N",
        help="run shard I of N into a store of its own; auto takes I and N from Slurm, Kubernetes or CI",
    )


def _add_reuse_options(parser: Parser) -> None:
    group = parser.group("Reuse")
    group.add_argument(
        "--reuse",
        metavar="DIR",
        action="append",
        default=[],
        help="a store, a pin or a folder of pins; its runs of the same baseline, tasks and settings are used again",
    )
    group.add_argument(
        "--reuse-days",
        type=_parse_days,
        metavar="N",
        help="add fresh runs when reused ones are older than this (default: the suite's reuse_max_age, else 7)",
    )
    parser.add_argument(
        "--fresh-baseline",
        action="store_true",
        help="run the baseline again beside a changed arm, instead of reusing its runs in the store",
    )


def _parse_days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = 0.0
    if not 0 < days <= MAX_REUSE_DAYS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days between 0 and {MAX_REUSE_DAYS:g}")
    return days
