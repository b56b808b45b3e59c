"""`outweigh compare`: two arms side by side."""

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
from outweigh.report.comparison_view import comparison_report
from outweigh.score.profile import PROFILES


def main(arguments: Sequence[str]) -> int:
    """Print the comparison; reading it is up to the reader."""
    parser = reading_parser("compare", "Two arms side by side: summaries, pairs, deltas.")
    add_comparison_options(parser)
    add_format_option(parser)
    options = parser.parse_intermixed_args(arguments)
    evidence = gather_evidence(options)
    comparison = compare(evidence, *arms_to_compare(options, evidence), PROFILES[options.profile])
    show(comparison_report(comparison), options.format)
    return ExitCode.SATISFIED
