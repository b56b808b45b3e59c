"""`outweigh store scan`: signs of cheating in transcripts and diffs."""

from collections.abc import Sequence

from outweigh.app.scan import scan_store
from outweigh.cli.arguments import CommandOptions, Parser, add_format_option, print_report
from outweigh.cli.defaults import choose_store
from outweigh.cli.exit_codes import ExitCode
from outweigh.report.scan_page import scan_report
from outweigh.store.store import Store


class _Options(CommandOptions):
    runs: str | None
    format: str


def main(arguments: Sequence[str]) -> int:
    """Scan the runs of a store, keep what was found, and print it. The exit code says that it was printed."""
    options = build_parser().parse_command(arguments, _Options())
    store = choose_store(options.runs, options.command)
    print_report(scan_report(store, scan_store(Store.open(store))), options.format)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh store scan",
        description="Find signs of cheating in transcripts and diffs. Findings decide nothing; look at them yourself.",
        examples=("outweigh store scan", "outweigh store scan outweigh-runs/demo"),
    )
    parser.add_argument(
        "runs",
        nargs="?",
        metavar="RUNS",
        help="the store to scan; the findings are kept in it (default: the last one of this folder)",
    )
    add_format_option(parser)
    return parser
