"""The list of members at the end of a zip archive, read a good deal faster than zipfile does.

A log of Inspect has a member for every sample, and most of them are never opened: to make an object of each with
everything that there is to know about it would take longer than to read what is wanted.
"""

import struct
import zipfile
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple

_END = struct.Struct("<4s4H2IH")
_ENTRY = struct.Struct("<4s4xHH4xIIIHHH8xI")
_UTF8 = 0x800
_ELSEWHERE = 2**32 - 1
"""What stands for a size or a place that does not fit."""


class Member(NamedTuple):
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


class Directory:
    """All members in their order, by name. Nothing is checked.

    What is known about them is kept value after value: an object for each would keep the garbage collector busy.
    """

    def __init__(self, names: Sequence[str], values: Sequence[Any]) -> None:
        self.names = names
        self._values = values
        self._numbers = {name: number for number, name in enumerate(names)}

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __getitem__(self, name: str) -> Member:
        start = self._numbers[name] * len(Member._fields)
        return Member._make(self._values[start : start + len(Member._fields)])

    def column(self, field: str) -> Sequence[Any]:
        """The same value of all members."""
        return self._values[Member._fields.index(field) :: len(Member._fields)]


def zip_directory(stream: BinaryIO) -> Directory:
    """The list of an archive; BadZipFile where there is none."""
    return _plain_directory(stream) or _any_directory(stream)


def _plain_directory(stream: BinaryIO) -> Directory | None:
    """That of an archive without a comment, in one piece, below 4 GiB; None for any other."""
    size = stream.seek(0, 2)
    if size < _END.size:
        return None
    stream.seek(size - _END.size)
    mark, disk, first_disk, here, count, length, place, comment = _END.unpack(stream.read(_END.size))
    if (mark, disk, first_disk, here, comment) != (b"PK\x05\x06", 0, 0, count, 0) or count == 2**16 - 1:
        return None
    if place + length != size - _END.size:
        return None
    stream.seek(place)
    try:
        found = _entries(stream.read(length))
    except (struct.error, UnicodeDecodeError):
        return None
    return found if len(found.names) == count and _is_plain(found) else None


def _entries(directory: bytes) -> Directory:
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
    return Directory([name.decode() for name in names], values)


def _is_plain(found: Directory) -> bool:
    """Whether all is said in the entries themselves, and the names are read as they are meant."""
    if {*found.column("mark")} - {b"PK\x01\x02"} or any("\0" in name for name in found.names):
        return False
    if any(_ELSEWHERE in found.column(field) for field in ("packed_bytes", "content_bytes", "place")):
        return False
    return all(name.isascii() or found[name].flags & _UTF8 for name in found.names)


def _any_directory(stream: BinaryIO) -> Directory:
    with zipfile.ZipFile(stream) as opened:
        known = opened.infolist()
    return Directory([each.filename for each in known], [value for each in known for value in _member(each)])


def _member(known: zipfile.ZipInfo) -> Member:
    sizes = (known.CRC, known.compress_size, known.file_size)
    return Member(b"", known.flag_bits, known.compress_type, *sizes, 0, 0, 0, known.header_offset)
