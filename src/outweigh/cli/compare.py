"""`outweigh compare`: two arms side by side."""

from collections.abc import Sequence

from outweigh.cli.arguments import (
    add_arm_options,
    add_changes_option,
    add_format_option,
    add_inference_options,
    arms_to_compare,
    gather_evidence,
    reading_parser,
    show,
)
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.suite_behind import profile_for
from outweigh.compare.comparison import compare
from outweigh.compare.delta_inference import Method
from outweigh.compare.inference import Population, infer
from outweigh.errors import UsageError
from outweigh.report.comparison_view import comparison_report
from outweigh.score.profile import PROFILES


def main(arguments: Sequence[str]) -> int:
    """Print the comparison; reading it is up to the reader."""
    parser = reading_parser("compare", "Two arms side by side: summaries, pairs, deltas, intervals.")
    add_arm_options(parser)
    add_changes_option(parser)
    add_inference_options(parser)
    parser.add_argument(
        "--interval",
        choices=tuple(Method),
        type=Method,
        default=Method.T,
        help="where intervals over tasks come from (default: t)",
    )
    add_format_option(parser)
    options = parser.parse_intermixed_args(arguments)
    if options.interval is Method.BOOTSTRAP and options.infer == "runs":
        raise UsageError("--interval bootstrap draws tasks, and --infer runs keeps them fixed; use one of them.")
    evidence = gather_evidence(options)
    baseline, candidates = arms_to_compare(options, evidence)
    if len(candidates) > 1:
        raise UsageError("compare takes one --candidate; `outweigh verdict` judges several together.")
    profile = PROFILES[profile_for(options.profile, options.runs)]
    comparison = compare(evidence, baseline, candidates[0], profile)
    inference = infer(comparison, population=Population(options.infer), method=options.interval, seed=options.seed)
    show(comparison_report(comparison, inference), options.format)
    return ExitCode.SATISFIED
