"""Archives that other programs wrote: members are looked at before they are opened, and never leave the archive."""

import struct
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from outweigh.errors import EvidenceError

MEMBER_LIMIT = 512 * 2**20
TOTAL_LIMIT = 16 * 2**30
DIRECTORY_LIMIT = 64 * 2**20
RATIO_LIMIT = 1000
"""Text shrinks to a tenth, logs of machines to a hundredth; beyond this an archive is a trap."""

_END_BYTES = 2**16 + 200
_IN_LARGE_RECORD = 2**32 - 1


@contextmanager
def archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """An archive whose members are all fit to be read; else an EvidenceError."""
    try:
        _check_directory(path)
        with zipfile.ZipFile(path) as opened:
            _check(path, opened.infolist())
            yield opened
    except (OSError, zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, EOFError) as fault:
        raise EvidenceError(f"{path} cannot be read as a zip archive: {fault}.") from fault


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


def _check(path: Path, members: list[zipfile.ZipInfo]) -> None:
    names = Counter(member.filename for member in members)
    if twice := [name for name, times in names.items() if times > 1]:
        raise EvidenceError(f"{path} holds {twice[0]!r} twice, so it is not clear which is meant; it is not read.")
    for member in members:
        parts = PurePosixPath(member.filename.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or parts.drive or ":" in member.filename.split("/")[0]:
            raise EvidenceError(f"{path} holds {member.filename!r}, a name that leads out of it; it is not read.")
        if member.flag_bits & 1:
            raise EvidenceError(f"{path} is encrypted; unpack it first.")
        if member.file_size > MEMBER_LIMIT or member.file_size > RATIO_LIMIT * max(member.compress_size, 1000):
            raise EvidenceError(
                f"{path}: {member.filename!r} would unpack to {member.file_size:,} bytes; that looks like a trap and "
                "is not read."
            )
    if sum(member.file_size for member in members) > TOTAL_LIMIT:
        raise EvidenceError(f"{path} would unpack to more than {TOTAL_LIMIT // 2**30} GiB; it is not read.")
