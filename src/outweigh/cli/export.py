"""`outweigh export`: the records in another format."""

import argparse
import csv
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from outweigh.adapters.stores.whole_file import write_whole
from outweigh.cli.arguments import gather_evidence, read_records, reading_parser
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import UsageError
from outweigh.record.codec import encode
from outweigh.report.run_rows import COLUMNS, run_rows


def main(arguments: Sequence[str]) -> int:
    """Write one file, whole or not at all."""
    parser = reading_parser("export", "Write the records as .jsonl, or every run's scores as .csv.")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="ends in .jsonl or .csv")
    options = parser.parse_intermixed_args(arguments)
    target = Path(options.output)
    content = _CONTENT.get(target.suffix)
    if content is None:
        raise UsageError(f"-o {target}: the name must end in one of {', '.join(_CONTENT)}.")
    write_whole(target, content(options))
    return ExitCode.SATISFIED


def _jsonl(options: argparse.Namespace) -> Iterator[bytes]:
    """Every record in outweigh's own schema, in the order read."""
    if options.skip_invalid:
        raise UsageError(
            "--skip-invalid goes with .csv only: a .jsonl without the broken lines would pass as complete."
        )
    for located in read_records(options, skipped=[]):
        yield encode(located.record) + b"\n"


def _csv(options: argparse.Namespace) -> Iterator[bytes]:
    """One row per run."""
    evidence = gather_evidence(options)
    for warning in evidence.warnings:
        print(f"outweigh: {warning}", file=sys.stderr)
    rows = run_rows(score for scores in evidence.arms.values() for score in scores)
    for row in (COLUMNS, *rows):
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(row)
        yield line.getvalue().encode()


_CONTENT = {".jsonl": _jsonl, ".csv": _csv}
