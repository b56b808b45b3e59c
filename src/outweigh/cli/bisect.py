"""`outweigh bisect`: which commit, or which hunk of a set-up, made it worse?"""

import argparse
import shlex
from collections.abc import Sequence

from outweigh.app.bisect import BisectRequest, PreparedSearch, prepare_search
from outweigh.app.bisect_steps import SequenceRequest
from outweigh.cli.arguments import (
    CommandOptions,
    Parser,
    add_format_option,
    parse_dollars,
    parse_jobs,
    parse_output,
    parse_repeats,
    print_report,
)
from outweigh.cli.console import is_confirmed, print_escaped
from outweigh.cli.defaults import choose_suite_file
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.progress import ConsoleObserver
from outweigh.cli.run import RUN_EXIT_CODES
from outweigh.engine.batch import EndReason
from outweigh.report.bisect_page import bisect_report, forecast_report
from outweigh.report.formatting import format_dollars
from outweigh.verdict.culprit_search import DEFAULT_ERROR

LEAST_ERROR, MOST_ERROR = 0.001, 0.4


class _Options(CommandOptions):
    good: str
    bad: str
    suite: str | None
    repo: str | None
    hunks: bool
    placed_at: str | None
    output: str | None
    repeats: int | None
    jobs: int
    budget: float | None
    run_cost: float | None
    error: float
    most_runs: int | None
    dry_run: bool
    yes: bool
    format: str

    def bisect_request(self) -> BisectRequest:
        """What the options ask for."""
        return BisectRequest(
            sequence=SequenceRequest(
                suite=choose_suite_file(self.suite, self.command),
                good=self.good,
                bad=self.bad,
                by_hunk=self.hunks,
                placed_at=self.placed_at,
                repository=self.repo,
            ),
            output=None if self.output is None else parse_output(self.output),
            repeats=self.repeats,
            jobs=self.jobs,
            budget_usd=self.budget,
            run_usd=self.run_cost,
            error=self.error,
            most_runs=self.most_runs,
        )


def main(arguments: Sequence[str]) -> int:
    """Show the plan, ask, search, and print the answer; 3 where no step can be named."""
    options = build_parser().parse_command(arguments, _Options())
    with prepare_search(options.bisect_request()) as prepared:
        if options.dry_run:
            print_report(forecast_report(prepared.forecast), options.format)
            return ExitCode.SATISFIED
        if not (options.yes or prepared.is_free or _is_agreed(prepared)):
            print_escaped("Nothing was run.")
            return ExitCode.NOT_SATISFIED
        outcome = prepared.search(ConsoleObserver(None, shlex.join(options.command), verdict_follows=True))
    print_report(bisect_report(outcome), options.format)
    if outcome.stopped is not None:
        return RUN_EXIT_CODES[EndReason(outcome.stopped)]
    return ExitCode.UNUSABLE_EVIDENCE if outcome.culprit is None else ExitCode.SATISFIED


def _is_agreed(prepared: PreparedSearch) -> bool:
    """Show what it takes, and ask before anything is paid for."""
    print_report(forecast_report(prepared.forecast), "text")
    budget = prepared.forecast.budget_usd
    amount = "an unknown amount" if budget is None else f"up to {format_dollars(budget)}"
    return is_confirmed(f"Spend {amount} on at most {prepared.forecast.runs_left} runs? [y/N] ")


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh bisect",
        description="Find the commit, or the hunk of a set-up's files, that made an agent worse, by a search that "
        "needs far fewer runs than testing every step.",
        examples=(
            "outweigh bisect -c my-suite --good v1.4 --bad main --dry-run",
            "outweigh bisect -c my-suite --good v1.4 --bad main --budget 20",
            "outweigh bisect -c my-suite --good main~1 --bad main --hunks",
            "outweigh bisect -c my-suite --good old/CLAUDE.md --bad CLAUDE.md -y",
        ),
    )
    group = parser.group("Suite")
    group.add_argument(
        "-c", "--suite", metavar="SUITE", help="a suite.toml, or the folder it is in (default: this folder's)"
    )
    group.add_argument("--good", required=True, metavar="REF", help="a commit, or a file, from before it got worse")
    group.add_argument("--bad", required=True, metavar="REF", help="a later commit, or a file, that is worse")
    group.add_argument(
        "--hunks", action="store_true", help="search the hunks in which the two commits differ, not the commits between"
    )
    group.add_argument(
        "--as",
        dest="placed_at",
        metavar="PATH",
        help="where a workspace has the file, such as CLAUDE.md (default: by its name)",
    )
    group.add_argument("--repo", metavar="DIR", help="the repository of the commits (default: the one with the suite)")
    _add_run_options(parser)
    add_format_option(parser)
    return parser


def _add_run_options(parser: Parser) -> None:
    group = parser.group("Runs")
    group.add_argument(
        "--error",
        type=_parse_error,
        default=DEFAULT_ERROR,
        metavar="P",
        help="how often a named step may be the wrong one (default: %(default)g)",
    )
    group.add_argument(
        "--most-runs",
        type=parse_repeats,
        metavar="N",
        help="make no more runs than this (default: three quarters of testing every step)",
    )
    group.add_argument(
        "-k",
        "--repeats",
        type=parse_repeats,
        metavar="N",
        help="repeats that testing every step would take (default: the suite's, else 5)",
    )
    group.add_argument(
        "-j", "--jobs", type=parse_jobs, default=2, metavar="N", help="runs at a time (default: %(default)s)"
    )
    group.add_argument(
        "--budget", type=parse_dollars, metavar="USD", help="stop before a run could exceed it (default: the suite's)"
    )
    group.add_argument(
        "--run-cost", type=parse_dollars, metavar="USD", help="what a run costs (default: a typical run at list prices)"
    )
    group.add_argument("--dry-run", action="store_true", help="show the steps and what they may cost, and run nothing")
    group.add_argument("-y", "--yes", action="store_true", help="do not ask before the first run")
    parser.group("Store").add_argument(
        "-o", "--output", metavar="DIR", help="the store; resumed if it exists (default: outweigh-runs/NAME-bisect-…)"
    )


def _parse_error(text: str) -> float:
    try:
        error = float(text)
    except ValueError:
        error = 0.0
    if not LEAST_ERROR <= error <= MOST_ERROR:
        raise argparse.ArgumentTypeError(f"{text!r} is not a probability between {LEAST_ERROR:g} and {MOST_ERROR:g}")
    return error
