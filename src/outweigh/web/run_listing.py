"""Filters, search and sort order of the list of runs; results are cached until the store changes."""

from array import array
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from outweigh.web.run_row import RunRow
from outweigh.web.store_index import StoreIndex

RUNS_PER_PAGE = 50
"""How many runs a page shows."""

_CACHED_VIEWS = 32

RUN_SORT_KEYS: dict[str, Callable[[RunRow], object]] = {
    "run": lambda row: row.run_id,
    "task": lambda row: row.task_id,
    "arm": lambda row: row.arm,
    "status": lambda row: row.status,
    "outcome": lambda row: row.outcome,
    "cost": lambda row: row.cost_usd,
    "time": lambda row: row.duration_seconds,
    "tokens": lambda row: row.tokens,
}
"""What a list can be ordered by; unknown values come last, whichever way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """What is asked for; an empty text asks for nothing. Every word of `words` must occur in a run's names."""

    words: str = ""
    arm: str = ""
    task: str = ""
    status: str = ""
    outcome: str = ""
    sort: str = ""
    falling: bool = False

    def query(self) -> dict[str, str | int]:
        """The same as the query of an address."""
        return {
            "q": self.words,
            "arm": self.arm,
            "task": self.task,
            "status": self.status,
            "outcome": self.outcome,
            "sort": self.sort,
            "falling": "1" if self.falling else "",
        }


class RunListing:
    """Lists of one store."""

    def __init__(self, index: StoreIndex) -> None:
        self._index = index
        self._views: OrderedDict[RunFilter, array[int]] = OrderedDict()
        self._version = -1
        self._making = Lock()

    def view(self, wanted: RunFilter) -> "array[int]":
        """Positions of the rows asked for. While one is made, those that are kept are at hand."""
        if (known := self._kept(wanted)) is not None:
            return known
        with self._making:
            if (known := self._kept(wanted)) is not None:
                return known
            with self._index.lock:
                rows, version = self._index.rows, self._index.version
                length = len(rows)
            made = array("L", _select_rows(rows, length, wanted))
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

    def page(self, wanted: RunFilter, number: int) -> list[RunRow]:
        """The rows of one page, counted from 1."""
        rows = self._index.rows
        places = self.view(wanted)[(number - 1) * RUNS_PER_PAGE : number * RUNS_PER_PAGE]
        # A store that was replaced meanwhile may be shorter; the next look shows it.
        return [rows[place] for place in places if place < len(rows)]


def _select_rows(rows: list[RunRow], length: int, wanted: RunFilter) -> list[int]:
    """Rows are only ever added, so the first so many can be looked at without a lock."""
    found: list[int] = list(range(length))
    for field in ("arm", "task", "status", "outcome"):
        if value := getattr(wanted, field):
            name = "task_id" if field == "task" else field
            found = [place for place in found if getattr(rows[place], name) == value]
    for word in wanted.words.casefold().split():
        found = [place for place in found if word in rows[place].words]
    if wanted.sort in RUN_SORT_KEYS:
        return _sort_rows(rows, found, RUN_SORT_KEYS[wanted.sort], falling=wanted.falling)
    return found[::-1] if wanted.falling else found


def _sort_rows(rows: list[RunRow], places: list[int], key: Callable[[RunRow], object], *, falling: bool) -> list[int]:
    keys = {place: key(rows[place]) for place in places}
    known = [place for place in places if keys[place] is not None]
    known.sort(key=keys.__getitem__, reverse=falling)  # type: ignore[arg-type]
    return known + [place for place in places if keys[place] is None]
