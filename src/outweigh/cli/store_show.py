"""`outweigh store show`: stores at a glance, and what came of every arm."""

from collections.abc import Sequence
from shlex import join

from outweigh.app.open_runs import open_runs
from outweigh.app.show_store import show_stores
from outweigh.cli.arguments import CommandOptions, Parser, add_format_option, print_report
from outweigh.cli.console import notify
from outweigh.cli.defaults import choose_stores
from outweigh.cli.exit_codes import ExitCode
from outweigh.store.dataset_manifest import refuse_dataset


class _Options(CommandOptions):
    runs: list[str]
    format: str


def main(arguments: Sequence[str]) -> int:
    """Print what the stores hold."""
    options = build_parser().parse_command(arguments, _Options())
    stores = open_runs(choose_stores(options.runs, options.command), {}, join(options.command), notify)
    if stores.dataset is not None:
        refuse_dataset(stores.dataset)
    if (missing := stores.missing_shards()) is not None:
        notify(missing)
    print_report(show_stores(tuple(dict.fromkeys(stores.stores))), options.format)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh store show",
        description="Show stores at a glance: what is done and missing, and for every arm the runs that count, those "
        "that do not and why, passes, cost and tokens, beside what an imported source states itself.",
        examples=("outweigh store show", "outweigh store show outweigh-runs/demo --format json"),
    )
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUNS",
        help="a store, a .jsonl file of run records, or a bundle (default: the last store of this folder)",
    )
    add_format_option(parser)
    return parser
