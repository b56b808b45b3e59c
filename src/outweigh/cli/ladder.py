"""`outweigh ladder`: arms as tiers."""

import shlex
from collections.abc import Sequence

from outweigh.app.ladder import DEFAULT_GRADES, LadderRequest
from outweigh.app.ladder_study import study_ladder
from outweigh.cli.arguments import COMMON_OPTIONS, Parser, add_format_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.reading_options import ReadingOptions, add_task_list_option, reading_parser
from outweigh.errors import UsageError
from outweigh.report.document import Report
from outweigh.report.formatting import escape_controls
from outweigh.report.ladder_document import ladder_report, ladder_summary
from outweigh.score.composite import GRADE_SCALES


class _Options(ReadingOptions):
    order: str | None
    tiers: str | None
    grades: str
    format: str
    verbose: bool
    output: list[str]


def main(arguments: Sequence[str]) -> int:
    """Print the ladder, or write it to files."""
    options = build_parser().parse_command(arguments, _Options())
    if options.output:
        from outweigh.app.write_ladder import check_targets  # noqa: PLC0415 - formats are only needed for files

        check_targets(options.output)
    request = LadderRequest(
        order=_parse_order(options.order),
        tiers=options.tiers,
        evidence=options.evidence_request(),
        grades=options.grades,
    )
    study = study_ladder(request)
    if options.output:
        _write(ladder_report(study), options.output)
    else:
        brief = options.format == "text" and not options.verbose
        whole = shlex.join([*options.command, "--verbose"])
        print_report(ladder_summary(study, verbose_command=whole) if brief else ladder_report(study), options.format)
    return ExitCode.SATISFIED


def _write(report: Report, targets: Sequence[str]) -> None:
    from outweigh.app.write_ladder import write_ladder  # noqa: PLC0415

    print(escape_controls(report.headline))
    for target in targets:
        files = write_ladder(report, target)
        others = f" ({len(files)} files)" if len(files) > 1 else ""
        print(f"written to {escape_controls(target)}{others}")


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
        r"outweigh ladder --tiers 'T(\d+)'",
        "outweigh ladder -o ladder.html -o study/",
    )
    parser.add_argument(
        "--order",
        metavar="T0,T1,…",
        help="the tiers from the first up, an arm each (default: the tiers of the suite or the records, else by name)",
    )
    parser.add_argument(
        "--tiers",
        metavar="PATTERN",
        help=r"a regular expression whose first group is the number of the tier in an arm's name, such as 'T(\d+)'",
    )
    parser.add_argument(
        "--grades", choices=tuple(GRADE_SCALES), default=DEFAULT_GRADES, help="the letter scale (default: %(default)s)"
    )
    add_task_list_option(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        action="append",
        default=[],
        help="write a file that ends in .html, .md, .json, .csv or .tex, or with FOLDER/ all of them and every figure "
        "as .svg and .csv; may be repeated (default: print the ladder)",
    )
    add_format_option(parser)
    parser.group(COMMON_OPTIONS).add_argument(
        "--verbose", action="store_true", help="print everything: sub-arms, every figure, judges, methods, warnings"
    )
    return parser
