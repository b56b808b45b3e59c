"""`outweigh verdict`: did the candidate improve, and may it be promoted?"""

import argparse
import re
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
from outweigh.compare.comparison import compare
from outweigh.errors import UsageError
from outweigh.report.verdict_view import verdicts_report
from outweigh.score.profile import PROFILES
from outweigh.verdict.evidence_settings import EvidenceSettings, evidence_settings
from outweigh.verdict.policy import POLICIES, decide
from outweigh.verdict.verdict import Decision, Verdict

PLANNED_TASKS = 100

REQUIREMENTS = {
    "improved": frozenset({Decision.IMPROVED}),
    "not-regressed": frozenset({Decision.IMPROVED, Decision.NEUTRAL}),
}


def main(arguments: Sequence[str]) -> int:
    """Print the verdict; the exit code says whether the requirement is met."""
    options = _parser().parse_intermixed_args(arguments)
    margins = dict(map(_margin, options.margin))
    _refuse_foreign_options(options)
    evidence = gather_evidence(options)
    baseline, candidates = arms_to_compare(options, evidence, several=True)
    profile = PROFILES[options.profile]
    comparisons = [compare(evidence, baseline, candidate, profile) for candidate in candidates]
    verdicts = decide(comparisons, options.policy, margins, _settings(options, margins))
    show(verdicts_report(verdicts, comparisons), options.format)
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
    parser.add_argument(
        "--policy", choices=POLICIES, default="evidence", help="the rule that decides (default: %(default)s)"
    )
    parser.add_argument(
        "--gates", metavar="NAME,…", help="what the evidence policy gates on (default: all; cost where it is known)"
    )
    parser.add_argument(
        "--margin", action="append", default=[], metavar="NAME=X", help="a margin of the policy, e.g. duration=0.1"
    )
    parser.add_argument(
        "--sequential",
        action="store_true",
        help="the data were, or will be, looked at more than once: hold the error rate over all looks",
    )
    parser.add_argument(
        "--planned-tasks",
        type=_planned,
        metavar="N",
        help=f"where a sequential verdict is sharpest; fix it before the first look (default: {PLANNED_TASKS})",
    )
    parser.add_argument(
        "--require", choices=tuple(REQUIREMENTS), default="improved", help="what exits 0 (default: %(default)s)"
    )
    add_format_option(parser)
    return parser


def _settings(options: argparse.Namespace, margins: dict[str, float]) -> EvidenceSettings | None:
    if options.policy != "evidence":
        return None
    return evidence_settings(
        gates=None if options.gates is None else [name.strip() for name in options.gates.split(",")],
        margins=margins,
        fixed_suite=options.infer == "runs",
        planned_tasks=(options.planned_tasks or PLANNED_TASKS) if options.sequential else None,
        seed=options.seed,
    )


def _refuse_foreign_options(options: argparse.Namespace) -> None:
    if options.planned_tasks is not None and not options.sequential:
        raise UsageError("--planned-tasks goes with --sequential.")
    if options.policy == "evidence":
        return
    for name in ("gates", "sequential"):
        if getattr(options, name):
            raise UsageError(
                f"--{name} belongs to policy evidence; policy {options.policy} decides as the seed wrote it."
            )
    if options.infer != "tasks":
        raise UsageError(f"--infer belongs to policy evidence; policy {options.policy} makes no inference.")


def _planned(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tasks (2 or more)")
    return int(text)


def _margin(text: str) -> tuple[str, float]:
    name, found, value = text.partition("=")
    if not found:
        raise UsageError(f"--margin {text} has no value; write NAME=X, e.g. duration=0.1.")
    try:
        number = float({"true": "1", "false": "0"}.get(value.lower(), value))
    except ValueError:
        raise UsageError(f"--margin {text}: {value!r} is not a number; write NAME=X.") from None
    # The seed spells its thresholds minCompositeGain; both spellings mean the same.
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"_{match[1].lower()}", name), number
