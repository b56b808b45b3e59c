"""`outweigh aa`: how often would each policy cry wolf on this data?"""

import argparse
from collections.abc import Sequence

import numpy as np

from outweigh.cli.arguments import (
    Parser,
    add_format_option,
    add_inference_options,
    gather_evidence,
    reading_parser,
    show,
)
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import UsageError
from outweigh.report.self_check_view import self_check_report
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.self_check import self_check

SPLITS = 200


def main(arguments: Sequence[str]) -> int:
    """Print what the policies say where there is nothing to find."""
    options = _parser().parse_intermixed_args(arguments)
    _refuse_nonsense(options)
    settings = evidence_settings(
        gates=None if options.gates is None else [name.strip() for name in options.gates.split(",")],
        fixed_suite=options.infer == "runs",
        seed=options.seed,
    )
    evidence = gather_evidence(options)
    # By name, so that the order of the records does not change what is drawn.
    arms = options.arm or sorted(evidence.arms)
    check = self_check(evidence, arms, options.splits, np.random.default_rng(options.seed), settings)
    show(self_check_report(check, options.seed), options.format)
    return ExitCode.SATISFIED


def _parser() -> Parser:
    parser = reading_parser(
        "aa",
        "The A/A self-check: split each arm's repeats at random into two halves, many times, and count how often each "
        "policy finds a difference where there is none.",
    )
    parser.add_argument("--arm", metavar="ARM", action="append", help="split this arm only; may be repeated")
    parser.add_argument(
        "--splits",
        type=_splits,
        default=SPLITS,
        metavar="N",
        help="shared evenly among the arms (default: %(default)s)",
    )
    parser.add_argument(
        "--gates", metavar="NAME,…", help="what the evidence policy gates on (default: all; cost where it is known)"
    )
    add_inference_options(parser)
    add_format_option(parser)
    return parser


def _splits(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of splits (1 or more)")
    return int(text)


def _refuse_nonsense(options: argparse.Namespace) -> None:
    if options.arm and len(set(options.arm)) < len(options.arm):
        raise UsageError("--arm names an arm twice.")
