"""Where the stores below a folder are, and when each was last written."""

import os
from collections.abc import Iterator
from pathlib import Path

from outweigh.store.artifact_folder import ARTIFACTS_FOLDER
from outweigh.store.dataset_manifest import is_dataset
from outweigh.store.experiment_file import EXPERIMENT_FILE
from outweigh.store.records import MANIFEST_FILE, RECORDS_SUFFIX

MAX_FOLDER_DEPTH = 4
"""How many levels of folders are searched for stores."""

MAX_FOLDER_ENTRIES = 1_000
"""A folder with more entries holds data; the folders in it are not searched."""

SKIPPED_FOLDERS = frozenset({ARTIFACTS_FOLDER, "node_modules", "__pycache__"})
"""Folders in which no store is looked for."""

_MARKS = frozenset({EXPERIMENT_FILE, MANIFEST_FILE})
"""Files by which a folder says itself that it is a store."""


def find_stores(path: Path, depth: int = MAX_FOLDER_DEPTH) -> list[Path]:
    """The stores at or below a path, in order of their paths; a file is taken as it is, and a dataset has none."""
    if path.is_file():
        return [path]
    if is_dataset(path):
        return []
    try:
        entries = sorted(path.iterdir())
    except OSError:
        return []
    if any(is_store_file(entry.name) for entry in entries):
        return [path]
    below = [
        entry for entry in entries if entry.is_dir() and not entry.is_symlink() and entry.name not in SKIPPED_FOLDERS
    ]
    return [store for entry in below if depth for store in find_stores(entry, depth - 1)]


def find_marked_stores(folder: Path, depth: int) -> Iterator[Path]:
    """The stores at or below a folder that `run` or `import` wrote, in order of their paths.

    Nothing else counts, because a project has `.jsonl` files of its own. Hidden folders and very full ones are not
    searched.
    """
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    if any(entry.name in _MARKS for entry in entries):
        yield folder
        return
    if is_dataset(folder):
        return
    for entry in entries if depth and len(entries) <= MAX_FOLDER_ENTRIES else ():
        searched = not entry.name.startswith(".") and entry.name not in SKIPPED_FOLDERS
        if searched and entry.is_dir(follow_symlinks=False):
            yield from find_marked_stores(folder / entry.name, depth - 1)


def is_store_file(name: str) -> bool:
    """Whether a folder with a file of this name is a store."""
    return name == EXPERIMENT_FILE or name.endswith(RECORDS_SUFFIX)


def is_store(folder: Path) -> bool:
    """Whether a folder says that it is a store, or has records in it."""
    return any((folder / mark).is_file() for mark in _MARKS) or has_records(folder)


def has_records(folder: Path) -> bool:
    """Whether a folder has a file of records, which may still be empty."""
    return any(folder.glob(f"*{RECORDS_SUFFIX}"))


def written_at(store: Path) -> int:
    """When the records of a store, or what it is for, were last written, in nanoseconds since 1970.

    0 where nothing can be looked at. Reports and other files that lie beside the records do not count.
    """
    files = [*store.glob(f"*{RECORDS_SUFFIX}"), *(store / mark for mark in _MARKS)]
    return max(map(_modified_at, files), default=0)


def _modified_at(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
