"""`outweigh store scan`: signs of cheating in transcripts and diffs."""

from collections.abc import Sequence

from outweigh.app.scan import scan_store
from outweigh.cli.arguments import Parser, add_format_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.report.scan_page import scan_report
from outweigh.store.store import Store


class _Options:
    runs: str
    format: str


def main(arguments: Sequence[str]) -> int:
    """Scan the runs of a store, keep what was found, and print it. The exit code says that it was printed."""
    options = build_parser().parse_args(arguments, _Options())
    print_report(scan_report(options.runs, scan_store(Store.open(options.runs))), options.format)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh store scan",
        description="Find signs of cheating in transcripts and diffs. Findings decide nothing; look at them yourself.",
        examples=("outweigh store scan outweigh-runs/demo",),
    )
    parser.add_argument("runs", metavar="RUNS", help="the store to scan; the findings are kept in it")
    add_format_option(parser)
    return parser
