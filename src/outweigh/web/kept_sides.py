"""Runs with their steps and patches, kept for the next page of the same run."""

from collections import OrderedDict
from threading import Lock

from outweigh.adapters.stores.kept_run import kept_run
from outweigh.record.run_record import RunRecord
from outweigh.report.run_diff.run_diff import RunSide
from outweigh.web.run_row import RunRow
from outweigh.web.store_index import StoreIndex

MOST = 2
"""As many as are put side by side: a transcript may be large."""


class KeptSides:
    """The last few runs that somebody looked at, of whichever store."""

    def __init__(self) -> None:
        self._sides: OrderedDict[tuple[str, str, int], RunSide] = OrderedDict()
        self._lock = Lock()

    def side(self, index: StoreIndex, row: RunRow) -> RunSide:
        """A run with all that was kept of it; one reading at a time, so that memory is bounded."""
        record = index.record(row)
        key = str(index.path), row.run_id, row.attempt
        with self._lock:
            if key not in self._sides or _differ(self._sides[key].record, record):
                self._sides.pop(key, None)
                while len(self._sides) >= MOST:
                    self._sides.popitem(last=False)
                self._sides[key] = kept_run(record, index.folder)
            self._sides.move_to_end(key)
            return self._sides[key]


def _differ(kept: RunRecord, now: RunRecord) -> bool:
    return kept.artifacts != now.artifacts or kept.steps != now.steps
