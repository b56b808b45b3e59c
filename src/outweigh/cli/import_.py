"""`outweigh import`: results of other harnesses as run records."""

import sys
from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path

from outweigh.app.import_results import ImportedResults, ImportedSource, ImportResultsRequest, import_results
from outweigh.app.next_comparison import next_comparison
from outweigh.app.this_folder import remember_store
from outweigh.cli.arguments import Parser, add_map_option, parse_output, print_report
from outweigh.cli.console import print_escaped
from outweigh.cli.exit_codes import ExitCode
from outweigh.plugins import adapter_names
from outweigh.report.arms_table import arms_blocks
from outweigh.report.document import Report, Tone
from outweigh.report.formatting import count_of

SHOWN_ITEMS = 10
SHOWN_WARNINGS = 30


class _Options:
    """The options, as the parser fills them in."""

    what: list[str]
    output: str
    arm: str | None
    tasks: str | None
    map: list[dict[str, str]]
    skip_invalid: bool
    transcripts: bool
    model: str | None
    rows: str | None
    where: list[tuple[str, str]]


def main(arguments: Sequence[str]) -> int:
    """Import every path into one folder."""
    options = build_parser().parse_intermixed_args(arguments, namespace=_Options())
    target = parse_output(options.output)
    request = ImportResultsRequest(
        sources=tuple(options.what),
        target=target,
        arm=options.arm,
        tasks=options.tasks,
        columns={field: column for each in options.map for field, column in each.items()},
        skip_invalid=options.skip_invalid,
        transcripts=options.transcripts,
        model=options.model,
        rows=options.rows,
        where=tuple(options.where),
    )
    imported = import_results(request, _print_source)
    remember_store(target)
    for hint in imported.hints:
        print_escaped(f"outweigh: {hint}", to=sys.stderr)
    _print_arms(imported, target)
    return ExitCode.SATISFIED if imported.have_records else ExitCode.UNUSABLE_EVIDENCE


def _print_source(imported: ImportedSource) -> None:
    if imported.is_new:
        _print_new(imported)
        _print_warnings(imported)
    else:
        runs = count_of(imported.entry.runs, "run")
        print_escaped(
            f"{imported.path}: imported into {imported.target} before, unchanged since; nothing to add ({runs})."
        )


def _print_new(imported: ImportedSource) -> None:
    entry = imported.entry
    came = [count_of(entry.runs, "run")]
    if entry.runs:
        came.append(f"of {count_of(len(imported.arm_runs), 'arm')} on {count_of(imported.tasks, 'task')}")
    if entry.judgments:
        came.append(f"and {count_of(entry.judgments, 'judgment')}")
    print_escaped(f"{imported.path}: {' '.join(came)} read as {entry.format}, into {imported.target}.")
    if entry.known_before:
        were = "was" if entry.known_before == 1 else "were"
        print_escaped(
            f"  {count_of(entry.known_before, 'record')} {were} there already, the same: before, or in a copy."
        )
    for name, value in list(entry.facts.items())[:SHOWN_ITEMS]:
        print_escaped(f"  the source says {name}: {_shown_value(value)}")
    if entry.aggregates:
        kept = count_of(len(entry.aggregates), "aggregate")
        print_escaped(f"  {kept} kept in {imported.manifest}: what stands for many runs is none itself.")
    if entry.runs and imported.unknown_fields:
        print_escaped(f"  unknown in all of them: {', '.join(imported.unknown_fields)}.")


def _print_warnings(imported: ImportedSource) -> None:
    """What to be careful about, on standard error."""
    entry = imported.entry
    for warning in entry.warnings[:SHOWN_WARNINGS]:
        print_escaped(f"outweigh: {warning}", to=sys.stderr)
    if (more := len(entry.warnings) - SHOWN_WARNINGS) > 0:
        print_escaped(f"outweigh: {imported.manifest} has {count_of(more, 'more warning')}.", to=sys.stderr)
    if entry.aggregates and not (entry.runs or entry.known_before):
        print_escaped(
            f"outweigh: there is no run in {imported.path}, so there is nothing to compare; import the runs behind its "
            "figures.",
            to=sys.stderr,
        )
    if entry.unreadable:
        print_escaped(
            f"outweigh: {count_of(len(entry.unreadable), 'row')} could not be read; {imported.manifest} has the places "
            "and reasons, and nothing is promoted on what is left.",
            to=sys.stderr,
        )


def _print_arms(imported: ImportedResults, target: Path) -> None:
    """Every arm of the folder with its figures, and the command that goes on with them."""
    arms = imported.arms()
    step = next_comparison([str(target)], {arm.name: arm.tally for arm in arms})
    if step is None:
        return
    tasks = set[str]().union(*(arm.tally.tasks for arm in arms))
    headline = f"{target} now: {count_of(len(arms), 'arm')} on {count_of(len(tasks), 'task')}"
    print()
    print_report(Report(headline=headline, tone=Tone.PLAIN, blocks=tuple(arms_blocks(arms)), payload={}), "text")
    if step.words:
        print_escaped(f"\n{step.words[0].upper()}{step.words[1:]}:")
    print_escaped(f"{'' if step.words else chr(10)}Next: {step.command}")


def _shown_value(value: object) -> object:
    """A figure of the source, without the dust of binary fractions."""
    return float(f"{value:.6g}") if isinstance(value, float) and 1e-4 < abs(value) < 1e6 else value


def _parse_condition(text: str) -> tuple[str, str]:
    column, mark, value = text.partition("=")
    if not column or not mark:
        raise ArgumentTypeError(f"{text!r} is not COLUMN=VALUE")
    return column, value


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh import",
        description="Read the results of another harness into a store.",
        examples=(
            "outweigh import nightly.csv -o outweigh-runs/nightly --map map.toml",
            "outweigh import inspect logs/ -o outweigh-runs/inspect",
        ),
        epilog=f"Formats: {', '.join(adapter_names('importer'))}. Without FORMAT, outweigh detects it.",
    )
    parser.add_argument("what", nargs="+", metavar="[FORMAT] PATH", help="files or folders that the harness wrote")
    parser.add_argument("-o", "--output", metavar="RUNS", required=True, help="the store to write to")
    parser.add_argument("--arm", metavar="NAME", help="the arm, where the results do not name one")
    parser.add_argument(
        "--tasks", metavar="FILE", help="the task ids of a fixed suite, one per line; a missing one counts as failed"
    )
    add_map_option(parser)
    parser.add_argument(
        "--where",
        metavar="COLUMN=VALUE",
        action="append",
        default=[],
        type=_parse_condition,
        help="read only rows of a table with this value; may be repeated",
    )
    parser.add_argument(
        "--rows", metavar="PATH", help="where a JSON document has the array of runs, such as results.runs"
    )
    parser.add_argument(
        "--model", metavar="NAME", help="the model of transcripts that do not name theirs, such as codex exec --json"
    )
    parser.add_argument(
        "--transcripts", action="store_true", help="keep the transcripts too, where that takes long (inspect)"
    )
    parser.add_argument("--skip-invalid", action="store_true", help="skip rows that cannot be read")
    return parser
