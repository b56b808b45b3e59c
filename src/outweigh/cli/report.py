"""`outweigh report`: a baseline and its candidates as one file; `--check` says whether such a file is out of date."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from outweigh.app.decide import DecideRequest
from outweigh.app.report import REPORTERS, ReportRequest, find_stale, report
from outweigh.cli.arguments import Parser, parse_output, print_report
from outweigh.cli.console import notify
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.reading_options import (
    ArmOptions,
    PolicyOptions,
    ReadingOptions,
    add_arm_options,
    add_changes_option,
    add_inference_options,
    add_policy_options,
    add_task_list_option,
    reading_parser,
)
from outweigh.report.formatting import escape_controls


class _Options(ReadingOptions, ArmOptions, PolicyOptions):
    reads_datasets: bool = True
    output: str | None
    check: str | None


def main(arguments: Sequence[str]) -> int:
    """Write one file, whole or not at all, or print the page; the exit code says that it was written.

    With `--check` nothing is written, and the exit code says whether a report still rests on the records.
    """
    options = build_parser().parse_command(arguments, _Options())
    if options.check is not None:
        return _check(Path(options.check), options)
    decide = DecideRequest(
        evidence=options.evidence_request(), arms=options.arm_choice(), policy=options.policy_request()
    )
    target = None if options.output is None else parse_output(options.output)
    request = ReportRequest(decide=decide, command=shlex.join(options.command), output=target)
    written = report(request)
    if (note := written.decided.compared.note) is not None:
        notify(note)
    page = written.document()
    if target is None:
        print_report(page, "text")
    else:
        print(f"{escape_controls(page.headline)}\nwritten to {escape_controls(str(target))}")
    return ExitCode.SATISFIED


def _check(target: Path, options: _Options) -> ExitCode:
    """Say fresh or stale, and exit 0 or 1. Only the records of the report's own arms count."""
    changed = find_stale(target, options.evidence_request())
    name = escape_controls(str(target))
    if changed is None:
        print(f"fresh: {name} rests on these records")
        return ExitCode.SATISFIED
    print(
        f"STALE: {escape_controls(changed)} since {name} was written. Write it again, and do not rely on it until then."
    )
    return ExitCode.NOT_SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = reading_parser(
        "report",
        "Write one page about a baseline and its candidates.",
        "outweigh report -o report.html",
        "outweigh report outweigh-runs/demo --check report.html",
    )
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "-o", "--output", metavar="FILE", help=f"ends in {', '.join(REPORTERS)} (default: print the page as text)"
    )
    target.add_argument(
        "--check", metavar="FILE", help="exit 0 if this report (.html, .md, .json) is up to date with RUNS, else 1"
    )
    add_task_list_option(parser)
    add_arm_options(parser, several=True)
    add_policy_options(parser)
    add_inference_options(parser)
    add_changes_option(parser)
    return parser
