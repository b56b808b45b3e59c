"""Files that other programs wrote: opened with care, decoded with patience, refused in sentences."""

import os
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from outweigh.errors import EvidenceError
from outweigh.ports.importers import ImportNotes
from outweigh.transcript.repeated_keys import RepeatedKeyError, decode_once

WHOLE_LIMIT = 512 * 2**20
"""A JSON document has to be held whole; a larger one is refused. Lines are read one by one from files of any size."""

LINE_LIMIT = 64 * 2**20
HEAD_BYTES = 65_536


class Line(NamedTuple):
    """A JSON object and the number of its line."""

    number: int
    value: dict[str, Any]


def head(path: Path, size: int = HEAD_BYTES) -> bytes:
    """The beginning of a file, for a short look; nothing where there is no file that can be read."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as stream:
            return stream.read(size)
    except (OSError, ValueError):
        return b""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file to read; what the system refuses is an EvidenceError."""
    try:
        with path.open("rb") as stream:
            yield stream
    except IsADirectoryError as fault:
        raise EvidenceError(f"{path} is a folder; name the file in it that holds the results.") from fault
    except OSError as fault:
        raise EvidenceError(f"{fault.filename or path} cannot be read: {fault.strerror}.") from fault


def read_bytes(path: Path, limit: int = WHOLE_LIMIT) -> bytes:
    """A file as a whole; one that does not fit is refused, and not read to find that out."""
    with opened(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size <= limit:
            return stream.read(size)
    raise EvidenceError(
        f"{path} has more than {limit // 2**20:,} MiB and would have to be held whole. Split it, or write its runs as "
        "JSON Lines."
    )


def read_json(path: Path, notes: ImportNotes) -> Any:
    """A JSON document in UTF-8, with or without a mark, or in Windows' Latin; anything else is an EvidenceError."""
    return json_document(read_bytes(path), path, notes)


def json_document(content: bytes, path: Path, notes: ImportNotes) -> Any:
    """The same for what was read already."""
    try:
        return decode_once(as_utf8(content, path, notes))
    except RepeatedKeyError as fault:
        raise EvidenceError(f"{path}: {fault}.") from None
    except ValueError as fault:
        raise EvidenceError(f"{path} is not valid JSON: {fault}.") from None


def read_text(path: Path, notes: ImportNotes) -> str:
    """A text file, likewise."""
    return as_utf8(read_bytes(path), path, notes).decode()


def json_lines(path: Path, notes: ImportNotes) -> Iterator[Line]:
    """The objects of a JSON Lines file, one by one; a line that holds none becomes a note with its place."""
    with opened(path) as stream:
        for number, line in enumerate(bounded_lines(stream), start=1):
            found = decoded_line(line, number, path, notes)
            if found is not None:
                yield found


def decoded_line(line: bytes, number: int, path: Path, notes: ImportNotes) -> Line | None:
    """The object in a line; nothing in an empty one, and a note for one that holds something else."""
    text = line.strip()
    if not text:
        return None
    if len(line) >= LINE_LIMIT:
        notes.unread(path, number, f"the line is {LINE_LIMIT:,} bytes or longer")
        return None
    try:
        value = decode_once(as_utf8(text, path, notes))
    except RepeatedKeyError as fault:
        notes.unread(path, number, str(fault))
        return None
    except ValueError:
        torn = not line.endswith(b"\n")
        notes.unread(path, number, "the file ends in the middle of a line" if torn else "not valid JSON")
        return None
    if isinstance(value, dict):
        return Line(number, value)
    notes.unread(path, number, "not a JSON object")
    return None


def as_utf8(content: bytes, path: Path, notes: ImportNotes) -> bytes:
    """The same text in UTF-8 without a mark. Older programs on Windows wrote cp1252; that is noted, not refused."""
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise EvidenceError(f"{path} is UTF-16, as Excel's Unicode text and old PowerShell write it; save it as UTF-8.")
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        content.decode()
    except UnicodeDecodeError:
        notes.warn(f"{path} is not UTF-8; it was read as Windows' Latin text (cp1252).")
        return content.decode("cp1252", "replace").encode()
    return content


def bounded_lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; of an endless line only as much is kept as it takes to refuse it."""
    while line := stream.readline(LINE_LIMIT):
        yield line
        while len(line) == LINE_LIMIT and not line.endswith(b"\n"):
            line = stream.readline(LINE_LIMIT)
