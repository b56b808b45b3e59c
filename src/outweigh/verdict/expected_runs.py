"""One arm over all tasks that either arm has a record of, with what nobody knows filled in.

Missing are the values of runs lost to infrastructure, of runs that the other arm has and this one lacks, and of runs
that do not know the metric.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from outweigh.compare.arm_table import ArmTable, Column, Index, TaskSums
from outweigh.compare.run_columns import Computed, count_values, counts_by_place
from outweigh.compare.task_alignment import places_among, union_of_tasks
from outweigh.verdict.evidence_settings import GATED_METRICS, EffectScale

RATES = {gated.metric for gated in GATED_METRICS.values() if gated.scale is EffectScale.POINTS}
"""Metrics of which a value may be anything from 0 to 1."""


class LackingTasks(NamedTuple):
    """The tasks of which values are missing, by their places in order, and how many of each."""

    places: Index
    numbers: Index


class Limits(NamedTuple):
    """The smallest and the largest that a missing value can be, for the tasks at these places; NaN where it is none."""

    places: Index
    low: Column
    high: Column

    def end(self, places: Index, *, low: bool) -> Column:
        """One end for tasks that are among these."""
        ends: Column = (self.low if low else self.high)[np.searchsorted(self.places, places)]
        return ends


class ExpectedRuns(Struct, frozen=True, kw_only=True, eq=False):
    """One arm over all tasks that either arm has a record of, and the runs that should be there and do not count.

    `places` says where the tasks of the arm are among all, of which it may lack some; None where they are all.
    """

    arm: ArmTable
    tasks: tuple[str, ...]
    places: Index | None
    absent: LackingTasks

    @property
    def expected(self) -> int:
        """How many runs there should be."""
        return len(self.arm.runs) + int(self.absent.numbers.sum())

    def known(self, metric: str) -> Index:
        """How many runs of each task know the metric."""
        return _over_all(self.arm.known_per_task(metric), self.places, len(self.tasks))

    def missing(self, metric: str) -> LackingTasks:
        """The values of a metric that are unknown."""
        return self._lacking(self.arm.known_per_task(metric))

    def filled(self, metrics: Sequence[str], limits: Mapping[str, Limits], *, worst: bool) -> ArmTable:
        """The arm with its missing passes failed and its missing amounts at their largest, or the other way round."""
        added: dict[str, Callable[[bool], TaskSums]] = {}
        columns: dict[str, Callable[[], Column]] = {}
        for metric in metrics:
            # A failed run is worst among rates, and the largest amount among resources.
            lows = (metric in RATES) is worst
            added[metric] = partial(self._filled_sums, metric, limits[metric], lows, worst)
            columns[metric] = partial(self._filled_column, metric, limits[metric], lows, worst)
        return replace(
            self.arm,
            tasks=self.tasks,
            owners=lambda: np.concatenate([self._owners, np.repeat(*self.absent)]),
            rows=None,
            parts=(),
            kept={},
            added=added,
            columns=Computed(columns, keep=False),
        )

    def _lacking(self, known: Index) -> LackingTasks:
        """What is missing where so many runs of the arm's tasks know something."""
        runs = self.arm.runs_per_task()
        if known is runs:
            return self.absent
        numbers = _over_all(runs - known, self.places, len(self.tasks))
        numbers[self.absent.places] += self.absent.numbers
        return _counted(numbers)

    @property
    def _owners(self) -> Index:
        """The places of the tasks of the runs that count."""
        return self.arm.task_of if self.places is None else self.places[self.arm.task_of]

    def _filled_sums(self, metric: str, limits: Limits, lows: bool, worst: bool, logs: bool) -> TaskSums:
        sums = (
            self.arm.sums_of(
                f"{metric} {worst} {logs}",
                lambda part: _log(_with_ends(part, metric, worst)) if logs else _with_ends(part, metric, worst),
            )
            if metric in self.arm.ranges
            else self.arm.sums(metric, logs=logs)
        )
        counts = _over_all(sums.counts, self.places, len(self.tasks))
        found = _over_all(sums.sums, self.places, len(self.tasks))
        places, numbers = self._lacking(sums.counts)
        ends = limits.end(places, low=lows)
        there = ~np.isnan(ends)
        places, numbers, ends = places[there], numbers[there], ends[there]
        counts[places] += numbers
        found[places] += numbers * (_log(ends) if logs else ends)
        return TaskSums(counts=counts, sums=found)

    def _filled_column(self, metric: str, limits: Limits, lows: bool, worst: bool) -> Column:
        ends = np.full(len(self.tasks), np.nan)
        ends[limits.places] = limits.low if lows else limits.high
        column = _with_ends(self.arm, metric, worst)
        return np.concatenate([np.where(np.isnan(column), ends[self._owners], column), ends[np.repeat(*self.absent)]])


_Values = TypeVar("_Values", Index, Column)


def _over_all(values: _Values, places: Index | None, tasks: int) -> _Values:
    """The values of an arm's tasks as a copy over all tasks; 0 where the arm has none."""
    if places is None:
        return values.copy()
    found = np.zeros(tasks, dtype=values.dtype)
    found[places] = values
    return found


def _with_ends(arm: ArmTable, metric: str, worst: bool) -> Column:
    """A column with the worst or the best end of values that are estimated."""
    column = arm.columns[metric]
    if metric not in arm.ranges:
        return column
    end = arm.ranges[metric][1 if worst else 0]
    return np.where(np.isnan(end), column, end)


def _log(values: Column) -> Column:
    with np.errstate(divide="ignore"):
        return np.log(values)


def expected_runs(baseline: ArmTable, candidate: ArmTable) -> tuple[ExpectedRuns, ExpectedRuns]:
    """Both arms over all tasks that either has a record of, with the runs of each that should be there."""
    arms = (baseline, candidate)
    aside = [count_values(arm.stale, "task_id") for arm in arms]
    tasks = union_of_tasks(arms)
    places = [None if arm.tasks is tasks else places_among(arm.tasks, tasks) for arm in arms]
    lost = [arm.lost_per_task(tasks) for arm in arms]
    recorded = [
        _over_all(arm.runs_per_task(), own, len(tasks)) + gone + counts_by_place(tasks, stale)
        for arm, own, gone, stale in zip(arms, places, lost, aside, strict=True)
    ]
    # What one arm has of a task and the other lacks may have been lost, or picked: nobody can tell.
    never = recorded[1] - recorded[0]
    before, after = (
        ExpectedRuns(arm=arm, tasks=tasks, places=own, absent=_counted(gone + np.maximum(more, 0)))
        for arm, own, gone, more in zip(arms, places, lost, (never, -never), strict=True)
    )
    return before, after


def _counted(numbers: Index) -> LackingTasks:
    places = np.flatnonzero(numbers)
    return LackingTasks(places, numbers[places])
