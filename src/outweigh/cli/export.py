"""`outweigh export`: the records in another format."""

import argparse
import csv
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from outweigh.cli.arguments import gather_evidence, read_records, reading_parser
from outweigh.cli.console import print_escaped
from outweigh.cli.exit_codes import ExitCode
from outweigh.compare.evidence import Evidence
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import encode
from outweigh.model.run_record import RunRecord
from outweigh.report.render_csv import run_columns, run_rows
from outweigh.store.durable_files import write_atomic
from outweigh.store.records import RECORDS_SUFFIX, STANDARD_INPUT


def main(arguments: Sequence[str]) -> int:
    """Write one file, whole or not at all, or a folder of trajectories."""
    parser = reading_parser("export", "Write the records, every run's scores, the trajectories, or logs.")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help=f"ends in one of {', '.join(_WRITERS)}")
    folders = parser.add_mutually_exclusive_group()
    folders.add_argument("--trajectories", action="store_true", help="write trajectories (ATIF) into a folder instead")
    folders.add_argument("--inspect", action="store_true", help="write a log of Inspect for every arm into a folder")
    parser.add_argument("-c", "--suite", metavar="SUITE", help="with --inspect: where the tasks' instructions are")
    options = parser.parse_intermixed_args(arguments)
    target = Path(options.output)
    if options.suite is not None and not options.inspect:
        raise UsageError("-c goes with --inspect, whose samples have the instructions of their tasks.")
    if options.trajectories:
        return _trajectories(options, target)
    if options.inspect:
        return _inspect(options, target)
    content = _WRITERS.get(target.suffix)
    if content is None:
        raise UsageError(f"-o {target}: the name must end in one of {', '.join(_WRITERS)}.")
    _refuse_own_source(options, target)
    write_atomic(target, content(options))
    return ExitCode.SATISFIED


def _jsonl(options: argparse.Namespace) -> Iterator[bytes]:
    """Every record in outweigh's own schema, in the order read."""
    _refuse_gaps(options)
    for located in read_records(options, skipped=[]):
        yield encode(located.record) + b"\n"


def _parquet(options: argparse.Namespace) -> Iterator[bytes]:
    """Every record, with columns of its figures."""
    from outweigh.store.parquet import parquet_chunks  # noqa: PLC0415 - needs an extra

    _refuse_gaps(options)
    return parquet_chunks(located.record for located in read_records(options, skipped=[]))


def _csv(options: argparse.Namespace) -> Iterator[bytes]:
    """One row per run."""
    evidence = _evidence(options)
    rows = run_rows((score for scores in evidence.arms.values() for score in scores), evidence.metrics)
    for row in (run_columns(evidence.metrics), *rows):
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(row)
        yield line.getvalue().encode()


def _junit(options: argparse.Namespace) -> Iterator[bytes]:
    """One test case per run."""
    from outweigh.report.render_junit import render_runs_junit  # noqa: PLC0415 - rarely used

    yield render_runs_junit(_evidence(options).arms).encode()


def _trajectories(options: argparse.Namespace, target: Path) -> int:
    """Every trajectory that is kept beside the records."""
    from outweigh.store.run_artifacts import export_trajectory  # noqa: PLC0415 - rarely used

    if target.is_file():
        raise UsageError(f"-o {target} is a file; name a folder for the trajectories.")
    written = runs = 0
    for path in options.runs:
        store = Path(path)
        if path == STANDARD_INPUT or not store.is_dir():
            raise UsageError(f"{path} is no store: trajectories are kept beside the records, in the folder of a store.")
        for located in read_records(argparse.Namespace(runs=[path], skip_invalid=options.skip_invalid), skipped=[]):
            if isinstance(located.record, RunRecord):
                runs += 1
                written += export_trajectory(located.record, store, target)
    if not written:
        raise EvidenceError(f"none of {runs:,} runs has a trajectory; agents that were not listened to leave none.")
    if written < runs:
        print_escaped(f"outweigh: {runs - written:,} of {runs:,} runs have no trajectory.", to=sys.stderr)
    return ExitCode.SATISFIED


def _inspect(options: argparse.Namespace, target: Path) -> int:
    """A log for every arm."""
    from outweigh.app.export_inspect import export_inspect  # noqa: PLC0415 - rarely used

    _refuse_gaps(options)
    return export_inspect(options, target)


def _evidence(options: argparse.Namespace) -> Evidence:
    evidence = gather_evidence(options)
    for warning in evidence.warnings:
        print_escaped(f"outweigh: {warning}", to=sys.stderr)
    return evidence


def _refuse_own_source(options: argparse.Namespace, target: Path) -> None:
    """A folder of records stands for every file of them in it, an export among them."""
    read = {Path(path).resolve() for path in options.runs if path != STANDARD_INPUT and Path(path).is_dir()}
    if target.suffix == RECORDS_SUFFIX and target.resolve().parent in read:
        raise UsageError(
            f"-o {target} would stand among the records it is made of, and be read with them; name another folder."
        )


def _refuse_gaps(options: argparse.Namespace) -> None:
    if options.skip_invalid:
        raise UsageError(
            "--skip-invalid goes with .csv and .xml only: records without the broken lines would pass as complete."
        )


_WRITERS = {RECORDS_SUFFIX: _jsonl, ".csv": _csv, ".parquet": _parquet, ".xml": _junit}
