"""Reading files that other programs wrote: folders, bytes, text, JSON, JSON Lines, YAML, and the hash of a source.

Every reader has a limit, raises an EvidenceError that says why it cannot read something, and notes what it had to
guess. Folders are walked in a fixed order, to a limited depth, without following links to folders.
"""

import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from outweigh.errors import EvidenceError, quote_names
from outweigh.model.json_text import RepeatedKeyError, decode_unique_keys
from outweigh.model.plain_yaml import decode_yaml
from outweigh.model.untrusted_json import as_dict
from outweigh.ports.importers import ImportNotes

FOLDER_DEPTH_LIMIT = 12
FOLDER_ENTRY_LIMIT = 1_000_000


def walk_files(
    folder: Path, wanted: Callable[[str], bool] = lambda _: True, *, skipped_folders: frozenset[str] = frozenset()
) -> Iterator[Path]:
    """Every file whose name is wanted, in order of paths; links to folders and skipped folders are not entered."""
    yield from _FolderWalk(wanted, skipped_folders).below(folder, FOLDER_DEPTH_LIMIT)


class _FolderWalk:
    """A walk with its filters, and how many entries it may still visit."""

    def __init__(self, wanted: Callable[[str], bool], skipped_folders: frozenset[str]) -> None:
        self._wanted = wanted
        self._skipped_folders = skipped_folders
        self._entries_left = FOLDER_ENTRY_LIMIT

    def below(self, folder: Path, depth: int) -> Iterator[Path]:
        if depth == 0:
            raise EvidenceError(
                f"{folder} is {FOLDER_DEPTH_LIMIT} folders deep; name the folder with the results itself."
            )
        for entry in self._entries(folder):
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in self._skipped_folders:
                    yield from self.below(Path(entry.path), depth - 1)
            elif self._wanted(entry.name) and _is_file(entry):
                yield Path(entry.path)

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as fault:
            raise EvidenceError(f"{fault.filename or folder} cannot be read: {fault.strerror}.") from fault
        self._entries_left -= len(entries)
        if self._entries_left < 0:
            raise EvidenceError(
                f"there are more than {FOLDER_ENTRY_LIMIT:,} files; name the folder with the results itself."
            )
        return entries


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a file; a broken or circular link is not."""
    try:
        return entry.is_file()
    except OSError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMarks:
    """How the files of a format are recognised: how their names end, how they begin, and what their beginnings contain.

    All of it makes a file recognised. In a folder that is read as the format, a part is enough, so that a damaged file
    is refused and not passed by.
    """

    suffixes: tuple[str, ...]
    start: re.Pattern[bytes] | None = None
    marks: tuple[bytes, ...] = ()

    def recognise(self, path: Path) -> bool:
        """Whether a file is of the format, or a folder holds one that is; never raises, as `recognises` must not."""
        try:
            return any(map(self._fits, self._named(path) if path.is_dir() else (path,)))
        except (EvidenceError, OSError, ValueError):
            return False

    def files(self, path: Path) -> list[Path]:
        """The file itself, or the files of the format below a folder; EvidenceError if there are none."""
        found = [file for file in self._named(path) if self._may_fit(file)] if path.is_dir() else [path]
        if not found:
            raise EvidenceError(f"{path} has no file of this format; is it the right folder?")
        return found

    def _named(self, folder: Path) -> Iterator[Path]:
        return walk_files(folder, lambda name: name.endswith(self.suffixes) and not name.startswith("."))

    def _fits(self, path: Path) -> bool:
        start = read_head(path) if path.name.endswith(self.suffixes) else b""
        return self._begins(start, default=True) and all(mark in start for mark in self.marks)

    def _may_fit(self, path: Path) -> bool:
        start = read_head(path)
        return self._begins(start, default=False) or any(mark in start for mark in self.marks)

    def _begins(self, start: bytes, *, default: bool) -> bool:
        return default if self.start is None else self.start.match(start) is not None


def listed_objects(held: Mapping[str, Any], key: str, path: Path, notes: ImportNotes) -> Iterator[dict[str, Any]]:
    """The objects of an array that a format always has; a missing array, and everything else in it, becomes a note."""
    found = held.get(key)
    if not isinstance(found, list):
        notes.unread(path, 0, f"it has no list {key!r}")
        return
    for number, each in enumerate(found, start=1):
        if isinstance(each, dict):
            yield each
        else:
            notes.unread(path, 0, f"entry {number} of {key!r} is no object")


def read_objects(path: Path, notes: ImportNotes, *wrappers: str) -> Iterator[dict[str, Any]]:
    """The objects of a file: its lines, an array, or an array under one of some keys; else the object that it is."""
    if path.suffix in (".jsonl", ".ndjson"):
        yield from (line.value for line in read_json_lines(path, notes))
        return
    document = read_json(path, notes)
    if isinstance(document, list):
        yield from listed_objects({"rows": document}, "rows", path, notes)
        return
    held = as_dict(document)
    key = next((key for key in wrappers if key in held), None)
    yield from (held,) if key is None else listed_objects(held, key, path, notes)


WHOLE_LIMIT = 512 * 2**20
"""A larger JSON document is refused, because it must be held in memory. Lines are read one by one from files of any
size.
"""

LINE_LIMIT = 64 * 2**20
HEAD_BYTES = 65_536


class JsonLine(NamedTuple):
    """A JSON object and its line number."""

    number: int
    value: dict[str, Any]


def read_head(path: Path, size: int = HEAD_BYTES) -> bytes:
    """The first bytes of a file; empty if there is no readable file."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as stream:
            return stream.read(size)
    except (OSError, ValueError):
        return b""


