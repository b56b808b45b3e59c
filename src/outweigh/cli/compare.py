"""`outweigh compare`: two arms side by side."""

import shlex
from collections.abc import Sequence

from outweigh.app.compare import CompareRequest, compare
from outweigh.cli.arguments import COMMON_OPTIONS, Parser, add_format_option, print_report
from outweigh.cli.console import notify
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.reading_options import (
    ArmOptions,
    InferenceOptions,
    ReadingOptions,
    add_arm_options,
    add_changes_option,
    add_inference_options,
    add_task_list_option,
    reading_parser,
)
from outweigh.compare.inference import IntervalMethod, Population


class _Options(ReadingOptions, ArmOptions, InferenceOptions):
    reads_datasets: bool = True
    interval: IntervalMethod
    verbose: bool
    format: str


def main(arguments: Sequence[str]) -> int:
    """Print the comparison; reading it is up to the reader."""
    options = build_parser().parse_command(arguments, _Options())
    result = compare(
        CompareRequest(
            evidence=options.evidence_request(),
            arms=options.arm_choice(),
            population=Population(options.infer),
            interval=options.interval,
            seed=options.seed,
        )
    )
    if result.compared.note is not None:
        notify(result.compared.note)
    brief = options.format == "text" and not options.verbose
    whole = shlex.join([*options.command, "--verbose"])
    print_report(result.summary(command=whole) if brief else result.document(), options.format)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = reading_parser(
        "compare",
        "Compare two arms: summaries, pairs, differences and their intervals.",
        "outweigh compare outweigh-runs/demo --candidate better",
        "outweigh compare outweigh-runs/demo --candidate better --format markdown",
    )
    add_task_list_option(parser)
    add_arm_options(parser)
    add_changes_option(parser)
    add_inference_options(parser)
    parser.group("Statistics").add_argument(
        "--interval",
        choices=tuple(IntervalMethod),
        type=IntervalMethod,
        default=IntervalMethod.T,
        help="the method for intervals over tasks (default: t)",
    )
    add_format_option(parser)
    parser.group(COMMON_OPTIONS).add_argument(
        "--verbose", action="store_true", help="print everything: medians, totals, ratios, pairs, judges, warnings"
    )
    return parser
