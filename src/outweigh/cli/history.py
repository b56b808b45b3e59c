"""`outweigh history`: a suite's pass rate, cost and verdicts over time, and which task flipped when."""

from collections.abc import Sequence

from outweigh.app.suite_history import read_history
from outweigh.cli.arguments import CommandOptions, Parser, add_format_option, add_output_option, print_report
from outweigh.cli.console import notify
from outweigh.cli.exit_codes import ExitCode
from outweigh.report.history_page import history_report


class _Options(CommandOptions):
    runs: list[str]
    suite: str | None
    arm: list[str] | None
    skip_invalid: bool
    format: str
    output: list[str]


def main(arguments: Sequence[str]) -> int:
    """Print the history, or write it to files."""
    options = build_parser().parse_command(arguments, _Options())
    if options.output:
        from outweigh.cli.output_files import HISTORY_FILES, write_files  # noqa: PLC0415 - only needed for files

        HISTORY_FILES.check(options.output)
    found = read_history(
        options.runs, suite=options.suite, arms=options.arm or (), skip_invalid=options.skip_invalid, notify=notify
    )
    report = history_report(found.arms, found.spend)
    if options.output:
        write_files(HISTORY_FILES, report, options.output)
    else:
        print_report(report, options.format)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh history",
        description="Show a suite over time: pass rate, cost and verdicts of each arm with intervals, what changed "
        "between two points, which task flipped when, and what was spent in which month.",
        examples=(
            "outweigh history outweigh-runs",
            "outweigh history outweigh-runs/demo --arm better",
            "outweigh history outweigh-runs -o history.html -o history.csv",
        ),
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUNS",
        help="stores, a folder or an address with stores below it, bundles, or .jsonl files of run records",
    )
    group = parser.group("Arms")
    group.add_argument("--suite", metavar="NAME", help="show only this suite (default: all)")
    group.add_argument(
        "--arm", metavar="ARM", action="append", help="show only this arm; may be repeated (default: all)"
    )
    parser.group("Reading").add_argument("--skip-invalid", action="store_true", help="skip lines that cannot be read")
    add_output_option(parser, ".html, .md, .json or .csv", "the history")
    add_format_option(parser)
    return parser
