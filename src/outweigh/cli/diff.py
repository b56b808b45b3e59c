"""`outweigh diff`: two runs side by side."""

from collections.abc import Sequence

from outweigh.app.scan import open_scanned_run
from outweigh.cli.arguments import CommandOptions, Parser, add_format_option, print_report
from outweigh.cli.defaults import choose_store
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import UsageError
from outweigh.report.run_diff import diff_runs
from outweigh.report.run_diff_page import diff_report
from outweigh.store.store import Store


class _Options(CommandOptions):
    names: list[str]
    format: str


def main(arguments: Sequence[str]) -> int:
    """Print where two runs part. The exit code says that it was printed."""
    options = build_parser().parse_command(arguments, _Options())
    if len(options.names) not in (2, 3):
        raise UsageError("diff takes two runs, after their store where it is not the last one of this folder.")
    *named, run_a, run_b = options.names
    store = Store.open(choose_store(named[0] if named else None, options.command))
    if store.path is None:
        raise UsageError("diff reads what was kept beside the records; name a store, or a file of records.")
    first, second = store.find_runs((run_a, run_b))
    diff = diff_runs(open_scanned_run(store, first), open_scanned_run(store, second))
    print_report(diff_report(diff), options.format)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh diff",
        description="Compare two runs step by step: where they diverge, checks, patches, cost and time.",
        examples=("outweigh diff outweigh-runs/demo fix-slug/plain/1 fix-slug/better/1",),
    )
    parser.add_argument(
        "names",
        nargs="+",
        metavar="[RUNS] RUN_A RUN_B",
        help="two runs, each a run_id or TASK/ARM/REPEAT for its last attempt; before them, the store that holds both "
        "or a .jsonl file of run records (default: the last store of this folder)",
    )
    add_format_option(parser)
    return parser
