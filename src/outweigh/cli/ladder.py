"""`outweigh ladder`: arms as tiers."""

from collections.abc import Sequence

from outweigh.app.ladder import DEFAULT_GRADES, LadderRequest, build_ladder
from outweigh.cli.arguments import Parser, add_format_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.reading_options import ReadingOptions, add_task_list_option, reading_parser
from outweigh.errors import UsageError
from outweigh.report.ladder_page import ladder_report
from outweigh.score.composite import GRADE_SCALES


class _Options(ReadingOptions):
    order: str | None
    grades: str
    format: str


def main(arguments: Sequence[str]) -> int:
    """Print the ladder."""
    options = build_parser().parse_command(arguments, _Options())
    request = LadderRequest(
        order=_parse_order(options.order), evidence=options.evidence_request(), grades=options.grades
    )
    print_report(ladder_report(build_ladder(request)), options.format)
    return ExitCode.SATISFIED


def _parse_order(text: str | None) -> tuple[str, ...] | None:
    order = None if text is None else tuple(name.strip() for name in text.split(","))
    if order is not None and "" in order:
        raise UsageError(f"--order {text!r} holds an empty name; write T0,T1,….")
    return order


def build_parser() -> Parser:
    """The options of this verb."""
    parser = reading_parser(
        "ladder",
        "Compare arms as tiers: gain over the first, variance, range, grades and best value.",
        "outweigh ladder outweigh-runs/demo --order trap,plain,better",
    )
    parser.add_argument(
        "--order", metavar="T0,T1,…", help="the tiers from the first up (default: the suite's tiers, else by name)"
    )
    parser.add_argument(
        "--grades", choices=tuple(GRADE_SCALES), default=DEFAULT_GRADES, help="the letter scale (default: %(default)s)"
    )
    add_task_list_option(parser)
    add_format_option(parser)
    return parser
