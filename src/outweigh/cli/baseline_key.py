"""`outweigh baseline key`: a cache key made of the baseline, the tasks and the settings."""

from collections.abc import Sequence

from outweigh.app.baseline import baseline_key
from outweigh.cli.arguments import Parser
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.run import SuiteOptions, add_suite_options


def main(arguments: Sequence[str]) -> int:
    """Print the key."""
    options = build_parser().parse_command(arguments, SuiteOptions())
    print(baseline_key(options.suite_request()))
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh baseline key",
        description="Print a key for CI caches, made of the baseline, the tasks and the settings.",
        examples=("outweigh baseline key -c my-suite",),
    )
    add_suite_options(parser)
    return parser
