"""Repeat numbers for the rows of a table that has none: in order of time, then of names, for each task and arm.

The last row may decide the first number, so that all rows are looked at before one gets its number. In most tables the
runs of a task and arm stand in order already; counting them is enough then, and no name is kept.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from functools import partial
from itertools import chain, count, repeat

from msgspec.structs import replace

from outweigh.interop.imported_run import LATEST_TIME, RepeatNumber, UnnumberedRun, number_runs
from outweigh.model.run_columns import RunColumns
from outweigh.model.run_record import ARBITRARY_REPEAT, REPEAT_LABEL, RunRecord

Runs = RunColumns | Sequence[RunRecord]


WAITING_ROWS = 20_000
"""So many rows wait for a second run of a task and arm before all rows of the table are counted."""

_TaskAndArm = tuple[str, str]


class NumbersByPlace:
    """The numbers of rows that have neither names nor times: how often their task and arm stood there before.

    A run that is alone is not marked as numbered, so rows wait until each task and arm among them stood there twice.
    In most tables that is soon. Where it is not, `count_trials` says how many rows each has; where it returns None, or
    a name was cut, so that the order of the rows is not that of their names, `number_all` numbers all of them.
    """

    def __init__(
        self, count_trials: Callable[[], Mapping[_TaskAndArm, int] | None], number_all: "Callable[[], RowNumbers]"
    ) -> None:
        self._count_trials = count_trials
        self._number_all = number_all
        self._next: defaultdict[_TaskAndArm, Iterator[int]] = defaultdict(partial(count, 1))
        self._once: set[_TaskAndArm] = set()
        self._waiting: list[tuple[Runs, list[_TaskAndArm], list[int]]] = []
        self._rows_waiting = 0
        self._given = 0

    def give(self, blocks: Iterable[Runs]) -> Iterator[Runs | None]:
        """The runs with their numbers; None if there were fewer rows when they were counted."""
        left = iter(blocks)
        for runs in left:
            if not _are_named_by_place(runs):
                yield from self._give_by_name(chain((runs,), left))
                return
            self._wait(runs)
            if not self._once:
                yield from self._release(frozenset())
            elif self._rows_waiting > WAITING_ROWS:
                sizes = self._count_trials()
                yield from self._give_by_name(left) if sizes is None else self._give_counted(sizes, left)
                return
        yield from self._release(self._once)

    def _wait(self, runs: Runs) -> None:
        tasks, arms, *_ = _columns(runs)
        trials = [*zip(tasks, arms, strict=True)]
        numbers = [*map(next, map(self._next.__getitem__, trials))]
        for number, change in ((1, self._once.update), (2, self._once.difference_update)):
            if number in numbers:
                change(trial for trial, each in zip(trials, numbers, strict=True) if each == number)
        self._waiting.append((runs, trials, numbers))
        self._rows_waiting += len(runs)

    def _release(self, alone: Set[_TaskAndArm]) -> Iterator[Runs]:
        for runs, trials, numbers in self._waiting:
            arbitrary = [trial not in alone for trial in trials] if alone else [True] * len(runs)
            yield _with_numbers(runs, numbers, arbitrary)
        self._given += self._rows_waiting
        self._waiting.clear()
        self._rows_waiting = 0

    def _give_counted(self, sizes: Mapping[_TaskAndArm, int], blocks: Iterable[Runs]) -> Iterator[Runs | None]:
        alone = {trial for trial, size in sizes.items() if size == 1}
        total = sum(sizes.values())
        yield from self._release(alone)
        for runs in blocks:
            self._wait(runs)
            if self._given + self._rows_waiting > total:
                yield None
            yield from self._release(alone)

    def _give_by_name(self, blocks: Iterable[Runs]) -> Iterator[Runs | None]:
        numbers = self._number_all()
        numbers.skip(self._given)
        yield from map(numbers.give, chain([runs for runs, *_ in self._waiting], blocks))


def _are_named_by_place(runs: Runs) -> bool:
    """Rows that are read as columns are, because names that have to be cut do not fit there."""
    return isinstance(runs, RunColumns) or all(
        run.run_id.startswith(f"{run.trial.task_id}/{run.trial.arm}/row ") for run in runs
    )


class RowNumbers:
    """The numbers of all rows, in order. `read` reads the table's runs from the beginning."""

    def __init__(self, read: Callable[[], Iterable[Runs]]) -> None:
        counted = _count_in_order(map(_columns, read()))
        self._numbers = number_runs(_unnumbered(read())) if counted is None else counted
        self._given = 0

    def skip(self, rows: int) -> None:
        """Leave out the numbers of rows that have theirs."""
        self._given += rows

    def give(self, runs: Runs) -> Runs | None:
        """The runs with their numbers; None if there were fewer rows when they were numbered."""
        start, self._given = self._given, self._given + len(runs)
        if self._given > len(self._numbers):
            return None
        numbers = self._numbers[start : self._given]
        return _with_numbers(runs, [*map(abs, numbers)], [number < 0 for number in numbers])


def _with_numbers(runs: Runs, numbers: Sequence[int], arbitrary: Sequence[bool]) -> Runs:
    if not isinstance(runs, RunColumns):
        return [*map(_with_number, runs, map(RepeatNumber, numbers, arbitrary))]
    found = runs.with_columns({"trial.repeat": numbers})
    if not any(arbitrary):
        return found
    labels = [ARBITRARY_REPEAT if each else None for each in arbitrary]
    return found.labelled(REPEAT_LABEL, labels)


def _with_number(run: RunRecord, number: RepeatNumber) -> RunRecord:
    trial = replace(run.trial, repeat=number.repeat)
    return replace(run, trial=trial, extra=run.extra | number.extra())


_Columns = tuple[Sequence[str], Sequence[str], Iterable[datetime | None], Sequence[str]]


def _columns(runs: Runs) -> _Columns:
    """Tasks, arms, times and names."""
    if isinstance(runs, RunColumns):
        found = runs.columns
        return found["trial.task_id"], found["trial.arm"], found.get("started_at", repeat(None)), found["run_id"]
    return (
        [run.trial.task_id for run in runs],
        [run.trial.arm for run in runs],
        [run.started_at for run in runs],
        [run.run_id for run in runs],
    )


def _unnumbered(blocks: Iterable[Runs]) -> Iterator[UnnumberedRun]:
    for tasks, arms, times, names in map(_columns, blocks):
        yield from map(UnnumberedRun, names, tasks, arms, times)


class _Trial:
    """The runs of a task and arm so far: how many, the row of the first, and the time and name of the last."""

    __slots__ = ("first_row", "last", "runs")

    def __init__(self, first_row: int, last: tuple[datetime, str]) -> None:
        self.first_row = first_row
        self.last = last
        self.runs = 1


def _count_in_order(blocks: Iterable[_Columns]) -> "array[int] | None":
    """The numbers of the rows if those of each task and arm stand in order; else None."""
    trials: dict[tuple[str, str], _Trial] = {}
    numbers = array("q")
    for tasks, arms, times, names in blocks:
        for key, time, name in zip(zip(tasks, arms, strict=True), times, names, strict=False):
            this = (time or LATEST_TIME, name)
            trial = trials.get(key)
            if trial is None:
                trials[key] = _Trial(len(numbers), this)
                numbers.append(-1)
                continue
            if trial.last >= this:
                return None
            trial.last = this
            trial.runs += 1
            numbers.append(-trial.runs)
    for trial in trials.values():
        if trial.runs == 1:
            numbers[trial.first_row] = 1
    return numbers
