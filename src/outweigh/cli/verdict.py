"""`outweigh verdict`: did the candidate improve, and may it be promoted?"""

import shlex
from collections.abc import Sequence

from outweigh.app.decide import REQUIREMENTS, DecideRequest, decide
from outweigh.cli.arguments import COMMON_OPTIONS, Parser, add_format_option, print_report, screen_width
from outweigh.cli.console import notify
from outweigh.cli.exit_codes import REQUIREMENT_CODES
from outweigh.cli.reading_options import (
    ArmOptions,
    PolicyOptions,
    ReadingOptions,
    add_arm_options,
    add_inference_options,
    add_policy_options,
    add_task_list_option,
    reading_parser,
)


class _Options(ReadingOptions, ArmOptions, PolicyOptions):
    reads_datasets: bool = True
    require: str
    verbose: bool
    format: str


def main(arguments: Sequence[str]) -> int:
    """Print the verdict; the exit code says whether the requirement is met.

    Met by any candidate: 0. Met by none but decided: 1. Nothing decided: 3, whatever is required.
    """
    options = build_parser().parse_command(arguments, _Options())
    result = decide(
        DecideRequest(evidence=options.evidence_request(), arms=options.arm_choice(), policy=options.policy_request())
    )
    if result.compared.note is not None:
        notify(result.compared.note)
    brief = options.format == "text" and not options.verbose
    command, width = shlex.join(options.command), screen_width()
    print_report(result.summary(command=command, width=width) if brief else result.document(), options.format)
    return REQUIREMENT_CODES[result.meets(options.require)]


def build_parser() -> Parser:
    """The options of this verb."""
    parser = reading_parser(
        "verdict",
        "Decide whether the candidate improved and may be promoted.",
        "outweigh verdict",
        "outweigh verdict outweigh-runs/demo --candidate better --require not-regressed",
        "outweigh verdict outweigh-runs/demo --format json",
    )
    add_task_list_option(parser)
    add_arm_options(parser, several=True)
    add_policy_options(parser)
    add_inference_options(parser)
    parser.group("Rule").add_argument(
        "--require",
        choices=tuple(REQUIREMENTS),
        default="improved",
        help="what must hold for exit code 0 (default: %(default)s)",
    )
    add_format_option(parser)
    parser.group(COMMON_OPTIONS).add_argument(
        "--verbose", action="store_true", help="print everything: tables of gates and arms, judges, warnings"
    )
    return parser
