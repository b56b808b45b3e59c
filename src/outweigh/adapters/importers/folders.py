"""Folders that other programs filled: walked in a steady order, never out of themselves, never without end."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from outweigh.errors import EvidenceError

DEPTH_LIMIT = 12
ENTRY_LIMIT = 1_000_000


def files_below(
    folder: Path, wanted: Callable[[str], bool] = lambda _: True, *, passed_by: frozenset[str] = frozenset()
) -> Iterator[Path]:
    """Every wanted file by its name, in order of paths. Links to folders are not followed, nor are those passed by."""
    yield from _Walk(wanted, passed_by).below(folder, DEPTH_LIMIT)


class _Walk:
    """What is looked for, and how much may still be looked at."""

    def __init__(self, wanted: Callable[[str], bool], passed_by: frozenset[str]) -> None:
        self._wanted = wanted
        self._passed_by = passed_by
        self._room = ENTRY_LIMIT

    def below(self, folder: Path, depth: int) -> Iterator[Path]:
        if depth == 0:
            raise EvidenceError(f"{folder} is {DEPTH_LIMIT} folders deep; name the folder with the results itself.")
        for entry in self._entries(folder):
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in self._passed_by:
                    yield from self.below(Path(entry.path), depth - 1)
            elif self._wanted(entry.name) and _is_file(entry):
                yield Path(entry.path)

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as fault:
            raise EvidenceError(f"{fault.filename or folder} cannot be read: {fault.strerror}.") from fault
        self._room -= len(entries)
        if self._room < 0:
            raise EvidenceError(f"there are more than {ENTRY_LIMIT:,} files; name the folder with the results itself.")
        return entries


def _is_file(entry: os.DirEntry[str]) -> bool:
    """A link that leads nowhere, or in a circle, is none."""
    try:
        return entry.is_file()
    except OSError:
        return False
