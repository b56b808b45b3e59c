"""`outweigh ladder`: arms as tiers."""

import shlex
from collections.abc import Sequence
from math import isfinite

from outweigh.app.ladder import DEFAULT_GRADES, LadderRequest
from outweigh.app.ladder_study import study_ladder
from outweigh.cli.arguments import COMMON_OPTIONS, Parser, add_format_option, add_output_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.reading_options import (
    ReadingOptions,
    add_changes_option,
    add_task_list_option,
    parse_seed,
    reading_parser,
)
from outweigh.errors import UsageError
from outweigh.report.ladder_page import ladder_report, ladder_summary
from outweigh.score.composite import GRADE_SCALES, Dimension


class _Options(ReadingOptions):
    order: str | None
    tiers: str | None
    grades: str
    profile: str | None
    weights: str | None
    baseline: str | None
    seed: int
    format: str
    verbose: bool
    output: list[str]


def main(arguments: Sequence[str]) -> int:
    """Print the ladder, or write it to files."""
    options = build_parser().parse_command(arguments, _Options())
    if options.output:
        from outweigh.cli.output_files import LADDER_FILES  # noqa: PLC0415 - formats are only needed for files

        LADDER_FILES.check(options.output)
    request = LadderRequest(
        order=_parse_order(options.order),
        tiers=options.tiers,
        evidence=options.evidence_request(),
        grades=options.grades,
        profile=options.profile,
        weights=_parse_weights(options.weights),
        baseline=options.baseline,
        seed=options.seed,
    )
    study = study_ladder(request)
    if options.output:
        from outweigh.cli.output_files import write_files  # noqa: PLC0415

        write_files(LADDER_FILES, ladder_report(study), options.output)
    else:
        brief = options.format == "text" and not options.verbose
        whole = shlex.join([*options.command, "--verbose"])
        print_report(ladder_summary(study, verbose_command=whole) if brief else ladder_report(study), options.format)
    return ExitCode.SATISFIED


def _parse_order(text: str | None) -> tuple[str, ...] | None:
    order = None if text is None else tuple(name.strip() for name in text.split(","))
    if order is not None and "" in order:
        raise UsageError(f"--order {text!r} holds an empty name; write T0,T1,….")
    return order


def _parse_weights(text: str | None) -> dict[str, float] | None:
    """Weights of the dimensions of a composite, such as passed=.7,judge_score=.3."""
    if text is None:
        return None
    weights: dict[str, float] = {}
    for part in map(str.strip, text.split(",")):
        name, _, number = part.partition("=")
        try:
            weights[Dimension(name.strip()).value] = float(number)
        except ValueError:
            names = ", ".join(dimension.value for dimension in Dimension)
            raise UsageError(
                f"--weights {text!r}: {part!r} is not a weight; write passed=.5,judge_score=.5 with any of {names}."
            ) from None
    if not all(isfinite(weight) and weight >= 0 for weight in weights.values()) or not sum(weights.values()) > 0:
        raise UsageError(f"--weights {text!r}: weights are numbers of at least 0, and not all 0.")
    return weights


def build_parser() -> Parser:
    """The options of this verb."""
    parser = reading_parser(
        "ladder",
        "Compare arms as tiers: gain over the first, variance, range, grades and best value.",
        "outweigh ladder outweigh-runs/demo --order trap,plain,better",
        r"outweigh ladder runs.jsonl --tiers 'T(\d+)'",
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
    _add_weighing_options(parser)
    parser.group("Arms").add_argument(
        "--baseline",
        metavar="ARM",
        help="the arm that all others are compared with (default: the suite's, else the first)",
    )
    add_task_list_option(parser)
    add_changes_option(parser)
    add_output_option(parser, ".html, .md, .json, .csv or .tex", "the ladder")
    add_format_option(parser)
    parser.group(COMMON_OPTIONS).add_argument(
        "--verbose", action="store_true", help="print everything: sub-arms, every figure, judges, methods, warnings"
    )
    return parser


def _add_weighing_options(parser: Parser) -> None:
    group = parser.group("Statistics")
    group.add_argument(
        "--profile",
        metavar="NAME",
        help="weights of the composite: even, objective_first or one of the suite's own (default: the suite's "
        "own, else even)",
    )
    group.add_argument(
        "--weights", metavar="NAME=X,…", help="weights of the composite, such as passed=.7,judge_score=.3"
    )
    group.add_argument(
        "--seed", type=parse_seed, default=0, metavar="N", help="seed for random draws (default: %(default)s)"
    )
