"""`outweigh judge`: have recorded runs judged, without running them again. Only missing judgments are requested."""

from collections.abc import Sequence
from pathlib import Path

from outweigh.app.calibrate import CalibrateRequest, calibrate_store
from outweigh.app.judge import JudgeRequest, judge_store, judge_store_pairs
from outweigh.cli.arguments import (
    CommandOptions,
    Parser,
    add_damage_option,
    add_format_option,
    parse_dollars,
    parse_jobs,
    print_report,
)
from outweigh.cli.defaults import choose_store
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.progress import ConsoleObserver
from outweigh.engine.batch import EndReason
from outweigh.errors import UsageError
from outweigh.report.calibration_page import calibration_report
from outweigh.report.judge_agreement import pairwise_report
from outweigh.report.judge_page import judge_report
from outweigh.store.read_only_stores import require_local_store

JUDGE_EXIT_CODES = {EndReason.BUDGET: ExitCode.BUDGET_EXHAUSTED, EndReason.INTERRUPTED: ExitCode.INTERRUPTED}


class _Options(CommandOptions):
    """The options, as the parser fills them in."""

    runs: str | None
    suite: str | None
    judge: list[str] | None
    calibrate: str | None
    pairwise: bool
    baseline: str | None
    candidate: str | None
    jobs: int
    budget: float | None
    retry_invalid: bool
    go_on_without: bool
    keep_going: bool
    prices: str | None
    events: str | None
    format: str

    def store(self) -> Path:
        """The store that is named, else the last one of this folder."""
        self.runs = choose_store(self.runs, self.command)
        return require_local_store(self.runs)

    def request(self) -> JudgeRequest:
        """What the options ask judges for."""
        return JudgeRequest(
            store=self.store(),
            suite=self.suite,
            judges=tuple(self.judge or ()),
            jobs=self.jobs,
            budget_usd=self.budget,
            retry_invalid=self.retry_invalid,
            go_on_without=self.go_on_without,
            keep_going=self.keep_going,
            prices=self.prices,
        )


def main(arguments: Sequence[str]) -> int:
    """Judge what is missing, and show what there is."""
    options = build_parser().parse_command(arguments, _Options())
    if not options.pairwise and (options.baseline or options.candidate):
        raise UsageError("--baseline and --candidate belong to --pairwise; else all arms are judged alike.")
    if options.calibrate is not None and options.pairwise:
        raise UsageError(
            "--calibrate compares judgments with labels and asks no judge; leave --pairwise out, or run it separately."
        )
    if options.calibrate is not None:
        return _calibrate(options, options.calibrate)
    return _judge_pairs(options) if options.pairwise else _judge_runs(options)


def _judge_runs(options: _Options) -> ExitCode:
    """The exit code says whether every judge has a usable answer about every run."""
    judged = judge_store(options.request(), ConsoleObserver(options.events))
    print_report(judge_report(judged.totals), options.format)
    return _exit_code(judged.stop, is_complete=judged.is_complete)


def _judge_pairs(options: _Options) -> ExitCode:
    """The exit code says whether every pair has a usable answer in both orders."""
    judged = judge_store_pairs(options.request(), options.baseline, options.candidate, ConsoleObserver(options.events))
    page = pairwise_report(judged.pairwise, left_open=judged.left_open, set_aside=judged.set_aside)
    print_report(page, options.format)
    return _exit_code(judged.stop, is_complete=judged.is_complete)


def _exit_code(stop: EndReason, *, is_complete: bool) -> ExitCode:
    return JUDGE_EXIT_CODES.get(stop, ExitCode.SATISFIED if is_complete else ExitCode.UNUSABLE_EVIDENCE)


def _calibrate(options: _Options, labels: str) -> ExitCode:
    """The exit code says whether every judge agrees as far as the suite demands."""
    request = CalibrateRequest(runs=str(options.store()), labels=labels, judges=tuple(options.judge or ()))
    calibrated = calibrate_store(request)
    print_report(calibration_report(calibrated.calibrations, calibrated.required_alphas), options.format)
    return ExitCode.SATISFIED if calibrated.is_met else ExitCode.NOT_SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh judge",
        description="Score recorded runs with the judges of their suite, without running them again; judgments that "
        "exist are kept.",
        examples=(
            "outweigh judge",
            "outweigh judge outweigh-runs/my-suite --pairwise --budget 5",
            "outweigh judge outweigh-runs/my-suite --calibrate labels.csv",
        ),
    )
    parser.add_argument(
        "runs",
        nargs="?",
        metavar="RUNS",
        help="the store that `outweigh run` wrote (default: the last one of this folder)",
    )
    parser.add_argument(
        "--calibrate", metavar="LABELS", help="compare judgments with your own labels (.csv, .jsonl), and ask no judge"
    )
    parser.add_argument("--retry-invalid", action="store_true", help="ask again where an answer could not be used")
    parser.add_argument(
        "--keep-going",
        action="store_true",
        help="ask all questions, also when three in a row fail with the same connection error",
    )
    _add_judge_options(parser)
    _add_pairwise_options(parser)
    add_damage_option(parser)
    parser.group("Store").add_argument("--events", metavar="FILE", help="append every event to FILE as a line of JSON")
    add_format_option(parser)
    return parser


def _add_judge_options(parser: Parser) -> None:
    group = parser.group("Judges")
    group.add_argument(
        "-c", "--suite", metavar="SUITE", help="the suite whose judges and rubrics to use (default: the store's)"
    )
    group.add_argument(
        "--judge", action="append", metavar="NAME", help="use only this judge; may be repeated (default: all)"
    )
    group.add_argument(
        "-j", "--jobs", type=parse_jobs, default=4, metavar="N", help="questions at a time (default: %(default)s)"
    )
    group.add_argument(
        "--budget",
        type=parse_dollars,
        metavar="USD",
        help="what all judging of this store may cost (default: no limit)",
    )
    group.add_argument(
        "--prices", metavar="FILE", help="your own prices (TOML), used before the bundled ones (default: bundled)"
    )


def _add_pairwise_options(parser: Parser) -> None:
    group = parser.group("Pairs")
    group.add_argument(
        "--pairwise", action="store_true", help="show judges the runs of two arms side by side, in both orders"
    )
    group.add_argument("--baseline", metavar="ARM", help="with --pairwise (default: the suite's)")
    group.add_argument("--candidate", metavar="ARM", help="with --pairwise (default: the only other arm)")
