"""Durable file writes: a file is complete or absent, and its folder entry survives a power cut."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import BinaryIO

from outweigh.errors import UsageError


def make_folder(folder: Path) -> None:
    """Make the folder and what is missing above it, each entry durable."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make the entries of a folder durable: new files, renames, removals."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomic(target: Path, chunks: Iterable[bytes]) -> None:
    """Write beside the target and rename: the new file is there for good, or what was there before still is."""
    with open_atomic(target) as stream:
        stream.writelines(chunks)


def write_new(target: Path, content: bytes) -> None:
    """Write a file that nobody reads before it is acknowledged: half of it may be there after a crash.

    For files that say themselves whether they are whole; it waits for the disk once, where a rename waits twice. The
    entry in the folder is durable when the folder was synced.
    """
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as fault:
        with suppress(OSError):
            target.unlink(missing_ok=True)
        raise UsageError(f"{target} cannot be written: {_explain(target, fault)}.") from fault


@contextmanager
def open_atomic(target: Path) -> Iterator[BinaryIO]:
    """The same for who writes as it goes: the target appears when the context ends without a fault."""
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        # Left by one that was killed and had the same number, as in a container every first process has.
        unfinished.unlink(missing_ok=True)
        with unfinished.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(target)
        sync_folder(target.parent)
    except OSError as fault:
        raise UsageError(f"{target} cannot be written: {_explain(target, fault)}.") from fault
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _explain(target: Path, fault: OSError) -> str | None:
    if isinstance(fault, FileNotFoundError) and not target.parent.exists():
        return f"its folder does not exist; make it with `mkdir -p {quote(str(target.parent))}`"
    return fault.strerror
