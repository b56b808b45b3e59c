"""Which files of a store a reader may follow while an engine writes to it, and where the stores below a folder are.

Readers that follow a store, such as the viewer, ask here, so that only this package knows the names of its files.
"""

from pathlib import Path

from outweigh.store.artifact_folder import ARTIFACTS_FOLDER
from outweigh.store.experiment_file import EXPERIMENT_FILE
from outweigh.store.records import RECORDS_SUFFIX
from outweigh.store.run_store import ATTEMPT_LOGS
from outweigh.store.store_lock import LOCK_FILE

MAX_FOLDER_DEPTH = 4
"""How many levels of folders are searched for stores."""

_SKIPPED_FOLDERS = frozenset({ARTIFACTS_FOLDER, "node_modules", "__pycache__"})


def find_stores(path: Path, depth: int = MAX_FOLDER_DEPTH) -> list[Path]:
    """The stores at or below a path, in order of their paths; a file is taken as it is."""
    if path.is_file():
        return [path]
    try:
        entries = sorted(path.iterdir())
    except OSError:
        return []
    if any(entry.name == EXPERIMENT_FILE or entry.suffix == RECORDS_SUFFIX for entry in entries):
        return [path]
    below = [
        entry for entry in entries if entry.is_dir() and not entry.is_symlink() and entry.name not in _SKIPPED_FOLDERS
    ]
    return [store for entry in below if depth for store in find_stores(entry, depth - 1)]


def record_files(path: Path) -> list[Path]:
    """The files with the records of a store, or the single file that a path names."""
    return sorted(path.glob(f"*{RECORDS_SUFFIX}")) if path.is_dir() else [path]


def attempt_logs(path: Path) -> list[Path]:
    """The logs of attempts that were begun; none for a single file."""
    return sorted(path.glob(ATTEMPT_LOGS)) if path.is_dir() else []


def was_locked(folder: Path) -> bool:
    """Whether an engine has ever locked a folder; without that, nobody appends to its files."""
    return (folder / LOCK_FILE).exists()
