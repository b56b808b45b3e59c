"""`dataset.json`: which files a dataset is made of, what is in them, and that they are what was written.

A dataset is a folder of parts. Each part has the runs of whole tasks as columns, a summary of what is beside the runs,
and, unless it was made without, the records themselves.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import file_digest
from pathlib import Path
from typing import Literal

import msgspec

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.base import Sha256
from outweigh.model.codec import InvalidLine
from outweigh.model.corrections import CorrectionSummary
from outweigh.store.durable_files import write_atomic

DATASET_FILE = "dataset.json"
DATASET_SCHEMA: Literal["outweigh.dataset/1"] = "outweigh.dataset/1"
"""Its number goes up when a formula of a score changes, because the columns hold scores."""

_HASHING_THREADS = 2
_SCHEMA_MARK = b'"outweigh.dataset/'
_HEAD_BYTES = 200


class DatasetFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of a dataset, by its path in the folder."""

    path: str
    bytes: int
    sha256: Sha256


class DatasetPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whole tasks, from the first to the last in order. `records` is None where they were left out."""

    rows: int
    tasks: int
    first_task: str
    last_task: str
    runs: DatasetFile
    summary: DatasetFile
    records: DatasetFile | None


class DatasetSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A place that the records were read from.

    `folder` has the rules of a store, such as its experiment; None where a single file was read. `warnings` are what a
    reader of the place had to know, and `unread` the rows that its imports went on without.
    """

    name: str
    folder: str | None
    warnings: tuple[str, ...]
    unread: tuple[InvalidLine, ...]


class DatasetManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is in a dataset. `arms` and the number of their rows are in the order of their first runs.

    `prices` names the price lists by which costs were computed; None where no cost depends on them.
    """

    schema: Literal["outweigh.dataset/1"]
    outweigh_version: str
    rows: int
    tasks: int
    arms: dict[str, int]
    prices: str | None
    evidence_sha256: Sha256
    sources: tuple[DatasetSource, ...]
    corrections: tuple[CorrectionSummary, ...]
    files: tuple[DatasetFile, ...]
    parts: tuple[DatasetPart, ...]

    def all_files(self) -> Iterator[DatasetFile]:
        """Every file but the manifest."""
        yield from self.files
        for part in self.parts:
            yield part.runs
            yield part.summary
            if part.records is not None:
                yield part.records


def is_dataset(path: Path) -> bool:
    """Whether a folder is a dataset. Other programs write files of the same name, so its schema must be in it."""
    try:
        with (path / DATASET_FILE).open("rb") as stream:
            return _SCHEMA_MARK in stream.read(_HEAD_BYTES)
    except (OSError, ValueError):  # whoever reads it says why
        return False


def refuse_dataset(path: Path) -> None:
    """Refuse a dataset where only the records of a store will do."""
    if is_dataset(path):
        raise dataset_refusal(str(path), "this needs records as they were written", read_manifest(path))


def dataset_refusal(name: str, why: str, manifest: DatasetManifest) -> UsageError:
    """What a dataset is not good for, and what is."""
    sources = " ".join(source.name for source in manifest.sources)
    return UsageError(f"{name} is a dataset, and {why}; name what it was made of: {sources}.")


def describe_file(folder: Path, path: str) -> DatasetFile:
    """A file as it is now."""
    file = folder / path
    with file.open("rb") as stream:
        return DatasetFile(path=path, bytes=file.stat().st_size, sha256=file_digest(stream, "sha256").hexdigest())


def write_manifest(folder: Path, manifest: DatasetManifest) -> None:
    """Write it; with it, the folder becomes a dataset."""
    content = msgspec.json.encode(manifest)
    write_atomic(folder / DATASET_FILE, [msgspec.json.format(content, indent=1), b"\n"])


def read_manifest(folder: Path) -> DatasetManifest:
    """Read it; EvidenceError where it is damaged, or of another release."""
    place = folder / DATASET_FILE
    try:
        return msgspec.json.decode(place.read_bytes(), type=DatasetManifest)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise EvidenceError(
            f"{place} cannot be read: {fault}. It was damaged, or written by another release: export the records again."
        ) from fault


def verify_files(folder: Path, manifest: DatasetManifest) -> None:
    """Refuse a dataset whose files are not those that were written."""
    with ThreadPoolExecutor(_HASHING_THREADS) as threads:
        for problem in threads.map(lambda file: _problem(folder, file), manifest.all_files()):
            if problem is not None:
                raise EvidenceError(
                    f"{problem}, so this dataset is no evidence. Export the records again with `outweigh store export`."
                )


def _problem(folder: Path, file: DatasetFile) -> str | None:
    place = folder / file.path
    try:
        found = describe_file(folder, file.path)
    except OSError as fault:
        return f"{place} cannot be read: {fault.strerror}"
    return None if found == file else f"{place} is not the file that was written (its SHA-256 differs)"
