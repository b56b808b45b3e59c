"""`outweigh aa`: how often would each policy cry wolf on this data?"""

import argparse
from collections.abc import Sequence

import numpy as np

from outweigh.cli.arguments import (
    Parser,
    add_format_option,
    add_inference_options,
    add_profile_option,
    gather_evidence,
    reading_parser,
    show,
)
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.policy_options import ChosenPolicy, add_policy_options, chosen_policy
from outweigh.cli.suite_behind import profile_for
from outweigh.errors import UsageError
from outweigh.report.self_check_view import self_check_report
from outweigh.score.profile import PROFILES
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.opinions import Rules
from outweigh.verdict.policy import thresholds_of
from outweigh.verdict.self_check import self_check

SPLITS = 200


def main(arguments: Sequence[str]) -> int:
    """Print what the policies say where there is nothing to find."""
    options = _parser().parse_intermixed_args(arguments)
    _refuse_nonsense(options)
    policy = chosen_policy(options)
    evidence = gather_evidence(options)
    # By name, so that the order of the records does not change what is drawn.
    arms = options.arm or sorted(evidence.arms)
    check = self_check(evidence, arms, options.splits, np.random.default_rng(options.seed), _rules(options, policy))
    show(self_check_report(check, options.seed, policy.name, policy.source), options.format)
    return ExitCode.SATISFIED


def _rules(options: argparse.Namespace, chosen: ChosenPolicy) -> Rules:
    """The policy that will decide as it will decide, and the others as they come."""
    fallback = evidence_settings(fixed_suite=options.infer == "runs", seed=options.seed)
    return Rules(
        evidence=chosen.settings or fallback,
        thresholds=thresholds_of(chosen.margins if chosen.name == "composite" else {}),
        profile=PROFILES[profile_for(options.profile, options.runs)],
    )


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
    add_policy_options(parser)
    add_profile_option(parser)
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
