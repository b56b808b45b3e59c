"""Folders that other programs filled: walked in a steady order, never out of themselves, never without end."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from outweigh.errors import EvidenceError

DEPTH_LIMIT = 12
ENTRY_LIMIT = 1_000_000


def files_below(folder: Path, wanted: Callable[[str], bool] = lambda _: True) -> Iterator[Path]:
    """Every wanted file by its name, in order of paths. Links to folders are not followed."""
    yield from _below(folder, wanted, DEPTH_LIMIT, [ENTRY_LIMIT])


def _below(folder: Path, wanted: Callable[[str], bool], depth: int, room: list[int]) -> Iterator[Path]:
    if depth == 0:
        raise EvidenceError(f"{folder} is {DEPTH_LIMIT} folders deep; name the folder with the results itself.")
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as fault:
        raise EvidenceError(f"{fault.filename or folder} cannot be read: {fault.strerror}.") from fault
    room[0] -= len(entries)
    if room[0] < 0:
        raise EvidenceError(f"there are more than {ENTRY_LIMIT:,} files; name the folder with the results itself.")
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _below(Path(entry.path), wanted, depth - 1, room)
        elif entry.is_file() and wanted(entry.name):
            yield Path(entry.path)
