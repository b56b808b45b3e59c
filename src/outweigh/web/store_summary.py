"""A store in numbers: its arms, and its tasks by arm."""

from dataclasses import dataclass, field
from math import fsum
from statistics import median

from outweigh.record.status import EXCLUDED
from outweigh.web.run_row import RunRow
from outweigh.web.store_index import StoreIndex


@dataclass(slots=True)
class Tally:
    """Runs that were counted; `excluded` says nothing about the arm, `unknown` cannot be told."""

    runs: int = 0
    passed: int = 0
    failed: int = 0
    excluded: int = 0
    costs: list[float] = field(default_factory=list)
    durations: list[float] = field(default_factory=list)

    @property
    def pass_rate(self) -> float | None:
        """Passed of those that can be told; None where none can."""
        known = self.passed + self.failed
        return self.passed / known if known else None

    @property
    def cost_usd(self) -> float | None:
        """The sum of the known costs; None where none is known."""
        return fsum(self.costs) if self.costs else None

    @property
    def median_seconds(self) -> float | None:
        """The median of the known durations; None where none is known."""
        return median(self.durations) if self.durations else None

    def add(self, row: RunRow) -> None:
        """Count one more."""
        self.runs += 1
        self.passed += row.passed is True
        self.failed += row.passed is False
        self.excluded += row.status in EXCLUDED
        if row.cost_usd is not None:
            self.costs.append(row.cost_usd)
        if row.duration_seconds is not None:
            self.durations.append(row.duration_seconds)


class StoreSummary:
    """Everything that is counted, run by run."""

    def __init__(self) -> None:
        self.whole = Tally()
        self.arms: dict[str, Tally] = {}
        self.tasks: dict[str, dict[str, Tally]] = {}
        self.statuses: set[str] = set()

    def add(self, row: RunRow) -> None:
        """Count one more."""
        self.whole.add(row)
        self.arms.setdefault(row.arm, Tally()).add(row)
        self.tasks.setdefault(row.task_id, {}).setdefault(row.arm, Tally()).add(row)
        self.statuses.add(row.status)


class KeptSummary:
    """The summary of a store; a run that was added is counted once, and all again where the store was replaced."""

    def __init__(self, index: StoreIndex) -> None:
        self._index = index
        self._rows: list[RunRow] = []
        self._counted = 0
        self._summary = StoreSummary()

    def now(self) -> StoreSummary:
        """The current one."""
        with self._index.lock:
            if self._rows is not self._index.rows:
                self._rows, self._counted, self._summary = self._index.rows, 0, StoreSummary()
            while self._counted < len(self._rows):
                self._summary.add(self._rows[self._counted])
                self._counted += 1
            return self._summary