@contextmanager
def open_source(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read; an OSError becomes an EvidenceError."""
    try:
        with path.open("rb") as stream:
            yield stream
    except IsADirectoryError as fault:
        raise EvidenceError(f"{path} is a folder; name the file in it that holds the results.") from fault
    except OSError as fault:
        raise EvidenceError(f"{fault.filename or path} cannot be read: {fault.strerror}.") from fault


def read_bytes(path: Path, limit: int = WHOLE_LIMIT) -> bytes:
    """The content of a file; one that is too large is refused before it is read."""
    with open_source(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size <= limit:
            return stream.read(size)
    raise EvidenceError(
        f"{path} has more than {limit // 2**20:,} MiB and would have to be held whole. Split it, or write its runs as "
        "JSON Lines."
    )


def read_json(path: Path, notes: ImportNotes) -> Any:
    """Read a JSON document in UTF-8, with or without a byte order mark, or in cp1252; EvidenceError for
    anything else.
    """
    return decode_json_document(read_bytes(path), path, notes)


def read_json_object(path: Path, notes: ImportNotes) -> dict[str, Any]:
    """A JSON object; empty if there is no such file, or it holds something else."""
    return as_dict(read_json(path, notes)) if path.is_file() else {}


def decode_json_document(content: bytes, path: Path, notes: ImportNotes) -> Any:
    """Decode a JSON document that was read already."""
    try:
        return decode_unique_keys(to_utf8(content, path, notes))
    except RepeatedKeyError as fault:
        raise EvidenceError(f"{path}: {fault}.") from None
    except ValueError as fault:
        raise EvidenceError(f"{path} is not valid JSON: {fault}.") from None


def read_text(path: Path, notes: ImportNotes) -> str:
    """Read a text file in UTF-8 or cp1252."""
    return to_utf8(read_bytes(path), path, notes).decode()


def read_json_lines(path: Path, notes: ImportNotes) -> Iterator[JsonLine]:
    """The objects of a JSON Lines file, one by one; a line without one becomes a note with its place."""
    with open_source(path) as stream:
        for number, line in enumerate(read_bounded_lines(stream), start=1):
            found = decode_json_line(line, number, path, notes)
            if found is not None:
                yield found


def decode_json_line(line: bytes, number: int, path: Path, notes: ImportNotes) -> JsonLine | None:
    """The object in a line; None for an empty line, and None with a note for anything else."""
    text = line.strip()
    if not text:
        return None
    if len(line) >= LINE_LIMIT:
        notes.unread(path, number, f"the line is {LINE_LIMIT:,} bytes or longer")
        return None
    try:
        value = decode_unique_keys(to_utf8(text, path, notes))
    except RepeatedKeyError as fault:
        notes.unread(path, number, str(fault))
        return None
    except ValueError:
        torn = not line.endswith(b"\n")
        notes.unread(path, number, "the file ends in the middle of a line" if torn else "not valid JSON")
        return None
    if isinstance(value, dict):
        return JsonLine(number, value)
    notes.unread(path, number, "not a JSON object")
    return None


def to_utf8(content: bytes, path: Path, notes: ImportNotes) -> bytes:
    """The content in UTF-8 without a byte order mark. cp1252, as older programs on Windows wrote it, is converted and
    noted.
    """
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise EvidenceError(f"{path} is UTF-16, as Excel's Unicode text and old PowerShell write it; save it as UTF-8.")
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        content.decode()
    except UnicodeDecodeError:
        notes.warn(f"{path} is not UTF-8; it was read as Windows' Latin text (cp1252).")
        return content.decode("cp1252", "replace").encode()
    return content


def read_bounded_lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; an endless line is cut at the length at which it is refused."""
    while line := stream.readline(LINE_LIMIT):
        yield line
        while len(line) == LINE_LIMIT and not line.endswith(b"\n"):
            line = stream.readline(LINE_LIMIT)


def read_yaml(path: Path, notes: ImportNotes, limit: int) -> Any:
    """Read a YAML file of at most `limit` bytes; EvidenceError for anything else."""
    content = to_utf8(read_bytes(path, limit), path, notes)
    try:
        found = decode_yaml(content)
    except ValueError as fault:
        raise EvidenceError(f"{path} is not valid YAML: {fault}.") from fault
    if found.doubtful:
        notes.warn(
            f"{path}: {quote_names(found.doubtful)} stands for two values in one place; which is meant is unknown."
        )
    return found.value


_CHUNK_BYTES = 2**20


def source_sha256(path: Path) -> str:
    """The hash of a source, from names and contents alone. Each file is read once, in constant memory."""
    whole = sha256()
    if path.is_dir():
        for file in walk_files(path):
            whole.update(file.relative_to(path).as_posix().encode("utf-8", "surrogateescape") + b"\0")
            whole.update(_file_digest(file))
    else:
        whole.update(_file_digest(path))
    return whole.hexdigest()


def _file_digest(path: Path) -> bytes:
    found = sha256()
    with open_source(path) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            found.update(chunk)
    return found.digest()
