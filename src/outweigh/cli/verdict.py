"""`outweigh verdict`: did the candidate improve, and may it be promoted?"""

from collections.abc import Sequence

from outweigh.cli.arguments import (
    Parser,
    add_arm_options,
    add_format_option,
    add_inference_options,
    arms_to_compare,
    gather_evidence,
    reading_parser,
    show,
)
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.policy_options import add_policy_options, chosen_policy
from outweigh.cli.setup_behind import setup_behind
from outweigh.cli.suite_behind import profile_for
from outweigh.compare.comparison import compare
from outweigh.report.setup_view import with_setup
from outweigh.report.verdict_view import verdicts_report
from outweigh.score.profile import PROFILES
from outweigh.verdict.verdict import Decision, Verdict

REQUIREMENTS = {
    "improved": frozenset({Decision.IMPROVED}),
    "not-regressed": frozenset({Decision.IMPROVED, Decision.NEUTRAL}),
}


def main(arguments: Sequence[str]) -> int:
    """Print the verdict; the exit code says whether the requirement is met."""
    options = _parser().parse_intermixed_args(arguments)
    policy = chosen_policy(options)
    evidence = gather_evidence(options)
    baseline, candidates = arms_to_compare(options, evidence, several=True)
    profile = PROFILES[profile_for(options.profile, options.runs)]
    comparisons = [compare(evidence, baseline, candidate, profile) for candidate in candidates]
    verdicts = policy.decide(comparisons)
    answer = verdicts_report(verdicts, comparisons, policy.source)
    show(with_setup(answer, setup_behind(options.runs, baseline, candidates)), options.format)
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
