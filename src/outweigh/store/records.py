"""Read the records of a path: JSON Lines files, a folder of them, standard input, or our own Parquet files.

A folder that was imported has a manifest (`imports.json`), which names the rows that could not be read.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO, Literal

import msgspec

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import RECORD_LINE_LIMIT, InvalidLine, LocatedRecord, OnInvalid, decode_lines
from outweigh.store.durable_files import write_atomic
from outweigh.store.unfinished_copy import refuse_unfinished_copy

MANIFEST_FILE = "imports.json"
RECORDS_PREFIX = "runs-import-"


class UnreadRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of the source that became no record; line 0 is the file as a whole."""

    source: str
    line: int
    reason: str


class ImportEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One source that was imported. `key` is the hash of its content, its format and the user's options.

    `arm_facts` are the source's own figures by arm; earlier releases did not keep them.
    """

    key: str
    format: str
    source: str
    source_sha256: str
    options: dict[str, Any]
    outweigh_version: str
    file: str | None
    runs: int
    judgments: int
    known_before: int
    fields: dict[str, str]
    unreadable: tuple[UnreadRow, ...]
    warnings: tuple[str, ...]
    aggregates: tuple[dict[str, Any], ...]
    facts: dict[str, Any]
    arm_facts: dict[str, dict[str, Any]] = {}


class ImportManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All imports of a folder, oldest first."""

    schema: Literal["outweigh.imports/1"]
    imports: tuple[ImportEntry, ...]


def read_imports(folder: Path) -> Sequence[ImportEntry]:
    """What was imported into a folder; nothing where it is no such folder."""
    try:
        return msgspec.json.decode((folder / MANIFEST_FILE).read_bytes(), type=ImportManifest).imports
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        raise EvidenceError(
            f"{folder / MANIFEST_FILE} cannot be read: {fault}. It was damaged, or written by another release: import "
            "into a new folder."
        ) from fault


def unfinished_imports(folder: Path) -> list[Path]:
    """Files of imports that were ended before the manifest spoke of them: what is missing in them is not known."""
    files = sorted(folder.glob(f"{RECORDS_PREFIX}*.jsonl"))
    finished = {each.file for each in read_imports(folder)} if files else set()
    return [file for file in files if file.name not in finished]


def write_imports(folder: Path, imports: Sequence[ImportEntry]) -> None:
    """Write the manifest anew."""
    manifest = ImportManifest(schema="outweigh.imports/1", imports=tuple(imports))
    content = msgspec.json.encode(_printable(msgspec.to_builtins(manifest)))
    write_atomic(folder / MANIFEST_FILE, [msgspec.json.format(content, indent=2), b"\n"])


def _printable(value: Any) -> Any:
    """The same without halves of characters: names of files may hold them, JSON may not."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_printable(key): _printable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(each) for each in value]
    return value


def unread_rows(folder: Path) -> list[InvalidLine]:
    """Every row that the imports of a folder went on without."""
    return [
        InvalidLine(row.source, row.line, row.reason)
        for imported in read_imports(folder)
        for row in imported.unreadable
    ]


STANDARD_INPUT = "-"
RECORDS_SUFFIX = ".jsonl"
PARQUET_SUFFIX = ".parquet"

_READ_AT_ONCE = 64 * 1024
"""Bytes; with the usual 8 kB, asking the system takes as long as dividing what it gives into lines."""


class RecordReader:
    """Reads one path. A folder stands for the `.jsonl` files in it.

    `shown` is the name of the folder in the places of records, where people know it by another one.
    """

    def __init__(self, path: str, shown: str | None = None) -> None:
        self._path = path
        self._shown = shown

    def records(self, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:
        """Read line by line; memory does not grow with the file."""
        if self._path == STANDARD_INPUT:
            yield from _read(_standard_input(), "<stdin>", on_invalid)
            return
        try:
            for file in _record_files(Path(self._path), self._shown or self._path):
                if file.suffix == PARQUET_SUFFIX:
                    yield from _parquet(file, on_invalid)
                    continue
                _refuse_special_file(file)
                with file.open("rb", _READ_AT_ONCE) as stream:
                    place = str(file) if self._shown is None else f"{self._shown}/{file.name}"
                    yield from _read(stream, place, on_invalid)
        except OSError as fault:
            raise EvidenceError(f"{fault.filename or self._path} cannot be read: {fault.strerror}.") from fault


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise UsageError("standard input is closed; name a file, or pipe the records in.")
    return sys.stdin.buffer


def require_path(path: Path) -> None:
    """Refuse a path where there is nothing, or something else than a file or a folder."""
    if not path.exists():
        raise UsageError(
            f"there is no {path}; name a {RECORDS_SUFFIX} file of run records, a folder of them, or - for stdin."
        )
    _refuse_special_file(path)


def _refuse_special_file(path: Path) -> None:
    """Refuse what may keep a reader waiting, such as a named pipe, unless a shell opened it for this process."""
    is_special = path.exists() and not path.is_file() and not path.is_dir()
    if is_special and not any(map(path.absolute().is_relative_to, _OPEN_FILES)):
        raise UsageError(f"{path} is neither a file nor a folder; write the records into a file, or pipe them into -.")


_OPEN_FILES = ("/dev/fd", "/dev/stdin", "/proc")
"""Where a process finds what a shell opened for it, as in `outweigh verdict <(zcat runs.gz)`."""


def _record_files(path: Path, name: str) -> list[Path]:
    require_path(path)
    if not path.is_dir():
        return [path]
    refuse_unfinished_copy(path, name)
    files = sorted(path.glob(f"*{RECORDS_SUFFIX}"))
    if not files:
        raise EvidenceError(
            f"{path} holds no {RECORDS_SUFFIX} file; name the folder or file that has the run records. If another "
            f"harness wrote it, `outweigh import {quote(str(path))} -o RUNS` makes records of it."
        )
    if half := unfinished_imports(path):
        raise EvidenceError(f"{half[0]} is of an import that was ended before it was done. Import its source again.")
    return files


def _parquet(path: Path, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:
    from outweigh.store.parquet import parquet_records  # noqa: PLC0415 - needs an extra

    return parquet_records(path, on_invalid)


def _read(stream: BinaryIO, source: str, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:
    empty = True
    for located in decode_lines(_lines(stream), source, on_invalid):
        empty = False
        yield located
    if empty:
        raise EvidenceError(f"{source} holds no run record; is it the right file?")


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Split into lines; of an endless one only as much is kept as it takes to refuse it."""
    while line := stream.readline(RECORD_LINE_LIMIT):
        yield line
        while len(line) == RECORD_LINE_LIMIT and not line.endswith(b"\n"):
            line = stream.readline(RECORD_LINE_LIMIT)
