"""`outweigh diff`: two runs side by side."""

from collections.abc import Sequence

from outweigh.app.scan import open_scanned_run
from outweigh.cli.arguments import Parser, add_format_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import UsageError
from outweigh.report.run_diff import diff_runs
from outweigh.report.run_diff_page import diff_report
from outweigh.store.store import Store


class _Options:
    runs: str
    run_a: str
    run_b: str
    format: str


def main(arguments: Sequence[str]) -> int:
    """Print where two runs part. The exit code says that it was printed."""
    options = build_parser().parse_args(arguments, _Options())
    store = Store.open(options.runs)
    if store.path is None:
        raise UsageError("diff reads what was kept beside the records; name a store, or a file of records.")
    first, second = store.find_runs((options.run_a, options.run_b))
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
    parser.add_argument("runs", metavar="RUNS", help="the store that holds both, or a .jsonl file of run records")
    parser.add_argument("run_a", metavar="RUN_A", help="a run_id, or TASK/ARM/REPEAT for its last attempt")
    parser.add_argument("run_b", metavar="RUN_B", help="the run to compare it with, named the same way")
    add_format_option(parser)
    return parser
