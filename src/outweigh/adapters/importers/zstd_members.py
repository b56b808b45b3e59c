"""Members of archives that are packed with Zstandard, which the zip reader of older Pythons does not know."""

import struct
import zipfile
import zlib
from typing import Any

from outweigh.errors import EvidenceError

ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, RuntimeError, ValueError, KeyError)


def member_bytes(opened: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """What a member holds, its checksum verified; never more than it claims. A broken one is an EvidenceError."""
    try:
        return _unpacked(opened, member) if member.compress_type == ZSTANDARD else opened.read(member)
    except _BROKEN as fault:
        raise EvidenceError(f"{opened.filename}: {member.filename!r} is broken: {fault}.") from fault


def _unpacked(opened: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    stream = opened.fp
    if stream is None:
        raise ValueError("the archive is closed")
    stream.seek(member.header_offset)
    mark, name_length, extra_length = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
    if mark != b"PK\x03\x04":
        raise zipfile.BadZipFile("it does not begin where the archive says")
    stream.seek(name_length + extra_length, 1)
    packed = stream.read(member.compress_size)
    zstandard = _zstandard()
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            content: bytes = reader.read(member.file_size + 1)
    except zstandard.ZstdError as fault:
        raise zipfile.BadZipFile(str(fault)) from fault
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile("what it holds is not what was put in")
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
