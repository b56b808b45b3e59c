"""The stores below a folder, each under an address that stays."""

from hashlib import sha256
from pathlib import Path
from threading import Lock

from outweigh.adapters.stores.experiment_file import EXPERIMENT_FILE
from outweigh.adapters.stores.jsonl import SUFFIX
from outweigh.errors import UsageError
from outweigh.report.run_diff.run_diff import RunSide
from outweigh.web.kept_sides import KeptSides
from outweigh.web.run_listing import RunListing
from outweigh.web.run_row import RunRow
from outweigh.web.spread import KeptSpread
from outweigh.web.store_index import StoreIndex
from outweigh.web.store_summary import KeptSummary

DEEPEST = 4
"""So many folders below the one that was named are looked into."""

_SKIPPED = frozenset({"artifacts", "node_modules", "__pycache__"})


class Shelf:
    """A store with everything that is kept about it. `key` is its part of an address, `name` is for people."""

    def __init__(self, path: Path, name: str, sides: KeptSides) -> None:
        self.key = sha256(name.encode(errors="surrogateescape")).hexdigest()[:12]
        self.name = name
        self.index = StoreIndex(path)
        self.listing = RunListing(self.index)
        self.summary = KeptSummary(self.index)
        self.spread = KeptSpread(self.index, self.summary)
        self._sides = sides

    def side(self, row: RunRow) -> RunSide:
        """A run with its steps and its patch."""
        return self._sides.side(self.index, row)


class Catalogue:
    """What there is to be seen below the paths that were named."""

    def __init__(self, roots: list[Path]) -> None:
        for root in roots:
            if not root.exists():
                raise UsageError(f"there is no {root}; name a store, a folder of stores, or a {SUFFIX} file.")
        self._roots = roots
        self._shelves: dict[str, Shelf] = {}
        self._sides = KeptSides()
        self._lock = Lock()

    def shelves(self) -> list[Shelf]:
        """All stores, looked for again, so that one that has begun meanwhile is there."""
        with self._lock:
            for root in self._roots:
                for path in _stores(root, DEEPEST):
                    shelf = Shelf(path, _name(path, root, several=len(self._roots) > 1), self._sides)
                    self._shelves.setdefault(shelf.key, shelf)
            return sorted(self._shelves.values(), key=lambda shelf: shelf.name)

    def shelf(self, key: str) -> Shelf | None:
        """A store by its part of an address."""
        known = self._shelves.get(key)
        return known or next((shelf for shelf in self.shelves() if shelf.key == key), None)


def _name(path: Path, root: Path, *, several: bool) -> str:
    if several:
        return str(path)
    return root.resolve().name if path == root else str(path.relative_to(root))


def _stores(path: Path, depth: int) -> list[Path]:
    if path.is_file():
        return [path]
    try:
        entries = sorted(path.iterdir())
    except OSError:
        return []
    if any(entry.name == EXPERIMENT_FILE or entry.suffix == SUFFIX for entry in entries):
        return [path]
    below = [entry for entry in entries if entry.is_dir() and not entry.is_symlink() and entry.name not in _SKIPPED]
    return [store for entry in below if depth for store in _stores(entry, depth - 1)]
