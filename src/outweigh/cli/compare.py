"""`outweigh compare`: two arms side by side."""

from collections.abc import Sequence

from outweigh.cli.arguments import (
    add_arm_options,
    add_changes_option,
    add_format_option,
    add_inference_options,
    arms_to_compare,
    gather_evidence,
    print_report,
    reading_parser,
)
from outweigh.cli.exit_codes import ExitCode
from outweigh.compare.comparison import compare_arms
from outweigh.compare.inference import IntervalMethod, Population, infer
from outweigh.errors import UsageError
from outweigh.report.comparison_page import comparison_report
from outweigh.score.composite import PROFILES
from outweigh.store.store import choose_profile


def main(arguments: Sequence[str]) -> int:
    """Print the comparison; reading it is up to the reader."""
    parser = reading_parser("compare", "Two arms side by side: summaries, pairs, deltas, intervals.")
    add_arm_options(parser)
    add_changes_option(parser)
    add_inference_options(parser)
    parser.add_argument(
        "--interval",
        choices=tuple(IntervalMethod),
        type=IntervalMethod,
        default=IntervalMethod.T,
        help="where intervals over tasks come from (default: t)",
    )
    add_format_option(parser)
    options = parser.parse_intermixed_args(arguments)
    if options.interval is IntervalMethod.BOOTSTRAP and options.infer == "runs":
        raise UsageError("--interval bootstrap draws tasks, and --infer runs keeps them fixed; use one of them.")
    evidence = gather_evidence(options)
    baseline, candidates = arms_to_compare(options, evidence)
    if len(candidates) > 1:
        raise UsageError("compare takes one --candidate; `outweigh verdict` judges several together.")
    profile = PROFILES[choose_profile(options.profile, options.runs)]
    comparison = compare_arms(evidence, baseline, candidates[0], profile)
    inference = infer(comparison, population=Population(options.infer), method=options.interval, seed=options.seed)
    print_report(comparison_report(comparison, inference), options.format)
    return ExitCode.SATISFIED
