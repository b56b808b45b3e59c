"""`outweigh verdict`: did the candidate improve, and may it be promoted?"""

import re
from collections.abc import Sequence

from outweigh.cli.arguments import (
    add_comparison_options,
    add_format_option,
    arms_to_compare,
    gather_evidence,
    reading_parser,
    show,
)
from outweigh.cli.exit_codes import ExitCode
from outweigh.compare.comparison import compare
from outweigh.errors import UsageError
from outweigh.report.verdict_view import verdict_report
from outweigh.score.profile import PROFILES
from outweigh.verdict.policy import POLICIES, RESERVED, decide
from outweigh.verdict.verdict import Decision

REQUIREMENTS = {
    "improved": frozenset({Decision.IMPROVED}),
    "not-regressed": frozenset({Decision.IMPROVED, Decision.NEUTRAL}),
}


def main(arguments: Sequence[str]) -> int:
    """Print the verdict; the exit code says whether the requirement is met."""
    parser = reading_parser("verdict", "Did the candidate improve, and may it be promoted?")
    add_comparison_options(parser)
    parser.add_argument("--policy", choices=(*POLICIES, RESERVED), required=True, help="the rule that decides")
    parser.add_argument(
        "--margin",
        action="append",
        default=[],
        metavar="NAME=X",
        help="a threshold of the policy, e.g. min_composite_gain=0.02",
    )
    parser.add_argument(
        "--require", choices=tuple(REQUIREMENTS), default="improved", help="what exits 0 (default: %(default)s)"
    )
    add_format_option(parser)
    options = parser.parse_intermixed_args(arguments)
    margins = dict(map(_margin, options.margin))
    evidence = gather_evidence(options)
    comparison = compare(evidence, *arms_to_compare(options, evidence), PROFILES[options.profile])
    verdict = decide(comparison, options.policy, margins)
    show(verdict_report(verdict, comparison), options.format)
    return exit_code(verdict.decision, options.require)


def exit_code(decision: Decision, requirement: str) -> ExitCode:
    """Inconclusive exits 3 whatever is required."""
    if decision is Decision.INCONCLUSIVE:
        return ExitCode.UNUSABLE_EVIDENCE
    return ExitCode.SATISFIED if decision in REQUIREMENTS[requirement] else ExitCode.NOT_SATISFIED


def _margin(text: str) -> tuple[str, float]:
    name, found, value = text.partition("=")
    if not found:
        raise UsageError(f"--margin {text} has no value; write NAME=X, e.g. min_composite_gain=0.02.")
    try:
        number = float({"true": "1", "false": "0"}.get(value.lower(), value))
    except ValueError:
        raise UsageError(f"--margin {text}: {value!r} is not a number; write NAME=X.") from None
    # The seed spells its thresholds minCompositeGain; both spellings mean the same.
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"_{match[1].lower()}", name), number
