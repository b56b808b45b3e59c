"""The stores below the given paths and addresses, each under a stable address, with what is kept of each in memory.

Everything that is kept follows the store as it changes; the runs opened last are in a small cache.
"""

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from time import monotonic

from outweigh.app.scan import open_scanned_run
from outweigh.errors import OutweighError, UsageError
from outweigh.model.run_record import RunRecord
from outweigh.report.run_diff import ComparedRun
from outweigh.store.bundled_stores import expand_bundle, find_bundled_store, split_bundle_path
from outweigh.store.fetched_stores import FetchedStore, fetch_stores
from outweigh.store.find_stores import find_stores
from outweigh.store.store import Store
from outweigh.store.store_address import check_address, is_address
from outweigh.store.store_cache import read_origin
from outweigh.web.run_listing import RunListing
from outweigh.web.run_row import RunRow
from outweigh.web.store_index import StoreIndex
from outweigh.web.store_summary import JudgeMeansCache, SpreadChartCache, StoreSummaryCache
from outweigh.web.store_verdict import StoreVerdict, VerdictCache

REFRESH_SECONDS = 30.0
"""Stores at an address are looked for again after this time, when a page is asked for."""

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
                self._opened[key] = open_scanned_run(Store.open(index.path), record)
            self._opened.move_to_end(key)
            return self._opened[key]


def _has_changed(kept: RunRecord, now: RunRecord) -> bool:
    return kept.artifacts != now.artifacts or kept.steps != now.steps


UNFINISHED = StoreVerdict(problem="The verdict comes when the run ends.")


class ViewedStore:
    """A store with its index, listing, summary, charts and verdict. `key` identifies it in addresses, `name` is what
    people see.
    """

    def __init__(self, path: Path, name: str, opened_runs: OpenedRunCache, verdicts: VerdictCache) -> None:
        self.key = store_key(name)
        self.name = name
        self.path = path
        self.index = StoreIndex(find_bundled_store(path) or path, path)
        self.listing = RunListing(self.index)
        self.summary = StoreSummaryCache(self.index)
        self.judge_means = JudgeMeansCache(self.index)
        self.spread = SpreadChartCache(self.index, self.summary)
        self._opened = opened_runs
        self._verdicts = verdicts

    def verdict(self) -> StoreVerdict | None:
        """The verdict; None while it is being decided.

        A store that an engine is writing to has none: a decision on an unfinished experiment would be a look that its
        error rates do not count.
        """
        return UNFINISHED if self.index.is_running() else self._verdicts.find(self.index)

    def known_verdict(self) -> StoreVerdict | None:
        """The verdict if it is known already; nothing is decided for it."""
        return None if self.index.is_running() else self._verdicts.peek(self.index)

    def baseline(self) -> str | None:
        """The baseline arm: what the experiment says, or what the verdict took for it; None if it is unknown."""
        verdict = None if (named := self.index.baseline()) is not None else self.known_verdict()
        return named if verdict is None else verdict.baseline

    def report(self) -> str:
        """The report, as `outweigh report` writes it."""
        return self._verdicts.report(self.index)

    def open_run(self, row: RunRow) -> ComparedRun:
        """A run with its steps and its patch."""
        return self._opened.get(self.index, row)


class _RemoteRoot:
    """The stores below an address, fetched again when somebody asks and the last time is a while ago.

    What cannot be fetched now is shown as it was, and `faults` says why.
    """

    def __init__(self, address: str) -> None:
        self.address = check_address(address)
        self.faults: dict[str, str] = {}
        self._stores: list[FetchedStore] = []
        self._fetched_at: float | None = None

    def stores(self) -> list[FetchedStore]:
        """The stores as they are now, or were a moment ago; UsageError where there were none the first time."""
        first = self._fetched_at is None
        if self._fetched_at is not None and monotonic() - self._fetched_at < REFRESH_SECONDS:
            return self._stores
        faults: dict[str, str] = {}
        try:
            self._stores = fetch_stores(self.address, lambda name, fault: faults.update({name: str(fault)}))
        except OutweighError as fault:
            if first:
                raise
            faults[self.address] = str(fault)
        self.faults, self._fetched_at = faults, monotonic()
        return self._stores


class StoreCatalogue:
    """The stores below the given paths and addresses."""

    def __init__(self, roots: Sequence[Path | str]) -> None:
        self._remote = [_RemoteRoot(root) for root in roots if isinstance(root, str) and is_address(root)]
        paths = [root for root in roots if not is_address(root)]
        self._roots = [Path(name) for root in paths for name in expand_bundle(root)]
        self._several = len(self._roots) + len(self._remote) > 1
        for root in self._roots:
            if split_bundle_path(root) is not None:
                continue
            if not root.exists():
                raise UsageError(f"there is no {root}; name a store, a folder of stores, or a .jsonl file.")
            if not (root.is_dir() or root.is_file()):
                raise UsageError(f"{root} is no file; name a store, a folder of stores, or a .jsonl file.")
        self._stores: dict[str, ViewedStore] = {}
        self._opened = OpenedRunCache()
        self.verdicts = VerdictCache()
        self._lock = Lock()

    def stores(self) -> list[ViewedStore]:
        """All stores, searched for again, so that those of new experiments are found."""
        with self._lock:
            for root in self._roots:
                for path in [root] if split_bundle_path(root) is not None else find_stores(root):
                    self._show(path, _store_name(path, root, several=self._several))
            for remote in self._remote:
                for store in remote.stores():
                    self._show(store.folder, _remote_name(store, remote, several=self._several))
            return sorted(self._stores.values(), key=lambda store: store.name)

    @property
    def faults(self) -> dict[str, str]:
        """Why stores at addresses could not be fetched, by their addresses."""
        return {name: fault for remote in self._remote for name, fault in remote.faults.items()}

    def _show(self, path: Path, name: str) -> None:
        """A store by its name; one that was fetched anew lies in another folder, and is read from there."""
        known = self._stores.get(store_key(name))
        if known is None or (known.path != path and read_origin(path) is not None):
            self._stores[store_key(name)] = ViewedStore(path, name, self._opened, self.verdicts)

    def read(self) -> None:
        """Read every store before anybody asks for it; UsageError where a file that was named is none of runs."""
        for store in self.stores():
            store.index.refresh()
            if store.index.path in self._roots and store.index.path.is_file() and store.index.is_foreign:
                raise UsageError(
                    f"{store.index.path} holds no run record; name a store, a folder of stores, or a .jsonl file."
                )

    def find(self, key: str) -> ViewedStore | None:
        """The store with this key; None if there is none."""
        known = self._stores.get(key)
        return known or next((store for store in self.stores() if store.key == key), None)


def store_key(name: str) -> str:
    """What stands for a store in addresses."""
    return sha256(name.encode(errors="surrogateescape")).hexdigest()[:12]


def _remote_name(store: FetchedStore, root: _RemoteRoot, *, several: bool) -> str:
    if several or store.address == root.address:
        return store.address
    return store.address.removeprefix(f"{root.address}/")


def _store_name(path: Path, root: Path, *, several: bool) -> str:
    if several:
        return str(path)
    return root.resolve().name if path == root else str(path.relative_to(root))
