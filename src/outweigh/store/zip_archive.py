"""Zip archives that other programs wrote: every member is checked before any is opened, and no name may lead outside
the archive.

`zipfile` lists the members. Their content is read here, because no Python below 3.14 unpacks Zstandard, which is
imported when the first such member is read.
"""

import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from outweigh.errors import EvidenceError, requires_extra


def unpack_zstandard(packed: bytes, limit: int) -> bytes:
    """Unpack at most `limit` bytes; raise BadZipFile for what is not Zstandard."""
    zstandard = _zstandard()
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            content: bytes = reader.read(limit)
    except zstandard.ZstdError as fault:
        raise zipfile.BadZipFile(str(fault)) from fault
    return content


def _zstandard() -> Any:
    """The optional module; only archives packed with Zstandard need it."""
    with requires_extra("this archive is packed with Zstandard; reading it", "inspect"):
        import zstandard  # noqa: PLC0415
    return zstandard


MEMBER_LIMIT = 512 * 2**20
ARCHIVE_LIMIT = 16 * 2**30
DIRECTORY_LIMIT = 64 * 2**20
RATIO_LIMIT = 1000
"""Text shrinks to a tenth, machine logs to a hundredth; an archive beyond this is taken for a zip bomb."""

_END_BYTES = 2**16 + 200
_IN_ZIP64_RECORD = 2**32 - 1
"""Stands for a size that does not fit into 32 bits."""

_ESCAPING_PARTS = ("..", ":", "\\", "\n/")
"""If none of these occurs in the joined names, no name has to be checked by itself."""

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_ARCHIVE_ERRORS = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipArchive:
    """An open archive whose members passed every check, by name."""

    path: Path
    members: Mapping[str, zipfile.ZipInfo]
    stream: BinaryIO

    def read(self, name: str) -> bytes:
        """The content of a member, no longer than it claims, checksum verified; EvidenceError if it is broken."""
        try:
            return self._content(name, self.members[name])
        except _ARCHIVE_ERRORS as fault:
            raise EvidenceError(f"{self.path}: {name!r} is broken: {fault}.") from fault

    def _content(self, name: str, member: zipfile.ZipInfo) -> bytes:
        self.stream.seek(member.header_offset)
        mark, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(self.stream.read(_LOCAL_HEADER.size))
        stored_name = self.stream.read(name_bytes)
        if mark != b"PK\x03\x04" or stored_name not in (name.encode(), name.encode("cp437", "replace")):
            raise zipfile.BadZipFile("it does not begin where the archive says")
        self.stream.seek(extra_bytes, 1)
        content = _unpacked(self.stream.read(member.compress_size), member)
        if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
            raise zipfile.BadZipFile("what it holds is not what was put in")
        return content


@contextmanager
def open_archive(path: Path) -> Iterator[ZipArchive]:
    """Open an archive and check its list of members; EvidenceError if it is not a zip archive or looks hostile."""
    try:
        _check_directory(path)
        with path.open("rb") as stream:
            with zipfile.ZipFile(stream) as listing:
                members = listing.infolist()
            _check_members(path, members)
            yield ZipArchive(path=path, members={each.filename: each for each in members}, stream=stream)
    except (OSError, zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, EOFError) as fault:
        raise EvidenceError(f"{path} cannot be read as a zip archive: {fault}.") from fault


def _unpacked(packed: bytes, member: zipfile.ZipInfo) -> bytes:
    """The content of a member, cut off one byte after the size that it claims."""
    if member.compress_type == _STORED:
        return packed
    if member.compress_type == _DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, member.file_size + 1)
    if member.compress_type == _ZSTANDARD:
        return unpack_zstandard(packed, member.file_size + 1)
    raise zipfile.BadZipFile(f"it is packed in a way that is not known here ({member.compress_type})")


def _check_directory(path: Path) -> None:
    """Refuse an endless list of members before `zipfile` reads it into memory."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - _END_BYTES))
        end = stream.read(_END_BYTES)
    for mark, layout, offset in ((b"PK\x05\x06", "<I", 12), (b"PK\x06\x06", "<Q", 40)):
        start = end.rfind(mark)
        if start < 0 or len(end) < start + offset + struct.calcsize(layout):
            continue
        (size,) = struct.unpack_from(layout, end, start + offset)
        if DIRECTORY_LIMIT < size != _IN_ZIP64_RECORD:
            raise EvidenceError(
                f"{path} has a list of members of {size:,} bytes; it looks like an attack and is not read."
            )


def _check_members(path: Path, members: Sequence[zipfile.ZipInfo]) -> None:
    names = [each.filename for each in members]
    if len({*names}) < len(names):
        repeated = Counter(names).most_common(1)[0][0]
        raise EvidenceError(f"{path} holds {repeated!r} twice, so it is not clear which is meant; it is not read.")
    joined = "\n".join(("", *names))
    if any(part in joined for part in _ESCAPING_PARTS) and (outside := [*filter(_leads_out, names)]):
        raise EvidenceError(f"{path} holds {outside[0]!r}, a name that leads out of it; it is not read.")
    if any(each.flag_bits & 1 for each in members):
        raise EvidenceError(f"{path} is encrypted; unpack it first.")
    for each in members:
        size, packed = each.file_size, each.compress_size
        if packed > MEMBER_LIMIT or (size > 1000 * RATIO_LIMIT and size > min(MEMBER_LIMIT, RATIO_LIMIT * packed)):
            raise EvidenceError(
                f"{path}: {each.filename!r} would unpack to {max(size, packed):,} bytes; it looks like an attack and "
                "is not read."
            )
    if sum(each.file_size for each in members) > ARCHIVE_LIMIT:
        raise EvidenceError(f"{path} would unpack to more than {ARCHIVE_LIMIT // 2**30} GiB; it is not read.")


def _leads_out(name: str) -> bool:
    parts = PurePosixPath(name.replace("\\", "/"))
    return parts.is_absolute() or ".." in parts.parts or bool(parts.drive) or ":" in name.split("/", maxsplit=1)[0]
