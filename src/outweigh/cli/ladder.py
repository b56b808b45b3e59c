"""`outweigh ladder`: arms as tiers."""

from collections.abc import Sequence

from outweigh.cli.arguments import add_format_option, gather_evidence, reading_parser, show
from outweigh.cli.exit_codes import ExitCode
from outweigh.compare.ladder import climb
from outweigh.errors import UsageError
from outweigh.report.ladder_view import ladder_report
from outweigh.score.grade import SCALES


def main(arguments: Sequence[str]) -> int:
    """Print the ladder."""
    parser = reading_parser("ladder", "Arms as tiers: uplift over the first, variance, range, grades, best value.")
    parser.add_argument("--order", metavar="T0,T1,…", help="the tiers from the first up (default: by name)")
    parser.add_argument(
        "--grades", choices=tuple(SCALES), default="seed", help="the letter scale (default: %(default)s)"
    )
    add_format_option(parser)
    options = parser.parse_intermixed_args(arguments)
    order = None if options.order is None else [name.strip() for name in options.order.split(",")]
    if order is not None and "" in order:
        raise UsageError(f"--order {options.order!r} holds an empty name; write T0,T1,….")
    ladder = climb(gather_evidence(options), order, SCALES[options.grades])
    show(ladder_report(ladder), options.format)
    return ExitCode.SATISFIED
