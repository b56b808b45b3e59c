"""`outweigh ladder`: arms as tiers."""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from outweigh.adapters.stores.experiment_file import Experiment
from outweigh.cli.arguments import Parser, add_format_option, gather_evidence, reading_parser, show
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.suite_behind import experiment_behind
from outweigh.compare.evidence import Evidence
from outweigh.compare.ladder import Ladder, climb
from outweigh.errors import UsageError, name_some
from outweigh.report.ladder_view import ladder_report
from outweigh.score.grade import SCALES


def main(arguments: Sequence[str]) -> int:
    """Print the ladder."""
    options = _parser().parse_intermixed_args(arguments)
    order = _order(options.order)
    show(ladder_report(_ladder(options, order, gather_evidence(options))), options.format)
    return ExitCode.SATISFIED


def _ladder(options: argparse.Namespace, order: Sequence[str] | None, evidence: Evidence) -> Ladder:
    """In the user's order, else by the suite's tiers, else from the suite's baseline up."""
    scale, experiment = SCALES[options.grades], experiment_behind(options.runs)
    if order is not None or experiment is None:
        return climb(evidence, order, scale)
    if not experiment.tiers:
        return climb(evidence, None, scale, first=experiment.baseline)
    ladder = climb(evidence, sorted(experiment.tiers, key=lambda arm: experiment.tiers[arm]), scale)
    return replace(ladder, warnings=(*ladder.warnings, *_without_tier(experiment)))


def _without_tier(experiment: Experiment) -> tuple[str, ...]:
    others = [name for name in experiment.arms if name not in experiment.tiers]
    return (f"arms to which the suite gives no tier are left out: {name_some(others)}.",) if others else ()


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
        "--grades", choices=tuple(SCALES), default="seed", help="the letter scale (default: %(default)s)"
    )
    add_format_option(parser)
    return parser
