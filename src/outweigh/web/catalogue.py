"""The stores below the given paths, each under a stable address, with a small cache of the runs that were opened
last.
"""

from collections import OrderedDict
from hashlib import sha256
from pathlib import Path
from threading import Lock

from outweigh.errors import UsageError
from outweigh.model.run_record import RunRecord
from outweigh.report.run_diff import ComparedRun
from outweigh.store.artifact_folder import ARTIFACTS_FOLDER, ArtifactFolder
from outweigh.store.experiment_file import EXPERIMENT_FILE
from outweigh.store.records import RECORDS_SUFFIX
from outweigh.store.run_artifacts import read_run_side
from outweigh.web.run_listing import RunListing
from outweigh.web.run_row import RunRow
from outweigh.web.store_index import StoreIndex
from outweigh.web.store_summary import SpreadChartCache, StoreSummaryCache

MAX_CACHED_RUNS = 2
"""As many as are put side by side: a transcript may be large."""


class OpenedRunCache:
    """The last few runs that somebody looked at, of whichever store."""

    def __init__(self) -> None:
        self._sides: OrderedDict[tuple[str, str, int], ComparedRun] = OrderedDict()
        self._lock = Lock()

    def side(self, index: StoreIndex, row: RunRow) -> ComparedRun:
        """A run with all that was kept of it; one reading at a time, so that memory is bounded."""
        record = index.record(row)
        key = str(index.path), row.run_id, row.attempt
        with self._lock:
            if key not in self._sides or _has_changed(self._sides[key].record, record):
                self._sides.pop(key, None)
                while len(self._sides) >= MAX_CACHED_RUNS:
                    self._sides.popitem(last=False)
                self._sides[key] = read_run_side(record, ArtifactFolder.of_store(index.folder))
            self._sides.move_to_end(key)
            return self._sides[key]


def _has_changed(kept: RunRecord, now: RunRecord) -> bool:
    return kept.artifacts != now.artifacts or kept.steps != now.steps


MAX_FOLDER_DEPTH = 4
"""So many folders below the one that was named are looked into."""

_SKIPPED_FOLDERS = frozenset({ARTIFACTS_FOLDER, "node_modules", "__pycache__"})


class ViewedStore:
    """A store with everything that is kept about it. `key` is its part of an address, `name` is for people."""

    def __init__(self, path: Path, name: str, sides: OpenedRunCache) -> None:
        self.key = sha256(name.encode(errors="surrogateescape")).hexdigest()[:12]
        self.name = name
        self.index = StoreIndex(path)
        self.listing = RunListing(self.index)
        self.summary = StoreSummaryCache(self.index)
        self.spread = SpreadChartCache(self.index, self.summary)
        self._sides = sides

    def side(self, row: RunRow) -> ComparedRun:
        """A run with its steps and its patch."""
        return self._sides.side(self.index, row)


class StoreCatalogue:
    """What there is to be seen below the paths that were named."""

    def __init__(self, roots: list[Path]) -> None:
        for root in roots:
            if not root.exists():
                raise UsageError(f"there is no {root}; name a store, a folder of stores, or a {RECORDS_SUFFIX} file.")
        self._roots = roots
        self._shelves: dict[str, ViewedStore] = {}
        self._sides = OpenedRunCache()
        self._lock = Lock()

    def shelves(self) -> list[ViewedStore]:
        """All stores, looked for again, so that one that has begun meanwhile is there."""
        with self._lock:
            for root in self._roots:
                for path in _find_stores(root, MAX_FOLDER_DEPTH):
                    shelf = ViewedStore(path, _store_name(path, root, several=len(self._roots) > 1), self._sides)
                    self._shelves.setdefault(shelf.key, shelf)
            return sorted(self._shelves.values(), key=lambda shelf: shelf.name)

    def shelf(self, key: str) -> ViewedStore | None:
        """A store by its part of an address."""
        known = self._shelves.get(key)
        return known or next((shelf for shelf in self.shelves() if shelf.key == key), None)


def _store_name(path: Path, root: Path, *, several: bool) -> str:
    if several:
        return str(path)
    return root.resolve().name if path == root else str(path.relative_to(root))


def _find_stores(path: Path, depth: int) -> list[Path]:
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
    return [store for entry in below if depth for store in _find_stores(entry, depth - 1)]
