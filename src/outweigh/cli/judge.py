"""`outweigh judge`: have recorded runs judged, without running them again. Only missing judgments are requested."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from outweigh.app.calibrate import calibrate_store
from outweigh.app.judge import RoundOptions, find_judges, judge_store, judging_file_of, store_judging
from outweigh.app.pairwise import choose_arm_pair, judge_pairs_in_store, print_pairwise
from outweigh.app.suite_selection import read_suite
from outweigh.cli.arguments import Parser, add_format_option, parse_dollars, parse_jobs, print_report
from outweigh.cli.console import interruptible
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.progress import JudgingProgress, log_events, write_notice
from outweigh.engine.batch import EndReason
from outweigh.errors import UsageError, quote_names
from outweigh.model.suite import JudgeSpec
from outweigh.prices import price_tables
from outweigh.report.judge_page import JudgingTotals, judge_report
from outweigh.store.experiment_file import read_experiment
from outweigh.store.judging_file import JudgingFile, read_judging
from outweigh.store.run_store import FolderRunStore

JUDGE_EXIT_CODES = {EndReason.BUDGET: ExitCode.BUDGET_EXHAUSTED, EndReason.INTERRUPTED: ExitCode.INTERRUPTED}


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
            write_notice(f"outweigh: {repair}\n", sys.stderr)
        return _judge(options, store)


def _judge(options: argparse.Namespace, store: FolderRunStore) -> int:
    judging = _load_judging(store.folder, options.suite)
    judges = _choose_judges(judging, options.judge)
    panel = find_judges(judges)
    if not panel.backends:
        raise UsageError(f"no judge can be asked from here: {' '.join(panel.missing.values())}")
    with _round_options(options) as sitting:
        if options.pairwise:
            arms = list(dict.fromkeys(arm for _, arm, _ in store.finished()))
            sides = choose_arm_pair(options.baseline, options.candidate, arms)
            return print_pairwise(*judge_pairs_in_store(store, judging, judges, panel, sides, sitting), options.format)
        judged, accounts = judge_store(store, judging, judges, panel, sitting)
    print_report(judge_report(accounts), options.format)
    return JUDGE_EXIT_CODES.get(judged.stop, _exit_code(accounts))


@contextmanager
def _round_options(options: argparse.Namespace) -> Iterator[RoundOptions]:
    """Progress is shown, events are told, and Ctrl-C is heard as long as the context lasts."""
    drain, cancel = Event(), Event()
    with (
        JudgingProgress(sys.stderr) as line,
        log_events(options.events, line) as listen,
        interruptible(drain, cancel),
    ):
        yield RoundOptions(
            jobs=options.jobs,
            cap_usd=options.budget,
            retry_invalid=options.retry_invalid,
            prices=price_tables(options.prices),
            drain=drain,
            cancel=cancel,
            listen=listen,
        )


def _exit_code(accounts: JudgingTotals) -> ExitCode:
    """Whether every judge has a usable answer about every run."""
    invalid = any(judgment.invalid_reason for account in accounts.accounts for judgment in account.judgments)
    set_aside = any(account.set_aside for account in accounts.accounts)
    return ExitCode.UNUSABLE_EVIDENCE if invalid or set_aside or accounts.open else ExitCode.SATISFIED


def _load_judging(folder: Path, suite: str | None) -> JudgingFile:
    """What the suite says now, or what the store remembers of it."""
    if suite is not None:
        loaded = read_suite(suite)
        _refuse_other_tasks(folder, judging_file_of(loaded))
        return store_judging(folder, loaded)
    known = read_judging(folder)
    if known is None:
        raise UsageError(f"{folder} knows no rubric; name the suite that has [[judges]] and rubrics by -c.")
    return known


def _refuse_other_tasks(folder: Path, judging: JudgingFile) -> None:
    """A judge must be told what the agent was told. The rubric may be another; the task may not."""
    experiment = read_experiment(folder)
    ran = {} if experiment is None else experiment.tasks
    changed = [name for name, task in judging.tasks.items() if ran.get(name, task.checksum) != task.checksum]
    if changed:
        raise UsageError(
            f"{quote_names(changed)}: the task is not what it was when it was run in {folder}. Change it back; only its "
            "rubric may be another."
        )


def _choose_judges(judging: JudgingFile, names: Sequence[str] | None) -> Sequence[JudgeSpec]:
    known = {judge.name: judge for judge in judging.judges}
    if not known:
        raise UsageError("the suite names no judge; write a [[judges]] table into its suite.toml.")
    for name in names or ():
        if name not in known:
            raise UsageError(f"there is no judge {name!r}; the suite has {quote_names(known, 10)}.")
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
    parser.add_argument("-j", "--jobs", type=parse_jobs, default=4, metavar="N", help="at once (default: %(default)s)")
    parser.add_argument("--budget", type=parse_dollars, metavar="USD", help="what all judging of this store may cost")
    parser.add_argument("--retry-invalid", action="store_true", help="ask again where no answer could be used")
    parser.add_argument("--prices", metavar="FILE", help="your own prices (TOML); they win over the bundled ones")
    parser.add_argument("--events", metavar="FILE", help="append every event as a line of JSON")
