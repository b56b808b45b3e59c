"""A folder of this machine as a location of stores; a folder that is mounted from elsewhere is one too."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from outweigh.errors import UsageError
from outweigh.ports.stores import FolderEntries, StoredFile
from outweigh.store.durable_files import make_folder, open_atomic

_NOT_THERE = (FileNotFoundError, NotADirectoryError)


class LocalLocation:
    """A folder, which need not be there yet."""

    workers = 4

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def name(self) -> str:
        """Its path."""
        return str(self.folder)

    def entries(self, folder: str) -> FolderEntries | None:
        """What is in a folder, in order; links are left out."""
        try:
            with os.scandir(self.folder / folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
            files = tuple(_stored(entry, folder) for entry in entries if entry.is_file(follow_symlinks=False))
        except _NOT_THERE:
            return None
        except OSError as fault:
            raise self._refused(folder, "read", fault) from fault
        return FolderEntries(files, tuple(entry.name for entry in entries if entry.is_dir(follow_symlinks=False)))

    def files_below(self, folder: str) -> Sequence[StoredFile]:
        """Every file in a folder and in those below it."""
        found = self.entries(folder)
        if found is None:
            return ()
        below = (self.files_below(f"{folder}/{each}") for each in found.folders)
        return [*found.files, *(file for files in below for file in files)]

    def fetch(self, name: str, target: Path) -> None:
        """Copy a file."""
        try:
            shutil.copyfile(self.folder / name, target)
        except OSError as fault:
            raise self._refused(name, "copied", fault) from fault

    def put(self, name: str, source: Path) -> None:
        """Copy a file to here, durably."""
        target = self.folder / name
        try:
            make_folder(target.parent)
            with source.open("rb") as content, open_atomic(target) as stream:
                shutil.copyfileobj(content, stream)
        except OSError as fault:
            raise self._refused(name, "written", fault) from fault

    def remove(self, name: str) -> None:
        """Remove a file."""
        try:
            (self.folder / name).unlink(missing_ok=True)
        except OSError as fault:
            raise self._refused(name, "removed", fault) from fault

    def _refused(self, name: str, verb: str, fault: OSError) -> UsageError:
        return UsageError(f"{self.folder / name} cannot be {verb}: {fault.strerror}.")


def _stored(entry: os.DirEntry[str], folder: str) -> StoredFile:
    found = entry.stat(follow_symlinks=False)
    name = f"{folder}/{entry.name}" if folder else entry.name
    return StoredFile(name, found.st_size, f"{found.st_mtime_ns} {found.st_ino}")
