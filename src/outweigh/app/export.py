"""Export the records of stores: as one file, or as a folder of trajectories."""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.compare.evidence import Evidence
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import encode
from outweigh.model.run_record import RunRecord
from outweigh.report.render_csv import run_columns, run_rows
from outweigh.store.durable_files import write_atomic
from outweigh.store.records import PARQUET_SUFFIX, RECORDS_SUFFIX
from outweigh.store.store_set import StoreSet

Warn = Callable[[str], None]
"""Where warnings about the records go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """Which records, and the file or folder to write."""

    evidence: EvidenceRequest
    target: Path


def export_file(request: ExportRequest, warn: Warn) -> None:
    """Write one file, whole or not at all, in the format that its name ends in."""
    chunks = export_chunks(request, warn)
    _refuse_own_source(request)
    write_atomic(request.target, chunks)


def export_chunks(request: ExportRequest, warn: Warn) -> Iterator[bytes]:
    """The content of that file, piece by piece."""
    write = FILE_WRITERS.get(request.target.suffix)
    if write is None:
        raise UsageError(
            f"-o {request.target}: the name must end in one of {', '.join(FILE_WRITERS)}, or in / for a dataset."
        )
    return write(request, warn)


def is_file_of_records(name: str) -> bool:
    """Whether a file of this name gets the records as they are, which a dataset keeps too."""
    return name.endswith((RECORDS_SUFFIX, PARQUET_SUFFIX))


def refuse_gaps(request: ExportRequest) -> None:
    """Records are exported whole or not at all."""
    if request.evidence.skip_invalid:
        raise UsageError(
            "--skip-invalid goes with .csv and .xml only: records without the broken lines would look complete."
        )


def _refuse_own_source(request: ExportRequest) -> None:
    """A folder of records stands for every file of them in it, an export among them."""
    folders = (store.folder for store in request.evidence.stores.stores)
    read = {folder.resolve() for folder in folders if folder is not None}
    target = request.target
    if target.suffix == RECORDS_SUFFIX and target.resolve().parent in read:
        raise UsageError(f"-o {target} would be among the records that it is made from; name another folder.")


def _jsonl(request: ExportRequest, warn: Warn) -> Iterator[bytes]:  # noqa: ARG001 - one signature for all
    """Every record in outweigh's own schema, in the order read."""
    refuse_gaps(request)
    for located in request.evidence.stores.read(skip_invalid=False):
        yield encode(located.record) + b"\n"


def _parquet(request: ExportRequest, warn: Warn) -> Iterator[bytes]:  # noqa: ARG001 - one signature for all
    """Every record, with columns of its figures."""
    from outweigh.store.parquet import parquet_chunks  # noqa: PLC0415 - needs an extra

    refuse_gaps(request)
    return parquet_chunks(located.record for located in request.evidence.stores.read(skip_invalid=False))


def _csv(request: ExportRequest, warn: Warn) -> Iterator[bytes]:
    """One row per run."""
    evidence = _evidence(request, warn)
    rows = run_rows((score for scores in evidence.arms.values() for score in scores), evidence.metrics)
    for row in (run_columns(evidence.metrics), *rows):
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(row)
        yield line.getvalue().encode()


def _junit(request: ExportRequest, warn: Warn) -> Iterator[bytes]:
    """One test case per run."""
    from outweigh.report.render_junit import render_runs_junit  # noqa: PLC0415 - rarely used

    yield render_runs_junit(_evidence(request, warn).arms).encode()


def _evidence(request: ExportRequest, warn: Warn) -> Evidence:
    evidence = read_evidence(request.evidence)
    for warning in evidence.warnings:
        warn(warning)
    return evidence


FILE_WRITERS: dict[str, Callable[[ExportRequest, Warn], Iterator[bytes]]] = {
    RECORDS_SUFFIX: _jsonl,
    ".csv": _csv,
    ".parquet": _parquet,
    ".xml": _junit,
}


def export_trajectories(request: ExportRequest, warn: Warn) -> None:
    """Write every trajectory that is kept beside the records."""
    from outweigh.store.run_artifacts import export_trajectory  # noqa: PLC0415 - rarely used

    target = request.target
    if target.is_file():
        raise UsageError(f"-o {target} is a file; name a folder for the trajectories.")
    written = runs = 0
    for store in request.evidence.stores.stores:
        if store.folder is None:
            raise UsageError(
                f"{store.name} is not a store: trajectories are kept beside the records, in the folder of a store."
            )
        artifacts = store.artifacts
        for located in StoreSet([store]).read(skip_invalid=request.evidence.skip_invalid):
            if isinstance(located.record, RunRecord):
                runs += 1
                written += export_trajectory(located.record, artifacts, target)
    if not written:
        raise EvidenceError(f"none of {runs:,} runs has a trajectory; agents whose output is not read leave none.")
    if written < runs:
        warn(f"{runs - written:,} of {runs:,} runs have no trajectory.")
