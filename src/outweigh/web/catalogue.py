"""The stores below the given paths, each under a stable address, and a small cache of the runs opened last."""

from collections import OrderedDict
from hashlib import sha256
from pathlib import Path
from threading import Lock

from outweigh.errors import UsageError
from outweigh.model.run_record import RunRecord
from outweigh.report.run_diff import ComparedRun
from outweigh.store.store import Store
from outweigh.store.store_files import find_stores
from outweigh.web.run_listing import RunListing
from outweigh.web.run_row import RunRow
from outweigh.web.store_index import StoreIndex
from outweigh.web.store_summary import SpreadChartCache, StoreSummaryCache

MAX_CACHED_RUNS = 2
"""Enough for a comparison of two; a transcript can be large."""


class OpenedRunCache:
    """The runs that were opened last, of all stores."""

    def __init__(self) -> None:
        self._opened: OrderedDict[tuple[str, str, int], ComparedRun] = OrderedDict()
        self._lock = Lock()

    def get(self, index: StoreIndex, row: RunRow) -> ComparedRun:
        """A run with its steps and its patch. Runs are read one at a time, to bound memory."""
        record = index.record(row)
        key = str(index.path), row.run_id, row.attempt
        with self._lock:
            if key not in self._opened or _has_changed(self._opened[key].record, record):
                self._opened.pop(key, None)
                while len(self._opened) >= MAX_CACHED_RUNS:
                    self._opened.popitem(last=False)
                self._opened[key] = Store.open(index.path).run_side(record)
            self._opened.move_to_end(key)
            return self._opened[key]


def _has_changed(kept: RunRecord, now: RunRecord) -> bool:
    return kept.artifacts != now.artifacts or kept.steps != now.steps


class ViewedStore:
    """A store with its index, listing, summary and charts. `key` identifies it in addresses, `name` is what
    people see.
    """

    def __init__(self, path: Path, name: str, opened_runs: OpenedRunCache) -> None:
        self.key = sha256(name.encode(errors="surrogateescape")).hexdigest()[:12]
        self.name = name
        self.index = StoreIndex(path)
        self.listing = RunListing(self.index)
        self.summary = StoreSummaryCache(self.index)
        self.spread = SpreadChartCache(self.index, self.summary)
        self._opened = opened_runs

    def open_run(self, row: RunRow) -> ComparedRun:
        """A run with its steps and its patch."""
        return self._opened.get(self.index, row)


class StoreCatalogue:
    """The stores below the given paths."""

    def __init__(self, roots: list[Path]) -> None:
        for root in roots:
            if not root.exists():
                raise UsageError(f"there is no {root}; name a store, a folder of stores, or a .jsonl file.")
        self._roots = roots
        self._stores: dict[str, ViewedStore] = {}
        self._opened = OpenedRunCache()
        self._lock = Lock()

    def stores(self) -> list[ViewedStore]:
        """All stores, searched for again, so that those of new experiments are found."""
        with self._lock:
            for root in self._roots:
                for path in find_stores(root):
                    store = ViewedStore(path, _store_name(path, root, several=len(self._roots) > 1), self._opened)
                    self._stores.setdefault(store.key, store)
            return sorted(self._stores.values(), key=lambda store: store.name)

    def find(self, key: str) -> ViewedStore | None:
        """The store with this key; None if there is none."""
        known = self._stores.get(key)
        return known or next((store for store in self.stores() if store.key == key), None)


def _store_name(path: Path, root: Path, *, several: bool) -> str:
    if several:
        return str(path)
    return root.resolve().name if path == root else str(path.relative_to(root))
