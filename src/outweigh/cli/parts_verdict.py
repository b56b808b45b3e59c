"""`outweigh parts verdict`: which parts of a set-up to keep, which can go, and which hurt."""

import argparse
from collections.abc import Sequence

from outweigh.app.judge_parts import PartsRequest, judge_store_parts
from outweigh.cli.arguments import Parser, add_format_option, add_output_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.reading_options import (
    PolicyOptions,
    ReadingOptions,
    add_inference_options,
    add_policy_options,
    reading_parser,
)


class _Options(ReadingOptions, PolicyOptions):
    turns_per_month: int | None
    format: str
    output: list[str]


def main(arguments: Sequence[str]) -> int:
    """Print what is known about every part; exit code 3 where nothing is known about any."""
    options = build_parser().parse_command(arguments, _Options())
    if options.output:
        from outweigh.cli.output_files import PARTS_FILES  # noqa: PLC0415 - formats are only needed for files

        PARTS_FILES.check(options.output)
    result = judge_store_parts(
        PartsRequest(
            evidence=options.evidence_request(),
            policy=options.policy_request(),
            turns_per_month=options.turns_per_month,
        )
    )
    if options.output:
        from outweigh.cli.output_files import write_files  # noqa: PLC0415

        write_files(PARTS_FILES, result.document(), options.output)
    else:
        print_report(result.document(), options.format)
    return ExitCode.SATISFIED if result.is_decided else ExitCode.UNUSABLE_EVIDENCE


def build_parser() -> Parser:
    """The options of this verb."""
    parser = reading_parser(
        "parts verdict",
        "Decide about every part of a set-up: keep, drop, hurts, or not known yet.",
        "outweigh parts verdict outweigh-runs/parts",
        "outweigh parts verdict outweigh-runs/parts --turns-per-month 20000 --format json",
    )
    parser.add_argument(
        "--turns-per-month",
        type=_parse_turns,
        metavar="N",
        help="requests that your set-up sends to its model in a month, to say what each part costs",
    )
    add_policy_options(parser)
    add_inference_options(parser)
    add_output_option(parser, ".html, .md, .json or .tex", "the verdict")
    add_format_option(parser)
    return parser


def _parse_turns(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of turns (1 or more)")
    return int(text)
