"""`outweigh aa`: how often would each policy report a difference where there is none?"""

import argparse
from collections.abc import Sequence

import numpy as np

from outweigh.app.policy_choice import ChosenPolicy, add_policy_options, choose_policy
from outweigh.cli.arguments import (
    Parser,
    add_format_option,
    add_inference_options,
    add_profile_option,
    gather_evidence,
    print_report,
    reading_parser,
)
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import UsageError
from outweigh.report.self_check_page import self_check_report
from outweigh.score.composite import PROFILES
from outweigh.store.store import choose_profile
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.policy import composite_thresholds
from outweigh.verdict.self_check import PolicySettings, self_check

SPLITS = 200


def main(arguments: Sequence[str]) -> int:
    """Print what the policies say where there is nothing to find."""
    options = _parser().parse_intermixed_args(arguments)
    _refuse_nonsense(options)
    policy = choose_policy(options)
    evidence = gather_evidence(options)
    # By name, so that the order of the records does not change what is drawn.
    arms = options.arm or sorted(evidence.arms)
    check = self_check(evidence, arms, options.splits, np.random.default_rng(options.seed), _rules(options, policy))
    print_report(self_check_report(check, options.seed, policy.name, policy.source), options.format)
    return ExitCode.SATISFIED


def _rules(options: argparse.Namespace, chosen: ChosenPolicy) -> PolicySettings:
    """The policy that will decide as it will decide, and the others as they come."""
    fallback = evidence_settings(fixed_suite=options.infer == "runs", seed=options.seed)
    return PolicySettings(
        evidence=chosen.settings or fallback,
        thresholds=composite_thresholds(chosen.margins if chosen.name == "composite" else {}),
        profile=PROFILES[choose_profile(options.profile, options.runs)],
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
