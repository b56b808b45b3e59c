"""`outweigh baseline list`: the pins in a folder."""

from collections.abc import Sequence
from pathlib import Path

from outweigh.app.baseline import PINS_FOLDER, pin_rows
from outweigh.cli.arguments import Parser, add_format_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.report.pins_page import pins_report


class _Options:
    """The options, as the parser fills them in."""

    folder: str
    format: str


def main(arguments: Sequence[str]) -> int:
    """Print the pins."""
    options = build_parser().parse_args(arguments, namespace=_Options())
    print_report(pins_report(pin_rows(Path(options.folder)), options.folder), options.format)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh baseline list",
        description="List the pins with their age, agents and last check.",
        examples=("outweigh baseline list", "outweigh baseline list outweigh-baselines --format json"),
    )
    parser.add_argument(
        "folder", nargs="?", default=PINS_FOLDER, metavar="DIR", help="the folder of pins (default: %(default)s)"
    )
    add_format_option(parser)
    return parser
