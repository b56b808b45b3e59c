"""Repeat numbers for the rows of a table that has none: in order of time, then of names, for each task and arm.

The last row may decide the first number, so that all rows are looked at before one gets its number. In most tables the
runs of a task and arm stand in order already; counting them is enough then, and no name is kept.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import count, repeat

from msgspec.structs import replace

from outweigh.interop.imported_run import LATEST_TIME, RepeatNumber, UnnumberedRun, number_runs
from outweigh.model.run_columns import RunColumns
from outweigh.model.run_record import ARBITRARY_REPEAT, REPEAT_LABEL, RunRecord

Runs = RunColumns | Sequence[RunRecord]


class PlaceNumbers:
    """The numbers of rows that have neither names nor times: how often their task and arm stood there before.

    `sizes` says how many rows each task and arm has, because a run that is alone is not marked as numbered.
    """

    def __init__(self, sizes: Mapping[tuple[str, str], int]) -> None:
        self._alone = {trial for trial, size in sizes.items() if size == 1}
        self._left = sum(sizes.values())
        self._next: defaultdict[tuple[str, str], Iterator[int]] = defaultdict(partial(count, 1))

    def give(self, runs: Runs) -> Runs | None:
        """The runs with their numbers; None if there were fewer rows when they were counted."""
        self._left -= len(runs)
        if self._left < 0:
            return None
        tasks, arms, *_ = _columns(runs)
        trials = [*zip(tasks, arms, strict=True)]
        numbers = [*map(next, map(self._next.__getitem__, trials))]
        alone = not self._alone.isdisjoint(trials)
        return _with_numbers(
            runs, numbers, [trial not in self._alone for trial in trials] if alone else [True] * len(runs)
        )


class RowNumbers:
    """The numbers of all rows, in order. `read` reads the table's runs from the beginning."""

    def __init__(self, read: Callable[[], Iterable[Runs]]) -> None:
        counted = _count_in_order(map(_columns, read()))
        self._numbers = number_runs(_unnumbered(read())) if counted is None else counted
        self._given = 0

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
