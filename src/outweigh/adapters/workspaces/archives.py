"""Unpacking an archive into a folder and nowhere else, on every Python: the safe filter came with a patch release."""

import os
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def unpack(source: Path, target: Path) -> None:
    """Unpack below `target`; TarError when the archive is broken or reaches out."""
    with tarfile.open(source) as archive:
        target.mkdir()
        if hasattr(tarfile, "data_filter"):
            archive.extractall(target, filter="data")
        else:
            # Members are looked at one by one as they are unpacked, so links from earlier ones are already there.
            archive.extractall(target, members=checked(archive, target))


def checked(archive: tarfile.TarFile, target: Path) -> Iterator[tarfile.TarInfo]:
    """The members, each with plain modes and our own ownership; one that reaches out ends it."""
    for member in archive:
        destination = target / member.name.lstrip("/")
        if destination == target:
            continue
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            raise tarfile.TarError(f"{member.name!r} is a device or a pipe")
        if not _stays(destination.parent, target) or ".." in PurePosixPath(member.name).parts:
            raise tarfile.TarError(f"{member.name!r} would be outside")
        if not member.issym() and not _stays(destination, target):
            raise tarfile.TarError(f"{member.name!r} would be written through a link that leads outside")
        if member.issym() and not _stays(destination.parent / member.linkname, target):
            raise tarfile.TarError(f"{member.name!r} is a link that leads outside")
        if member.islnk() and not _stays(target / member.linkname, target):
            raise tarfile.TarError(f"{member.name!r} is a link that leads outside")
        member.name = str(destination.relative_to(target))
        member.mode = (member.mode & 0o755) | 0o600 | (0o100 if member.isdir() else 0)
        member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
        yield member


def _stays(path: Path, target: Path) -> bool:
    return path.resolve().is_relative_to(target.resolve())
