"""`outweigh store verify`: does everything in a bundle follow from its records?"""

from collections.abc import Sequence
from pathlib import Path

from outweigh.app.verify_bundle import verify_bundle
from outweigh.cli.arguments import CommandOptions, Parser, add_format_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.report.verification_page import VerifiedState, verification_report

_CODES = {
    VerifiedState.SAME: ExitCode.SATISFIED,
    VerifiedState.DIFFERS: ExitCode.NOT_SATISFIED,
    VerifiedState.CANNOT: ExitCode.UNUSABLE_EVIDENCE,
}


class _Options(CommandOptions):
    bundle: str
    format: str


def main(arguments: Sequence[str]) -> int:
    """Print what is the same and what differs; the exit code is 0, 1, or 3 where it cannot be told."""
    options = build_parser().parse_command(arguments, _Options())
    found = verify_bundle(Path(options.bundle))
    print_report(verification_report(found), options.format)
    return _CODES[found.state]


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh store verify",
        description="Verify a bundle: hashes, records and choices, and every table and page computed again. Exit code "
        "0 when all of it is the same, 1 when something differs, 3 when it cannot be computed again.",
        examples=("outweigh store verify study.outweigh.zip", "outweigh store verify study.outweigh.zip --format json"),
    )
    parser.add_argument("bundle", metavar="BUNDLE", help="the file that `outweigh store bundle` wrote")
    add_format_option(parser)
    return parser
