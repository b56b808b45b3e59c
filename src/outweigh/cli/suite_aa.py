"""`outweigh suite aa`: how often would each policy report a difference where there is none?"""

import argparse
from collections.abc import Sequence

from outweigh.app.self_check import DEFAULT_SPLITS, SelfCheckRequest, check_false_alarms
from outweigh.cli.arguments import Parser, add_format_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.reading_options import (
    PolicyOptions,
    ReadingOptions,
    add_inference_options,
    add_policy_options,
    add_profile_option,
    reading_parser,
)


class _Options(ReadingOptions, PolicyOptions):
    reads_datasets: bool = True
    arm: list[str] | None
    splits: int
    profile: str | None
    format: str


def main(arguments: Sequence[str]) -> int:
    """Print what the policies say where there is nothing to find."""
    options = build_parser().parse_command(arguments, _Options())
    request = SelfCheckRequest(
        evidence=options.evidence_request(),
        policy=options.policy_request(),
        arms=tuple(options.arm or ()),
        splits=options.splits,
        profile=options.profile,
    )
    print_report(check_false_alarms(request), options.format)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = reading_parser(
        "suite aa",
        "Count false alarms on your own data: split the repeats of each arm at random into two halves, many times, and "
        "count how often each policy finds a difference where there is none.",
        "outweigh suite aa outweigh-runs/demo --arm plain --splits 20",
    )
    parser.add_argument(
        "--arm", metavar="ARM", action="append", help="split only this arm; may be repeated (default: every arm)"
    )
    parser.add_argument(
        "--splits",
        type=_parse_splits,
        default=DEFAULT_SPLITS,
        metavar="N",
        help="the number of splits over all arms (default: %(default)s)",
    )
    add_policy_options(parser)
    add_profile_option(parser)
    add_inference_options(parser)
    add_format_option(parser)
    return parser


def _parse_splits(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of splits (1 or more)")
    return int(text)
