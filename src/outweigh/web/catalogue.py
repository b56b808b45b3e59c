"""The stores below the given paths, each under a stable address, with the counts and charts of each.

Counts and charts are updated when a store changes; the runs opened last are kept in a small cache.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import sha256
from math import fsum
from pathlib import Path
from statistics import median
from threading import Lock

from outweigh.app.scan import open_scanned_run
from outweigh.errors import UsageError
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.run_record import RunRecord
from outweigh.report.axis import dollar_tick, second_tick
from outweigh.report.formatting import format_dollars, format_seconds
from outweigh.report.run_diff import ComparedRun
from outweigh.report.svg.bars import Distribution, draw_distributions
from outweigh.store.find_stores import find_stores
from outweigh.store.store import Store
from outweigh.web.markup import Html
from outweigh.web.run_listing import RunListing
from outweigh.web.run_row import RunRow
from outweigh.web.store_index import StoreIndex


@dataclass(slots=True)
class RunCounts:
    """Counts of runs. `excluded` runs say nothing about their arm; runs that neither passed nor failed are unknown."""

    runs: int = 0
    passed: int = 0
    failed: int = 0
    excluded: int = 0
    costs: list[float] = field(default_factory=list)
    durations: list[float] = field(default_factory=list)

    @property
    def pass_rate(self) -> float | None:
        """The share of runs that passed, of those whose outcome is known; None if none is."""
        known = self.passed + self.failed
        return self.passed / known if known else None

    @property
    def cost_usd(self) -> float | None:
        """The sum of the known costs; None if no cost is known."""
        return fsum(self.costs) if self.costs else None

    @property
    def median_seconds(self) -> float | None:
        """The median of the known durations; None if no duration is known."""
        return median(self.durations) if self.durations else None

    def add(self, row: RunRow) -> None:
        """Count one more run."""
        self.runs += 1
        self.passed += row.passed is True
        self.failed += row.passed is False
        self.excluded += row.status in EXCLUDED_STATUSES
        if row.cost_usd is not None:
            self.costs.append(row.cost_usd)
        if row.duration_seconds is not None:
            self.durations.append(row.duration_seconds)


class StoreSummary:
    """Counts of a store: in total, by arm, and by task and arm."""

    def __init__(self) -> None:
        self.total = RunCounts()
        self.arms: dict[str, RunCounts] = {}
        self.tasks: dict[str, dict[str, RunCounts]] = {}
        self.statuses: set[str] = set()

    def add(self, row: RunRow) -> None:
        """Count one more run."""
        self.total.add(row)
        self.arms.setdefault(row.arm, RunCounts()).add(row)
        self.tasks.setdefault(row.task_id, {}).setdefault(row.arm, RunCounts()).add(row)
        self.statuses.add(row.status)


class StoreSummaryCache:
    """The summary of a store, updated run by run, and made anew if the store was replaced."""

    def __init__(self, index: StoreIndex) -> None:
        self._index = index
        self._rows: list[RunRow] = []
        self._counted = 0
        self._summary = StoreSummary()

    def current(self) -> StoreSummary:
        """The summary of all rows that the index has now."""
        with self._index.lock:
            if self._rows is not self._index.rows:
                self._rows, self._counted, self._summary = self._index.rows, 0, StoreSummary()
            while self._counted < len(self._rows):
                self._summary.add(self._rows[self._counted])
                self._counted += 1
            return self._summary


MAX_CHARTED_ARMS = 8
"""A chart with more arms than this is unreadable."""


class SpreadChartCache:
    """Charts of a store's durations and costs. The chart functions escape names from records."""

    def __init__(self, index: StoreIndex, summary: StoreSummaryCache) -> None:
        self._index, self._summary = index, summary
        self._version = -1
        self._drawn: tuple[Html, ...] = ()
        self._drawing = Lock()

    def current(self) -> tuple[Html, ...]:
        """The charts for the index's current version; none if nothing is known or there are too many arms."""
        with self._drawing:
            if self._version != self._index.version:
                self._version = self._index.version
                self._drawn = tuple(_draw_charts(self._summary.current(), self._index.baseline()))
            return self._drawn


def _draw_charts(summary: StoreSummary, baseline: str | None) -> list[Html]:
    """The charts, with the baseline first, which they show in grey."""
    arms = sorted(summary.arms.items(), key=lambda arm: (arm[0] != baseline, arm[0]))
    if not 0 < len(arms) <= MAX_CHARTED_ARMS:
        return []
    times = [
        Distribution(name=name, values=counts.durations, unknown=counts.runs - len(counts.durations))
        for name, counts in arms
    ]
    costs = [
        Distribution(name=name, values=counts.costs, unknown=counts.runs - len(counts.costs)) for name, counts in arms
    ]
    drawn = []
    if all(distribution.values for distribution in times):
        drawn.append(Html(draw_distributions("Duration of every run", times, format_seconds, second_tick)))
    if all(distribution.values for distribution in costs):
        drawn.append(Html(draw_distributions("Cost of every run", costs, format_dollars, dollar_tick)))
    return drawn


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
            if not (root.is_dir() or root.is_file()):
                raise UsageError(f"{root} is no file; name a store, a folder of stores, or a .jsonl file.")
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


def _store_name(path: Path, root: Path, *, several: bool) -> str:
    if several:
        return str(path)
    return root.resolve().name if path == root else str(path.relative_to(root))
