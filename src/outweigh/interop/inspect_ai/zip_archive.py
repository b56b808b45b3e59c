"""Zip archives that other programs wrote: every member is checked before it is opened, and none leads out of the
archive.

The list of members is parsed here, because a log of Inspect has a member per sample of which few are opened, and
`zipfile` makes an object of each. Zstandard is loaded when the first member needs it; older Pythons cannot unpack
it.
"""

import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from outweigh.errors import EvidenceError


def unpack_zstandard(packed: bytes, limit: int) -> bytes:
    """What was packed, and no more than so many bytes of it; what was not is a BadZipFile."""
    zstandard = _zstandard()
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            content: bytes = reader.read(limit)
    except zstandard.ZstdError as fault:
        raise zipfile.BadZipFile(str(fault)) from fault
    return content


def _zstandard() -> Any:
    """Loaded when the first such member is read; whoever imports no such archive need not have it."""
    try:
        import zstandard  # noqa: PLC0415
    except ImportError as fault:
        raise EvidenceError(
            "this archive is packed with Zstandard; install what unpacks it: pip install 'outweigh[inspect]'."
        ) from fault
    return zstandard


_END_RECORD = struct.Struct("<4s4H2IH")
_ENTRY = struct.Struct("<4s4xHH4xIIIHHH8xI")
_UTF8 = 0x800
_IN_ZIP64_RECORD = 2**32 - 1
"""What stands for a size or a place that does not fit."""


class ZipMember(NamedTuple):
    """A member as the list has it, in the order of its entry there."""

    mark: bytes
    flags: int
    packing: int
    checksum: int
    packed_bytes: int
    content_bytes: int
    name_bytes: int
    extra_bytes: int
    comment_bytes: int
    place: int


class ZipDirectory:
    """All members in their order, by name. Nothing is checked.

    What is known about them is kept value after value: an object for each would keep the garbage collector busy.
    """

    def __init__(self, names: Sequence[str], values: Sequence[Any]) -> None:
        self.names = names
        self._values = values
        self._numbers = {name: number for number, name in enumerate(names)}

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __getitem__(self, name: str) -> ZipMember:
        start = self._numbers[name] * len(ZipMember._fields)
        return ZipMember._make(self._values[start : start + len(ZipMember._fields)])

    def column(self, field: str) -> Sequence[Any]:
        """The same value of all members."""
        return self._values[ZipMember._fields.index(field) :: len(ZipMember._fields)]


def read_zip_directory(stream: BinaryIO) -> ZipDirectory:
    """The list of an archive; BadZipFile where there is none."""
    return _read_plain_directory(stream) or _read_any_directory(stream)


def _read_plain_directory(stream: BinaryIO) -> ZipDirectory | None:
    """That of an archive without a comment, in one piece, below 4 GiB; None for any other."""
    size = stream.seek(0, 2)
    if size < _END_RECORD.size:
        return None
    stream.seek(size - _END_RECORD.size)
    mark, disk, first_disk, here, count, length, place, comment = _END_RECORD.unpack(stream.read(_END_RECORD.size))
    if (mark, disk, first_disk, here, comment) != (b"PK\x05\x06", 0, 0, count, 0) or count == 2**16 - 1:
        return None
    if place + length != size - _END_RECORD.size:
        return None
    stream.seek(place)
    try:
        found = _entries(stream.read(length))
    except (struct.error, UnicodeDecodeError):
        return None
    return found if len(found.names) == count and _is_plain(found) else None


def _entries(directory: bytes) -> ZipDirectory:
    names: list[bytes] = []
    values: list[Any] = []
    start, size, end, unpack = 0, _ENTRY.size, len(directory), _ENTRY.unpack_from
    while start < end:
        entry = unpack(directory, start)
        values += entry
        start += size
        after = start + entry[6]
        names.append(directory[start:after])
        start = after + entry[7] + entry[8]
    return ZipDirectory([name.decode() for name in names], values)


def _is_plain(found: ZipDirectory) -> bool:
    """Whether all is said in the entries themselves, and the names are read as they are meant."""
    if {*found.column("mark")} - {b"PK\x01\x02"} or any("\0" in name for name in found.names):
        return False
    if any(_IN_ZIP64_RECORD in found.column(field) for field in ("packed_bytes", "content_bytes", "place")):
        return False
    return all(name.isascii() or found[name].flags & _UTF8 for name in found.names)


def _read_any_directory(stream: BinaryIO) -> ZipDirectory:
    with zipfile.ZipFile(stream) as opened:
        known = opened.infolist()
    return ZipDirectory([each.filename for each in known], [value for each in known for value in _member(each)])


def _member(known: zipfile.ZipInfo) -> ZipMember:
    sizes = (known.CRC, known.compress_size, known.file_size)
    return ZipMember(b"", known.flag_bits, known.compress_type, *sizes, 0, 0, 0, known.header_offset)


