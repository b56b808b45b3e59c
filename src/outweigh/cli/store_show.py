"""`outweigh store show`: one store at a glance."""

from collections.abc import Sequence

from outweigh.app.show_store import show_store
from outweigh.cli.arguments import CommandOptions, Parser, add_format_option, print_report
from outweigh.cli.defaults import choose_store
from outweigh.cli.exit_codes import ExitCode
from outweigh.report.store_page import store_report
from outweigh.store.store import Store


class _Options(CommandOptions):
    runs: str | None
    format: str


def main(arguments: Sequence[str]) -> int:
    """Print what the store holds."""
    options = build_parser().parse_command(arguments, _Options())
    store = Store.open(choose_store(options.runs, options.command))
    print_report(store_report(show_store(store)), options.format)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh store show",
        description="Show one store at a glance: suite, arms, what is done and missing, judgments, cost and damage.",
        examples=("outweigh store show", "outweigh store show outweigh-runs/demo --format json"),
    )
    parser.add_argument(
        "runs", nargs="?", metavar="RUNS", help="the store to show (default: the last one of this folder)"
    )
    add_format_option(parser)
    return parser
