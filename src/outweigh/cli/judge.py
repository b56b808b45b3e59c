"""`outweigh judge`: put recorded runs before judges, without running them again. Only what is missing is asked."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from outweigh.adapters.stores.experiment_file import recall_suite
from outweigh.adapters.stores.judging_file import JudgingFile, recall_judging
from outweigh.adapters.stores.run_store import FolderRunStore
from outweigh.cli.amounts import dollars, jobs
from outweigh.cli.arguments import Parser, add_format_option, price_tables, show
from outweigh.cli.calibrate import calibrate_store
from outweigh.cli.event_file import told_to_file
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.interruptible import interruptible
from outweigh.cli.judging import Sitting, judge_store, judging_of, keep_judging, panel_of
from outweigh.cli.judging_line import JudgingLine
from outweigh.cli.pairwise import duel_in_store, show_pairwise, sides_of
from outweigh.cli.progress import tell
from outweigh.cli.suite_choice import read_suite
from outweigh.errors import UsageError, name_some
from outweigh.report.judge_view import JudgeAccounts, judge_report
from outweigh.run.batch import Stop
from outweigh.task.judge import JudgeSpec

CODES = {Stop.BUDGET: ExitCode.BUDGET_EXHAUSTED, Stop.INTERRUPTED: ExitCode.INTERRUPTED}


def main(arguments: Sequence[str]) -> int:
    """Judge what is missing, and show what there is."""
    options = _parser().parse_args(arguments)
    if not options.pairwise and (options.baseline or options.candidate):
        raise UsageError("--baseline and --candidate belong to --pairwise; else all arms are judged alike.")
    if options.calibrate is not None and options.pairwise:
        raise UsageError(
            "--calibrate compares judgments with labels and asks nobody; leave --pairwise out, or run it apart."
        )
    if options.calibrate is not None:
        return calibrate_store(options.runs, options.calibrate, options.judge, options.format)
    folder = Path(options.runs)
    if not folder.is_dir():
        raise UsageError(f"{folder} is no store; judgments are kept beside the runs, so name the folder of a run.")
    with FolderRunStore.open(folder) as store:
        for repair in store.repairs:
            tell(f"outweigh: {repair}\n", sys.stderr)
        return _judge(options, store)


def _judge(options: argparse.Namespace, store: FolderRunStore) -> int:
    judging = _judging(store.folder, options.suite)
    judges = _chosen(judging, options.judge)
    panel = panel_of(judges)
    if not panel.backends:
        raise UsageError(f"no judge can be asked from here: {' '.join(panel.missing.values())}")
    with _sitting(options) as sitting:
        if options.pairwise:
            arms = list(dict.fromkeys(arm for _, arm, _ in store.finished()))
            sides = sides_of(options.baseline, options.candidate, arms)
            return show_pairwise(*duel_in_store(store, judging, judges, panel, sides, sitting), options.format)
        judged, accounts = judge_store(store, judging, judges, panel, sitting)
    show(judge_report(accounts), options.format)
    return CODES.get(judged.stop, _code(accounts))


@contextmanager
def _sitting(options: argparse.Namespace) -> Iterator[Sitting]:
    """Progress is shown, events are told, and Ctrl-C is heard as long as the context lasts."""
    drain, cancel = Event(), Event()
    with (
        JudgingLine(sys.stderr) as line,
        told_to_file(options.events, line) as listen,
        interruptible(drain, cancel),
    ):
        yield Sitting(
            jobs=options.jobs,
            cap_usd=options.budget,
            retry_invalid=options.retry_invalid,
            prices=price_tables(options.prices),
            drain=drain,
            cancel=cancel,
            listen=listen,
        )


def _code(accounts: JudgeAccounts) -> ExitCode:
    """Whether every judge has a usable answer about every run."""
    invalid = any(judgment.invalid_reason for account in accounts.accounts for judgment in account.judgments)
    set_aside = any(account.set_aside for account in accounts.accounts)
    return ExitCode.UNUSABLE_EVIDENCE if invalid or set_aside or accounts.open else ExitCode.SATISFIED


def _judging(folder: Path, suite: str | None) -> JudgingFile:
    """What the suite says now, or what the store remembers of it."""
    if suite is not None:
        loaded = read_suite(suite)
        _refuse_other_tasks(folder, judging_of(loaded))
        return keep_judging(folder, loaded)
    known = recall_judging(folder)
    if known is None:
        raise UsageError(f"{folder} knows no rubric; name the suite that has [[judges]] and rubrics by -c.")
    return known


def _refuse_other_tasks(folder: Path, judging: JudgingFile) -> None:
    """A judge must be told what the agent was told. The rubric may be another; the task may not."""
    experiment = recall_suite(folder)
    ran = {} if experiment is None else experiment.tasks
    changed = [name for name, task in judging.tasks.items() if ran.get(name, task.checksum) != task.checksum]
    if changed:
        raise UsageError(
            f"{name_some(changed)}: the task is not what it was when it was run in {folder}. Change it back; only its "
            "rubric may be another."
        )


def _chosen(judging: JudgingFile, names: Sequence[str] | None) -> Sequence[JudgeSpec]:
    known = {judge.name: judge for judge in judging.judges}
    if not known:
        raise UsageError("the suite names no judge; write a [[judges]] table into its suite.toml.")
    for name in names or ():
        if name not in known:
            raise UsageError(f"there is no judge {name!r}; the suite has {name_some(known, 10)}.")
    return [known[name] for name in dict.fromkeys(names or known)]


def _parser() -> Parser:
    parser = Parser(
        prog="outweigh judge",
        description="Judge recorded runs by their tasks' rubrics, without running them again; what is judged already "
        "is not asked again.",
        allow_abbrev=False,
    )
    _add_options(parser)
    add_format_option(parser)
    return parser


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUNS", help="the store that `outweigh run` wrote")
    parser.add_argument(
        "-c", "--suite", metavar="SUITE", help="judges and rubrics of this suite (default: the store's)"
    )
    parser.add_argument("--judge", action="append", metavar="NAME", help="only this judge; may be repeated")
    parser.add_argument(
        "--calibrate", metavar="LABELS", help="ask nobody; compare what was judged with people's labels (.csv, .jsonl)"
    )
    parser.add_argument(
        "--pairwise", action="store_true", help="show judges two arms side by side, in both orders, instead"
    )
    parser.add_argument("--baseline", metavar="ARM", help="with --pairwise")
    parser.add_argument("--candidate", metavar="ARM", help="with --pairwise")
    parser.add_argument("-j", "--jobs", type=jobs, default=4, metavar="N", help="at once (default: %(default)s)")
    parser.add_argument("--budget", type=dollars, metavar="USD", help="what all judging of this store may cost")
    parser.add_argument("--retry-invalid", action="store_true", help="ask again where no answer could be used")
    parser.add_argument("--prices", metavar="FILE", help="your own prices (TOML); they win over the bundled ones")
    parser.add_argument("--events", metavar="FILE", help="append every event as a line of JSON")
