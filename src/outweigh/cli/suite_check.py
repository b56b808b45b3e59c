"""`outweigh suite check`: which tasks tell arms apart, and what share of the money went to those that cannot?"""

from collections.abc import Sequence

from outweigh.app.suite_check import SuiteCheckRequest, check_suite
from outweigh.cli.arguments import Parser, add_format_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.reading_options import ReadingOptions, reading_parser


class _Options(ReadingOptions):
    reads_datasets: bool = True
    arm: list[str] | None
    format: str


def main(arguments: Sequence[str]) -> int:
    """Print every task with what it tells."""
    options = build_parser().parse_command(arguments, _Options())
    request = SuiteCheckRequest(evidence=options.evidence_request(), arms=tuple(options.arm or ()))
    print_report(check_suite(request), options.format)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = reading_parser(
        "suite check",
        "Show which tasks tell arms apart: pass rates, discrimination, information per dollar and flakiness of every "
        "task, those that are dead, contrary, flaky, slow or dear, and the money that they took.",
        "outweigh suite check outweigh-runs/demo",
        "outweigh suite check outweigh-runs/demo --format json",
    )
    parser.group("Arms").add_argument(
        "--arm", metavar="ARM", action="append", help="use only this arm; may be repeated (default: every arm)"
    )
    add_format_option(parser)
    return parser
