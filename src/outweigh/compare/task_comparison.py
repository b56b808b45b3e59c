"""Two arms task by task."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import overload

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from outweigh.compare.arm_table import ArmTable, Column, Index
from outweigh.compare.run_columns import (
    Computed,
    count_values,
    numbers_of,
)
from outweigh.compare.task_alignment import places_among, same_tasks, tasks_of_lost_runs
from outweigh.stats.estimate import Quantity, known, unknown


class TaskSide(Struct, frozen=True, kw_only=True):
    """One arm's counted runs of a task. A mean is unknown as soon as one of its runs does not know its part."""

    runs: int
    excluded: int
    composite: Quantity
    objective: Quantity
    checks_passed: Quantity
    vacuous: bool

    @property
    def present(self) -> bool:
        """Whether the arm has any record of this task, counted or not."""
        return self.runs + self.excluded > 0


class TaskComparison(Struct, frozen=True, kw_only=True):
    """Both sides of one task."""

    task_id: str
    baseline: TaskSide
    candidate: TaskSide


NOTHING = unknown("no counted run")


_MEANS = ("composite", "objective", "checks_passed")


class ComparedTasks(Sequence[TaskComparison]):
    """Every task that either arm has a record of, as arrays; a TaskComparison is made where one is asked for."""

    def __init__(self, names: Sequence[str], baseline: "ArmTasks", candidate: "ArmTasks") -> None:
        self.names = names
        self.baseline = baseline
        self.candidate = candidate

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, place: int) -> TaskComparison: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[TaskComparison]: ...
    def __getitem__(self, place: int | slice) -> TaskComparison | Sequence[TaskComparison]:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        number = range(len(self))[place]
        return TaskComparison(
            task_id=self.names[number], baseline=self.baseline.side(number), candidate=self.candidate.side(number)
        )

    def __iter__(self) -> Iterator[TaskComparison]:
        return (self[place] for place in range(len(self)))

    def named(self, chosen: NDArray[np.bool_]) -> list[str]:
        """The names of some tasks."""
        return [self.names[place] for place in np.flatnonzero(chosen).tolist()]


class ArmTasks:
    """One arm's side of every task.

    `place` is where a task stands in the arm's table, -1 where no run counts; None where the tasks are those of the
    table, as they stand there.
    """

    def __init__(self, arm: ArmTable, names: tuple[str, ...], place: Index | None) -> None:
        self.runs, self.vacuous = arm.runs_per_task(), _vacuous(arm)
        if place is not None:
            counted = place >= 0
            self.runs = np.where(counted, np.append(self.runs, 0)[place], 0)
            self.vacuous = np.append(self.vacuous, False)[place] & counted
        self._arm = arm
        self._names = names
        self._place = place
        self._means: Mapping[str, Callable[[int], Quantity]] = Computed(
            {name: partial(_complete_means, arm, name) for name in _MEANS}
        )

    @cached_property
    def excluded(self) -> Index:
        """How many runs of each task do not count."""
        return self._arm.lost_per_task(self._names)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Whether the arm has any record of each task, counted or not."""
        if self._place is None:
            return np.ones(len(self.runs), dtype=bool)  # a table has the tasks with a counted run
        present: NDArray[np.bool_] = self.runs + self.excluded > 0
        return present

    def means(self, metric: str) -> Column:
        """The mean of a metric for every task; NaN where a run does not know it, and where no run counts."""
        arm = self._arm
        known = arm.known_per_task(metric) == arm.runs_per_task()
        means: Column = np.where(known, arm.mean_per_task(metric), np.nan)
        return means if self._place is None else np.append(means, np.nan)[self._place]

    def side(self, number: int) -> TaskSide:
        """The arm's runs of one task."""
        place = number if self._place is None else int(self._place[number])
        means = {name: NOTHING if place < 0 else self._means[name](place) for name in _MEANS}
        return TaskSide(
            runs=int(self.runs[number]),
            excluded=int(self.excluded[number]),
            vacuous=bool(self.vacuous[number]),
            **means,
        )


def compare_tasks(baseline: ArmTable, candidate: ArmTable) -> ComparedTasks:
    """Every task that either arm has a record of."""
    alone = tasks_of_lost_runs((baseline, candidate))
    same = same_tasks(baseline, candidate) and not any(alone)
    names = baseline.tasks if same else tuple(dict.fromkeys((*baseline.tasks, *alone[0], *candidate.tasks, *alone[1])))
    before, after = (
        ArmTasks(arm, names, None if same else places_among(names, arm.tasks)) for arm in (baseline, candidate)
    )
    return ComparedTasks(names, before, after)


def _vacuous(arm: ArmTable) -> NDArray[np.bool_]:
    """Whether a run of each task had no checks."""
    if set(count_values(arm.runs, "vacuous")) <= {False}:
        return np.zeros(len(arm.tasks), dtype=bool)
    found: NDArray[np.bool_] = arm.sums_of("vacuous", lambda part: numbers_of(part.runs, "vacuous")).sums > 0
    return found


def _complete_means(arm: ArmTable, metric: str) -> Callable[[int], Quantity]:
    name = metric.replace("_", " ")
    means, runs = arm.mean_per_task(metric), arm.runs_per_task()
    missing = runs - arm.known_per_task(metric)

    def of_task(place: int) -> Quantity:
        lost = missing[place]
        return unknown(f"the {name} of {lost} of {runs[place]} runs is unknown") if lost else known(float(means[place]))

    return of_task
