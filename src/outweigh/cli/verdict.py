"""`outweigh verdict`: did the candidate improve, and may it be promoted?"""

from collections.abc import Sequence

from outweigh.app.policy_choice import add_policy_options, choose_policy
from outweigh.cli.arguments import (
    Parser,
    add_arm_options,
    add_format_option,
    add_inference_options,
    arms_to_compare,
    gather_evidence,
    print_report,
    reading_parser,
)
from outweigh.cli.exit_codes import ExitCode
from outweigh.compare.comparison import compare_arms
from outweigh.report.setup_changes import add_setup_changes
from outweigh.report.verdict_page import verdicts_report
from outweigh.score.composite import PROFILES
from outweigh.store.store import choose_profile, setup_of_arms
from outweigh.verdict.decision import Decision, Verdict

REQUIREMENTS = {
    "improved": frozenset({Decision.IMPROVED}),
    "not-regressed": frozenset({Decision.IMPROVED, Decision.NEUTRAL}),
}


def main(arguments: Sequence[str]) -> int:
    """Print the verdict; the exit code says whether the requirement is met."""
    options = _parser().parse_intermixed_args(arguments)
    policy = choose_policy(options)
    evidence = gather_evidence(options)
    baseline, candidates = arms_to_compare(options, evidence, several=True)
    profile = PROFILES[choose_profile(options.profile, options.runs)]
    comparisons = [compare_arms(evidence, baseline, candidate, profile) for candidate in candidates]
    verdicts = policy.decide(comparisons)
    answer = verdicts_report(verdicts, comparisons, policy.source)
    print_report(add_setup_changes(answer, setup_of_arms(options.runs, baseline, candidates)), options.format)
    return exit_code(verdicts, options.require)


def exit_code(verdicts: Sequence[Verdict], requirement: str) -> ExitCode:
    """Met by any candidate: 0. Met by none but decided: 1. Nothing decided: 3, whatever is required.

    A hard regression, such as a task that was never run, is not met by anything.
    """
    met = [verdict.decision in REQUIREMENTS[requirement] and not verdict.regressions for verdict in verdicts]
    if any(met):
        return ExitCode.SATISFIED
    undecided = all(verdict.decision is Decision.INCONCLUSIVE for verdict in verdicts)
    return ExitCode.UNUSABLE_EVIDENCE if undecided else ExitCode.NOT_SATISFIED


def _parser() -> Parser:
    parser = reading_parser("verdict", "Did the candidate improve, and may it be promoted?")
    add_arm_options(parser, several=True)
    add_inference_options(parser)
    add_policy_options(parser)
    parser.add_argument(
        "--require", choices=tuple(REQUIREMENTS), default="improved", help="what exits 0 (default: %(default)s)"
    )
    add_format_option(parser)
    return parser
