"""Records in JSON Lines files: one file, a folder of them, or standard input; or in a Parquet file of ours."""

import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import BinaryIO

from outweigh.adapters.stores.import_manifest import unfinished_imports
from outweigh.errors import EvidenceError, UsageError
from outweigh.record.codec import LINE_LIMIT, Located, OnInvalid, decode_lines

STANDARD_INPUT = "-"
SUFFIX = ".jsonl"
PARQUET = ".parquet"


class JsonLines:
    """Reads one path. A folder stands for the `.jsonl` files in it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def records(self, on_invalid: OnInvalid) -> Iterator[Located]:
        """Read line by line; memory does not grow with the file."""
        if self._path == STANDARD_INPUT:
            yield from _read(_standard_input(), "<stdin>", on_invalid)
            return
        try:
            for file in _files(Path(self._path)):
                if file.suffix == PARQUET:
                    yield from _parquet(file, on_invalid)
                    continue
                with file.open("rb") as stream:
                    yield from _read(stream, str(file), on_invalid)
        except OSError as fault:
            raise EvidenceError(f"{fault.filename or self._path} cannot be read: {fault.strerror}.") from fault


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise UsageError("standard input is closed; name a file, or pipe the records in.")
    return sys.stdin.buffer


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise UsageError(f"there is no {path}; name a {SUFFIX} file of run records, a folder of them, or - for stdin.")
    if not path.is_dir():
        return [path]
    files = sorted(path.glob(f"*{SUFFIX}"))
    if not files:
        raise EvidenceError(
            f"{path} holds no {SUFFIX} file; name the folder or file that has the run records. If another harness "
            f"wrote it, `outweigh import {quote(str(path))} -o RUNS` makes records of it."
        )
    if half := unfinished_imports(path):
        raise EvidenceError(f"{half[0]} is of an import that was ended before it was done. Import its source again.")
    return files


def _parquet(path: Path, on_invalid: OnInvalid) -> Iterator[Located]:
    from outweigh.adapters.stores.parquet import parquet_records  # noqa: PLC0415 - needs an extra

    return parquet_records(path, on_invalid)


def _read(stream: BinaryIO, source: str, on_invalid: OnInvalid) -> Iterator[Located]:
    empty = True
    for located in decode_lines(_lines(stream), source, on_invalid):
        empty = False
        yield located
    if empty:
        raise EvidenceError(f"{source} holds no run record; is it the right file?")


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Split into lines; of an endless one only as much is kept as it takes to refuse it."""
    while line := stream.readline(LINE_LIMIT):
        yield line
        while len(line) == LINE_LIMIT and not line.endswith(b"\n"):
            line = stream.readline(LINE_LIMIT)
