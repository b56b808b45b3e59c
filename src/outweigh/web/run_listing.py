"""Filters, search and sort order of the list of runs; results are cached until the store changes."""

from array import array
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from outweigh.web.run_row import RunRow
from outweigh.web.store_index import StoreIndex

RUNS_PER_PAGE = 50
"""Runs on one page."""

_CACHED_VIEWS = 32

SortKey = Callable[[RunRow], object]

RUN_SORT_KEYS: dict[str, SortKey] = {
    "run": lambda row: row.run_id,
    "task": lambda row: row.task_id,
    "arm": lambda row: row.arm,
    "status": lambda row: row.status,
    "outcome": lambda row: row.outcome,
    "cost": lambda row: row.cost_usd,
    "time": lambda row: row.duration_seconds,
    "tokens": lambda row: row.tokens,
}
"""The columns to sort by. Unknown values come last in both directions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs to list, and in which order; an empty value filters nothing.

    A run matches `search_text` if every word of it occurs in the run's names.
    """

    search_text: str = ""
    arm: str = ""
    task: str = ""
    status: str = ""
    outcome: str = ""
    sort: str = ""
    descending: bool = False

    def query(self) -> dict[str, str | int]:
        """The filter as the query of an address; the key `falling` is kept for links that people have shared."""
        return {
            "q": self.search_text,
            "arm": self.arm,
            "task": self.task,
            "status": self.status,
            "outcome": self.outcome,
            "sort": self.sort,
            "falling": "1" if self.descending else "",
        }


class RunListing:
    """The filtered and sorted lists of one store's runs, cached."""

    def __init__(self, index: StoreIndex) -> None:
        self._index = index
        self._views: OrderedDict[RunFilter, array[int]] = OrderedDict()
        self._version = -1
        self._making = Lock()

    def view(self, wanted: RunFilter) -> "array[int]":
        """The positions of the rows that match. Cached lists can be read while another is made."""
        if (known := self._kept(wanted)) is not None:
            return known
        with self._making:
            if (known := self._kept(wanted)) is not None:
                return known
            with self._index.lock:
                rows, version = self._index.rows, self._index.version
                length = len(rows)
            made = array("L", _select_rows(rows, length, wanted, self._sort_key(wanted.sort)))
            with self._index.lock:
                if version == self._version:
                    self._views[wanted] = made
                    if len(self._views) > _CACHED_VIEWS:
                        self._views.popitem(last=False)
            return made

    def _kept(self, wanted: RunFilter) -> "array[int] | None":
        with self._index.lock:
            if self._version != self._index.version:
                self._views.clear()
                self._version = self._index.version
            if wanted in self._views:
                self._views.move_to_end(wanted)
            return self._views.get(wanted)

    def _sort_key(self, name: str) -> SortKey | None:
        """What to sort by; None keeps the order of the store."""
        if name == "judge":
            return lambda row: self._index.judge_score(row.run_id)
        return RUN_SORT_KEYS.get(name)

    def page(self, wanted: RunFilter, number: int) -> list[RunRow]:
        """The rows of one page, counted from 1."""
        rows = self._index.rows
        positions = self.view(wanted)[(number - 1) * RUNS_PER_PAGE : number * RUNS_PER_PAGE]
        # If the store was replaced since, it may be shorter; the next request shows that.
        return [rows[position] for position in positions if position < len(rows)]


def _select_rows(rows: list[RunRow], length: int, wanted: RunFilter, key: SortKey | None) -> list[int]:
    """The positions of the matching rows. Rows are only appended, so the first `length` can be read without a lock."""
    found: list[int] = list(range(length))
    for field in ("arm", "task", "status", "outcome"):
        if value := getattr(wanted, field):
            name = "task_id" if field == "task" else field
            found = [position for position in found if getattr(rows[position], name) == value]
    for word in wanted.search_text.casefold().split():
        found = [position for position in found if word in rows[position].search_text]
    if key is not None:
        return _sort_rows(rows, found, key, descending=wanted.descending)
    return found[::-1] if wanted.descending else found


def _sort_rows(rows: list[RunRow], positions: list[int], key: SortKey, *, descending: bool) -> list[int]:
    keys = {position: key(rows[position]) for position in positions}
    known = [position for position in positions if keys[position] is not None]
    known.sort(key=keys.__getitem__, reverse=descending)  # type: ignore[arg-type]
    return known + [position for position in positions if keys[position] is None]
