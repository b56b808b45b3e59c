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
        description="Signs of cheating in transcripts and diffs. Findings are facts to look at; they decide nothing.",
        allow_abbrev=False,
    )
    parser.add_argument("runs", metavar="RUNS", help="the store whose runs are scanned; it gets the file scan.json")
    add_format_option(parser)
    return parser