MEMBER_LIMIT = 512 * 2**20
ARCHIVE_LIMIT = 16 * 2**30
DIRECTORY_LIMIT = 64 * 2**20
RATIO_LIMIT = 1000
"""Text shrinks to a tenth, logs of machines to a hundredth; beyond this an archive is a trap."""

_END_BYTES = 2**16 + 200
_IN_ZIP64_COUNT = 2**32 - 1


_ESCAPING_PARTS = ("..", ":", "\\", "\n/")
"""Where none of these stands in a list of names, none has to be looked at by itself."""

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_ARCHIVE_ERRORS = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipArchive:
    """An archive whose members are all fit to be read."""

    path: Path
    members: ZipDirectory
    stream: BinaryIO

    def read(self, name: str) -> bytes:
        """What a member holds, its checksum verified; never more than it claims. A broken one is an EvidenceError."""
        try:
            return self._content(name, self.members[name])
        except _ARCHIVE_ERRORS as fault:
            raise EvidenceError(f"{self.path}: {name!r} is broken: {fault}.") from fault

    def _content(self, name: str, member: ZipMember) -> bytes:
        self.stream.seek(member.place)
        mark, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(self.stream.read(_LOCAL_HEADER.size))
        called = self.stream.read(name_bytes)
        if mark != b"PK\x03\x04" or called not in (name.encode(), name.encode("cp437", "replace")):
            raise zipfile.BadZipFile("it does not begin where the archive says")
        self.stream.seek(extra_bytes, 1)
        content = _unpacked(self.stream.read(member.packed_bytes), member)
        if len(content) != member.content_bytes or zlib.crc32(content) != member.checksum:
            raise zipfile.BadZipFile("what it holds is not what was put in")
        return content


@contextmanager
def open_archive(path: Path) -> Iterator[ZipArchive]:
    """An archive whose members are all fit to be read; else an EvidenceError."""
    try:
        _check_directory(path)
        with path.open("rb") as stream:
            found = read_zip_directory(stream)
            _check_members(path, found)
            yield ZipArchive(path=path, members=found, stream=stream)
    except (OSError, zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, EOFError) as fault:
        raise EvidenceError(f"{path} cannot be read as a zip archive: {fault}.") from fault


def _unpacked(packed: bytes, member: ZipMember) -> bytes:
    """At most a byte more than the member claims to hold."""
    if member.packing == _STORED:
        return packed
    if member.packing == _DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, member.content_bytes + 1)
    if member.packing == _ZSTANDARD:
        return unpack_zstandard(packed, member.content_bytes + 1)
    raise zipfile.BadZipFile(f"it is packed in a way that is not known here ({member.packing})")


def _check_directory(path: Path) -> None:
    """The list of members is read as a whole when an archive is opened, so how long it is has to be known before."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - _END_BYTES))
        end = stream.read(_END_BYTES)
    for mark, layout, place in ((b"PK\x05\x06", "<I", 12), (b"PK\x06\x06", "<Q", 40)):
        start = end.rfind(mark)
        if start < 0 or len(end) < start + place + struct.calcsize(layout):
            continue
        (size,) = struct.unpack_from(layout, end, start + place)
        if DIRECTORY_LIMIT < size != _IN_ZIP64_COUNT:
            raise EvidenceError(
                f"{path} has a list of members of {size:,} bytes; that looks like a trap and is not read."
            )


def _check_members(path: Path, found: ZipDirectory) -> None:
    if len({*found.names}) < len(found.names):
        twice = Counter(found.names).most_common(1)[0][0]
        raise EvidenceError(f"{path} holds {twice!r} twice, so it is not clear which is meant; it is not read.")
    listed = "\n".join(("", *found.names))
    if any(mark in listed for mark in _ESCAPING_PARTS) and (out := [*filter(_leads_out, found.names)]):
        raise EvidenceError(f"{path} holds {out[0]!r}, a name that leads out of it; it is not read.")
    if any(flags & 1 for flags in {*found.column("flags")}):
        raise EvidenceError(f"{path} is encrypted; unpack it first.")
    sizes = found.column("content_bytes")
    for name, size, packed in zip(found.names, sizes, found.column("packed_bytes"), strict=True):
        if packed > MEMBER_LIMIT or (size > 1000 * RATIO_LIMIT and size > min(MEMBER_LIMIT, RATIO_LIMIT * packed)):
            raise EvidenceError(
                f"{path}: {name!r} would unpack to {max(size, packed):,} bytes; that looks like a trap and is not read."
            )
    if sum(sizes) > ARCHIVE_LIMIT:
        raise EvidenceError(f"{path} would unpack to more than {ARCHIVE_LIMIT // 2**30} GiB; it is not read.")


def _leads_out(name: str) -> bool:
    parts = PurePosixPath(name.replace("\\", "/"))
    return parts.is_absolute() or ".." in parts.parts or bool(parts.drive) or ":" in name.split("/", maxsplit=1)[0]
