"""`outweigh ladder`: arms as tiers."""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from outweigh.cli.arguments import Parser, add_format_option, gather_evidence, print_report, reading_parser
from outweigh.cli.exit_codes import ExitCode
from outweigh.compare.evidence import Evidence
from outweigh.compare.ladder import Ladder, compare_tiers
from outweigh.errors import UsageError, quote_names
from outweigh.report.ladder_page import ladder_report
from outweigh.score.composite import GRADE_SCALES
from outweigh.store.experiment_file import ExperimentFile
from outweigh.store.store import single_experiment


def main(arguments: Sequence[str]) -> int:
    """Print the ladder."""
    options = _parser().parse_intermixed_args(arguments)
    order = _order(options.order)
    print_report(ladder_report(_ladder(options, order, gather_evidence(options))), options.format)
    return ExitCode.SATISFIED


def _ladder(options: argparse.Namespace, order: Sequence[str] | None, evidence: Evidence) -> Ladder:
    """In the user's order, else by the suite's tiers, else from the suite's baseline up."""
    scale, experiment = GRADE_SCALES[options.grades], single_experiment(options.runs)
    if order is not None or experiment is None:
        return compare_tiers(evidence, order, scale)
    if not experiment.tiers:
        return compare_tiers(evidence, None, scale, first=experiment.baseline)
    ladder = compare_tiers(evidence, sorted(experiment.tiers, key=lambda arm: experiment.tiers[arm]), scale)
    return replace(ladder, warnings=(*ladder.warnings, *_without_tier(experiment)))


def _without_tier(experiment: ExperimentFile) -> tuple[str, ...]:
    others = [name for name in experiment.arms if name not in experiment.tiers]
    return (f"arms to which the suite gives no tier are left out: {quote_names(others)}.",) if others else ()


def _order(text: str | None) -> list[str] | None:
    order = None if text is None else [name.strip() for name in text.split(",")]
    if order is not None and "" in order:
        raise UsageError(f"--order {text!r} holds an empty name; write T0,T1,….")
    return order


def _parser() -> Parser:
    parser = reading_parser("ladder", "Arms as tiers: uplift over the first, variance, range, grades, best value.")
    parser.add_argument(
        "--order", metavar="T0,T1,…", help="the tiers from the first up (default: the suite's tiers, else by name)"
    )
    parser.add_argument(
        "--grades", choices=tuple(GRADE_SCALES), default="seed", help="the letter scale (default: %(default)s)"
    )
    add_format_option(parser)
    return parser
