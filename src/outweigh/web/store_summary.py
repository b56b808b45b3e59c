"""Counts of a store, kept up to date run by run, and charts of them.

Outcomes are counted by arm alone. A pass rate over several arms would describe none of them, so the totals of a store
have no outcomes to compute one from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum
from statistics import fmean, median
from threading import Lock
from typing import NamedTuple

from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.report.axis import dollar_tick, second_tick
from outweigh.report.formatting import SIMULATED, format_dollars, format_seconds
from outweigh.report.svg.bars import Distribution, draw_distributions
from outweigh.web.markup import Html
from outweigh.web.run_row import RunRow
from outweigh.web.store_index import StoreIndex


@dataclass(slots=True)
class RunTotals:
    """Runs of a store whatever their arm. `excluded` runs say nothing about their arm and are run again; of what was
    paid, that for `estimated` runs is estimated.
    """

    runs: int = 0
    excluded: int = 0
    real: int = 0
    paid: list[float] = field(default_factory=list)
    estimated: int = 0
    seconds: list[float] = field(default_factory=list)
    latest: float | None = None

    @property
    def spent(self) -> str:
        """What was paid for the runs, as people read it."""
        if self.runs and not self.real:
            return SIMULATED
        return _format_sum(self.paid, self.estimated)

    def add(self, row: RunRow) -> None:
        """Count one more run."""
        self.runs += 1
        self.excluded += row.status in EXCLUDED_STATUSES
        self.real += not row.simulated
        if row.paid_usd is not None:
            self.paid.append(row.paid_usd)
            self.estimated += row.is_estimated
        if row.duration_seconds is not None:
            self.seconds.append(row.duration_seconds)
        if row.started_at is not None:
            self.latest = max(row.started_at, self.latest or row.started_at)


@dataclass(slots=True)
class ArmCounts:
    """Runs of one arm, of all tasks or of one. Runs that neither passed nor failed are unknown."""

    runs: int = 0
    passed: int = 0
    failed: int = 0
    excluded: int = 0
    real: int = 0
    costs: list[float] = field(default_factory=list)
    estimated: int = 0
    durations: list[float] = field(default_factory=list)

    @property
    def known(self) -> int:
        """Runs that passed or failed."""
        return self.passed + self.failed

    @property
    def pass_rate(self) -> float | None:
        """The share of runs that passed, of those whose outcome is known; None if none is."""
        return self.passed / self.known if self.known else None

    @property
    def cost(self) -> str:
        """The sum of the known costs, as people read it."""
        if self.runs and not self.real:
            return SIMULATED
        return _format_sum(self.costs, self.estimated)

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
        self.real += not row.simulated
        if row.cost_usd is not None:
            self.costs.append(row.cost_usd)
            self.estimated += row.is_estimated
        if row.duration_seconds is not None:
            self.durations.append(row.duration_seconds)


def _format_sum(dollars: Sequence[float], estimated: int) -> str:
    """A sum, as about how much where one of its parts is estimated."""
    return f"{'about ' if estimated else ''}{format_dollars(fsum(dollars) if dollars else None)}"


class StoreSummary:
    """Counts of a store: totals, and outcomes by arm, and by task and arm."""

    def __init__(self) -> None:
        self.total = RunTotals()
        self.arms: dict[str, ArmCounts] = {}
        self.tasks: dict[str, dict[str, ArmCounts]] = {}
        self.statuses: set[str] = set()

    def add(self, row: RunRow) -> None:
        """Count one more run."""
        self.total.add(row)
        self.arms.setdefault(row.arm, ArmCounts()).add(row)
        self.tasks.setdefault(row.task_id, {}).setdefault(row.arm, ArmCounts()).add(row)
        self.statuses.add(row.status)

    def arm_order(self, baseline: str | None) -> list[str]:
        """The baseline first, then the other arms by name."""
        return sorted(self.arms, key=lambda name: (name != baseline, name))


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


class JudgeMean(NamedTuple):
    """The mean of the judge scores of some runs of one arm, and how many runs have one."""

    mean: float
    runs: int


class JudgeMeans:
    """Mean judge scores by arm, and by task and arm."""

    def __init__(self, index: StoreIndex) -> None:
        scores: dict[tuple[str | None, str], list[float]] = {}
        for row in index.rows if index.is_judged else ():
            score = None if row.status in EXCLUDED_STATUSES else index.judge_score(row.run_id)
            if score is not None:
                scores.setdefault((None, row.arm), []).append(score)
                scores.setdefault((row.task_id, row.arm), []).append(score)
        self._means = {key: JudgeMean(fmean(values), len(values)) for key, values in scores.items()}

    def __bool__(self) -> bool:
        return bool(self._means)

    def find(self, arm: str, task: str | None = None) -> JudgeMean | None:
        """The mean of an arm, over all tasks or on one; None if no run of it was judged."""
        return self._means.get((task, arm))


class JudgeMeansCache:
    """The judge means of a store, made anew when it changes."""

    def __init__(self, index: StoreIndex) -> None:
        self._index = index
        self._version = -1
        self._means = JudgeMeans(index)

    def current(self) -> JudgeMeans:
        """The means for the index's current version."""
        with self._index.lock:
            if self._version != self._index.version:
                self._version, self._means = self._index.version, JudgeMeans(self._index)
            return self._means


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
    """The charts, with the baseline first, which they show in grey. Costs that are only simulated are not drawn."""
    arms = [(name, summary.arms[name]) for name in summary.arm_order(baseline)]
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
    if all(distribution.values for distribution in costs) and summary.total.real:
        drawn.append(Html(draw_distributions("Cost of every run", costs, format_dollars, dollar_tick)))
    return drawn
