"""`outweigh store bundle`: a study as one file that others can verify."""

import os
from collections.abc import Sequence

from outweigh.app.bundle_study import BundleRequest, bundle_study
from outweigh.cli.arguments import CommandOptions, Parser, parse_output
from outweigh.cli.defaults import choose_stores
from outweigh.cli.exit_codes import ExitCode
from outweigh.report.formatting import count_of, escape_controls
from outweigh.store.bundle import BundleManifest
from outweigh.store.store_set import StoreSet

_LONGEST_REASON = 200


class _Options(CommandOptions):
    runs: list[str]
    output: str
    baseline: str | None
    prices: str | None
    without_artifacts: bool


def main(arguments: Sequence[str]) -> int:
    """Write the bundle, whole or not at all, and say what is in it."""
    options = build_parser().parse_command(arguments, _Options())
    request = BundleRequest(
        stores=StoreSet.open(choose_stores(options.runs, options.command)),
        target=parse_output(options.output),
        prices=options.prices,
        baseline=options.baseline,
        artifacts=not options.without_artifacts,
        environment=os.environ,
    )
    manifest = bundle_study(request)
    made = [table for table in manifest.derived if table.refused is None]
    stores = count_of(len(manifest.stores), "store")
    print(f"{stores}, {len(made)} tables and pages\nwritten to {escape_controls(options.output)}")
    for reason, paths in _reasons(manifest).items():
        print(f"not made: {', '.join(map(escape_controls, paths))}\n  {escape_controls(reason)}")
    return ExitCode.SATISFIED


def _reasons(manifest: BundleManifest) -> dict[str, list[str]]:
    """The tables that were not made, by the beginning of the reason."""
    found: dict[str, list[str]] = {}
    for table in manifest.derived:
        if table.refused is not None:
            line = table.refused.splitlines()[0]
            reason = line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}…"
            found.setdefault(reason, []).append(table.path)
    return found


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh store bundle",
        description="Pack stores, their tables and pages, the prices and the versions used into one file that others "
        "can read and verify. The same inputs give the same bytes.",
        examples=(
            "outweigh store bundle outweigh-runs/demo -o study.outweigh.zip",
            "outweigh store bundle outweigh-runs/demo -o study.outweigh.zip --without-artifacts",
        ),
    )
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUNS",
        help="a store, or a .jsonl file of run records (default: the last store of this folder)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="ends in .zip")
    parser.add_argument("--baseline", metavar="ARM", help="the arm that tables compare with (default: the suite's)")
    parser.add_argument(
        "--prices", metavar="FILE", help="your own prices (TOML), packed and used before the bundled ones"
    )
    parser.add_argument(
        "--without-artifacts", action="store_true", help="leave out transcripts, diffs and outputs of runs"
    )
    return parser
