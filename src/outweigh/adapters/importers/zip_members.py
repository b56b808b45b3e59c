"""Archives that other programs wrote: members are looked at before they are opened, and never leave the archive."""

import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from outweigh.adapters.importers.zip_directory import Directory, Member, zip_directory
from outweigh.adapters.importers.zstd_members import unpack_zstandard
from outweigh.errors import EvidenceError

MEMBER_LIMIT = 512 * 2**20
TOTAL_LIMIT = 16 * 2**30
DIRECTORY_LIMIT = 64 * 2**20
RATIO_LIMIT = 1000
"""Text shrinks to a tenth, logs of machines to a hundredth; beyond this an archive is a trap."""

_END_BYTES = 2**16 + 200
_IN_LARGE_RECORD = 2**32 - 1


_LEADING_OUT = ("..", ":", "\\", "\n/")
"""Where none of these stands in a list of names, none has to be looked at by itself."""

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """An archive whose members are all fit to be read."""

    path: Path
    members: Directory
    stream: BinaryIO

    def read(self, name: str) -> bytes:
        """What a member holds, its checksum verified; never more than it claims. A broken one is an EvidenceError."""
        try:
            return self._content(name, self.members[name])
        except _BROKEN as fault:
            raise EvidenceError(f"{self.path}: {name!r} is broken: {fault}.") from fault

    def _content(self, name: str, member: Member) -> bytes:
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
def archive(path: Path) -> Iterator[Archive]:
    """An archive whose members are all fit to be read; else an EvidenceError."""
    try:
        _check_directory(path)
        with path.open("rb") as stream:
            found = zip_directory(stream)
            _check(path, found)
            yield Archive(path=path, members=found, stream=stream)
    except (OSError, zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, EOFError) as fault:
        raise EvidenceError(f"{path} cannot be read as a zip archive: {fault}.") from fault


def _unpacked(packed: bytes, member: Member) -> bytes:
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
        if DIRECTORY_LIMIT < size != _IN_LARGE_RECORD:
            raise EvidenceError(
                f"{path} has a list of members of {size:,} bytes; that looks like a trap and is not read."
            )


def _check(path: Path, found: Directory) -> None:
    if len({*found.names}) < len(found.names):
        twice = Counter(found.names).most_common(1)[0][0]
        raise EvidenceError(f"{path} holds {twice!r} twice, so it is not clear which is meant; it is not read.")
    listed = "\n".join(("", *found.names))
    if any(mark in listed for mark in _LEADING_OUT) and (out := [*filter(_leads_out, found.names)]):
        raise EvidenceError(f"{path} holds {out[0]!r}, a name that leads out of it; it is not read.")
    if any(flags & 1 for flags in {*found.column("flags")}):
        raise EvidenceError(f"{path} is encrypted; unpack it first.")
    sizes = found.column("content_bytes")
    for name, size, packed in zip(found.names, sizes, found.column("packed_bytes"), strict=True):
        if packed > MEMBER_LIMIT or (size > 1000 * RATIO_LIMIT and size > min(MEMBER_LIMIT, RATIO_LIMIT * packed)):
            raise EvidenceError(
                f"{path}: {name!r} would unpack to {max(size, packed):,} bytes; that looks like a trap and is not read."
            )
    if sum(sizes) > TOTAL_LIMIT:
        raise EvidenceError(f"{path} would unpack to more than {TOTAL_LIMIT // 2**30} GiB; it is not read.")


def _leads_out(name: str) -> bool:
    parts = PurePosixPath(name.replace("\\", "/"))
    return parts.is_absolute() or ".." in parts.parts or bool(parts.drive) or ":" in name.split("/", maxsplit=1)[0]
