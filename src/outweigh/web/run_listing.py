"""Which runs a list shows, in which order; kept until the store changes."""

from array import array
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from outweigh.web.run_row import RunRow
from outweigh.web.store_index import StoreIndex

PAGE = 50
"""How many runs a page shows."""

_KEPT = 32

SORTS: dict[str, Callable[[RunRow], object]] = {
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

    def view(self, wanted: RunFilter) -> "array[int]":
        """Positions of the rows asked for."""
        with self._index.lock:
            if self._version != self._index.version:
                self._views.clear()
                self._version = self._index.version
            if wanted not in self._views:
                self._views[wanted] = array("L", _chosen(self._index.rows, wanted))
                if len(self._views) > _KEPT:
                    self._views.popitem(last=False)
            self._views.move_to_end(wanted)
            return self._views[wanted]

    def page(self, wanted: RunFilter, number: int) -> list[RunRow]:
        """The rows of one page, counted from 1."""
        with self._index.lock:
            places = self.view(wanted)[(number - 1) * PAGE : number * PAGE]
            return [self._index.rows[place] for place in places]


def _chosen(rows: list[RunRow], wanted: RunFilter) -> list[int]:
    found: list[int] = list(range(len(rows)))
    for field in ("arm", "task", "status", "outcome"):
        if value := getattr(wanted, field):
            name = "task_id" if field == "task" else field
            found = [place for place in found if getattr(rows[place], name) == value]
    for word in wanted.words.casefold().split():
        found = [place for place in found if word in rows[place].words]
    if wanted.sort in SORTS:
        return _sorted(rows, found, SORTS[wanted.sort], falling=wanted.falling)
    return found[::-1] if wanted.falling else found


def _sorted(rows: list[RunRow], places: list[int], key: Callable[[RunRow], object], *, falling: bool) -> list[int]:
    known = [place for place in places if key(rows[place]) is not None]
    unknown = [place for place in places if key(rows[place]) is None]
    known.sort(key=lambda place: key(rows[place]), reverse=falling)  # type: ignore[arg-type, return-value]
    return known + unknown
