"""A store in numbers: its arms, and its tasks by arm."""

from collections import defaultdict
from collections.abc import Iterable
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSummary:
    """Everything that is counted."""

    whole: Tally
    arms: dict[str, Tally]
    tasks: dict[str, dict[str, Tally]]
    statuses: tuple[str, ...]


def summarize(rows: Iterable[RunRow]) -> StoreSummary:
    """Count."""
    whole, arms, statuses = Tally(), defaultdict[str, Tally](Tally), set[str]()
    tasks = defaultdict[str, dict[str, Tally]](lambda: defaultdict(Tally))
    for row in rows:
        whole.add(row)
        arms[row.arm].add(row)
        tasks[row.task_id][row.arm].add(row)
        statuses.add(row.status)
    return StoreSummary(
        whole=whole,
        arms=dict(sorted(arms.items())),
        tasks={task: dict(by_arm) for task, by_arm in sorted(tasks.items())},
        statuses=tuple(sorted(statuses)),
    )


class KeptSummary:
    """The summary of a store, made again when the store has changed."""

    def __init__(self, index: StoreIndex) -> None:
        self._index = index
        self._version = -1
        self._summary = summarize(())

    def now(self) -> StoreSummary:
        """The current one."""
        with self._index.lock:
            if self._version != self._index.version:
                self._summary, self._version = summarize(self._index.rows), self._index.version
            return self._summary
