"""Runs of one arm of a dataset as a sequence, read column by column, and made into scores only where one is wanted."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from heapq import merge
from itertools import accumulate, chain
from threading import Lock
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np

from outweigh.errors import EvidenceError
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentKind
from outweigh.model.usage import CostProvenance
from outweigh.score.run_score import Score
from outweigh.store.dataset_columns import (
    TASK,
    Codes,
    Index,
    Numbers,
    RowGroup,
    as_array,
    as_indices,
    as_numbers,
    as_texts,
    encode_names,
)
from outweigh.store.dataset_rows import ScoreReader

_Result = TypeVar("_Result")


_READING_THREADS = 2
_KEPT_BYTES = 64 * 10**6


class TaskRows(NamedTuple):
    """The tasks of some runs, and how many of the runs each has, which stand one after the other."""

    names: tuple[str, ...]
    rows: Index

    @property
    def codes(self) -> Codes:
        """The place of every run's own task."""
        return np.repeat(np.arange(len(self.names), dtype=np.int32), self.rows)


class DatasetReader:
    """What the runs of a dataset share: the threads that read them, and the names of tasks, kept once for all arms."""

    def __init__(self) -> None:
        self._kept: dict[int, list[tuple[Any, tuple[str, ...]]]] = {}
        self._joined: dict[tuple[int, ...], tuple[str, ...]] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._columns: dict[object, Numbers] = {}
        self._bytes = 0
        self._lock = Lock()

    def map(self, action: Callable[..., _Result], *items: Sequence[Any]) -> list[_Result]:
        """Do the same with all items. Reading and computing on arrays need no interpreter, so two threads help."""
        if len(items[0]) < 2:
            return list(map(action, *items))
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_READING_THREADS)
        return list(self._threads.map(action, *items))

    def keep(self, key: object, read: Callable[[], Numbers]) -> Numbers:
        """A column that was read before, or is read now. Those asked for last are kept, as far as they are small."""
        with self._lock:
            found = self._columns.pop(key, None)
            if found is not None:
                self._columns[key] = found
                return found
        found = read()
        found.flags.writeable = False
        with self._lock:
            if key not in self._columns:
                self._columns[key] = found
                self._bytes += found.nbytes
            while self._bytes > _KEPT_BYTES:
                self._bytes -= self._columns.pop(next(iter(self._columns))).nbytes
        return found

    def share(self, part: int, names: Any) -> tuple[str, ...]:
        """The names of a part, as another arm has them already where they are the same."""
        for kept, found in self._kept.setdefault(part, []):
            if kept.equals(names):
                return found
        found = tuple(as_texts(names))
        self._kept[part].append((names, found))
        return found

    def join(self, parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        """The names of all parts, as another arm has them already where they are the same."""
        key = tuple(map(id, parts))
        if key not in self._joined:
            self._joined[key] = tuple(chain.from_iterable(parts))
        return self._joined[key]


class StoredRuns(Sequence[Score]):
    """Runs with one role of one arm, in the order of their tasks and repeats.

    There is a group for every part of the dataset, None where it has no such run. `part` is the place of the first.
    """

    def __init__(self, groups: Sequence[RowGroup | None], reader: DatasetReader, part: int = 0) -> None:
        self._reader = reader
        self._groups = tuple(groups)
        self._part = part
        self._ends = list(accumulate(0 if group is None else group.rows for group in groups))
        self._scores = ScoreReader()
        self._tasks: TaskRows | None = None
        self._parts: Sequence[StoredRuns] | None = None
        self._counts: dict[str, Counter[Any]] = {}

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Score]:
        for group in self._groups:
            if group is not None:
                yield from self._scores.read(group.file.read(group.number))

    @overload
    def __getitem__(self, place: int) -> Score: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Score]: ...
    def __getitem__(self, place: int | slice) -> Score | Sequence[Score]:
        if isinstance(place, slice):
            return self.at(list(range(len(self)))[place])
        return self.at([range(len(self))[place]])[0]

    def at(self, places: Sequence[int]) -> list[Score]:
        """The runs at these places, which are in order."""
        found: list[Score] = []
        by_group: dict[int, list[int]] = {}
        for place in places:
            number = bisect_right(self._ends, place)
            by_group.setdefault(number, []).append(place - (self._ends[number - 1] if number else 0))
        for number, rows in by_group.items():
            group = self._groups[number]
            if group is not None:
                found += self._scores.read(group.file.read(group.number).take(rows))
        return found

    @property
    def parts(self) -> "Sequence[StoredRuns]":
        """The runs of every part of the dataset; a task is in one part only."""
        if self._parts is None:
            groups = enumerate(self._groups)
            self._parts = (
                (self,)
                if len(self._groups) == 1
                else [StoredRuns([group], self._reader, place) for place, group in groups]
            )
        return self._parts

    def map(self, action: Callable[..., _Result], *items: Sequence[Any]) -> list[_Result]:
        """Do the same with all items, such as the parts of arms."""
        return self._reader.map(action, *items)

    def is_known(self, field: str) -> bool:
        """Whether it is known without reading them that no run lacks a field."""
        return all(group.file.is_known(group.number, field) for group in self._groups if group is not None)

    def numbers(self, field: str) -> Numbers:
        """A column of numbers; NaN where it is unknown. Nobody may write into it."""
        if len(self._groups) == 1:
            return self._reader.keep((self._groups[0], field), lambda: self._read_numbers(field))
        found = np.empty(len(self), dtype=np.float64)

        def fill(start: int, part: StoredRuns) -> None:
            found[start : start + len(part)] = part.numbers(field)

        self.map(fill, self._starts, self.parts)
        return found

    def only_value(self, field: str) -> tuple[Any] | None:
        """The value that all runs have in this field, where that is known without reading them; else None."""
        found = [group.file.only_value(group.number, field) for group in self._groups if group is not None]
        return found[0] if found and all(each == found[0] for each in found) else None

    @property
    def _starts(self) -> list[int]:
        return [0, *self._ends[:-1]]

    def _read_numbers(self, field: str) -> Numbers:
        group = self._groups[0]
        if group is None:
            return np.zeros(0)
        only = group.file.only_value(group.number, field)
        if only is not None and (only[0] is None or isinstance(only[0], int | float)):
            return np.full(group.rows, np.nan if only[0] is None else only[0] + 0.0)
        return as_numbers(group.file.read(group.number, [field]).column(0))

    def names(self, field: str) -> tuple[Sequence[Any], Codes]:
        """A column of names: the different ones, and the place of every run's own among them."""
        if field == TASK:
            return self.task_rows.names, self.task_rows.codes
        names, codes = self._names(field)
        read = _READ_NAMES.get(field)
        return (names if read is None else [None if name is None else read(name) for name in names]), codes

    @property
    def task_rows(self) -> TaskRows:
        """The tasks, in order, and how many runs each has."""
        if self._tasks is None:
            self._tasks = self._read_tasks() if len(self._groups) == 1 else self._join_tasks()
        return self._tasks

    def _join_tasks(self) -> TaskRows:
        found = self.map(lambda part: part.task_rows, self.parts)
        rows = np.concatenate([np.zeros(0, np.intp), *(each.rows for each in found)])
        start = 0
        for part, own in zip(self.parts, found, strict=True):
            # The numbers of all parts are kept once.
            part._tasks = TaskRows(own.names, rows[start : start + len(own.rows)])
            start += len(own.rows)
        return TaskRows(self._reader.join([each.names for each in found]), rows)

    def _read_tasks(self) -> TaskRows:
        group = self._groups[0]
        if group is None:
            return TaskRows((), np.zeros(0, np.intp))
        column = group.file.read(group.number, [TASK], [TASK]).column(0).unify_dictionaries().combine_chunks()
        if hasattr(column, "chunks"):
            column = column.chunk(0)
        codes = as_array(column.indices)
        starts = np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1])
        first = codes[starts]
        if not (np.diff(first) > 0).all() and len(np.unique(first)) != len(first):
            raise EvidenceError(
                f"{group.file.path} cannot be read as part of a dataset: its runs are not in the order of their tasks."
            )
        names = self._reader.share(self._part, column.dictionary.take(column.indices.take(as_indices(starts))))
        return TaskRows(names, np.diff(starts, append=len(codes)).astype(np.intp, copy=False))

    def counts(self, field: str) -> Counter[Any]:
        """How many runs have each value of a field."""
        if field == TASK:
            names, rows = self.task_rows
            return Counter(dict(zip(names, rows.tolist(), strict=True)))
        if field not in self._counts:
            self._counts[field] = self._count(field)
        return self._counts[field]

    def _count(self, field: str) -> Counter[Any]:
        if len(self._groups) > 1:
            # In the order of the runs, in which a Counter is asked for its most common values.
            return sum_counts(self.map(lambda part: part.counts(field), self.parts))
        names, codes = self.names(field)
        if len(names) == 1:
            return Counter({names[0]: len(self)})
        return Counter(dict(zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True)))

    def _names(self, field: str) -> tuple[list[Any], Codes]:
        if len(self._groups) == 1:
            return self._read_names(field)
        found = np.empty(len(self), dtype=np.int32)
        places: dict[Any, int] = {}
        for start, (names, codes) in zip(
            self._starts, self.map(lambda part: part._names(field), self.parts), strict=True
        ):
            mapped = np.array([places.setdefault(name, len(places)) for name in names], dtype=np.int32)
            found[start : start + len(codes)] = mapped[codes] if len(names) else codes
        return list(places), found

    def _read_names(self, field: str) -> tuple[list[Any], Codes]:
        group = self._groups[0]
        if group is None:
            return [], np.zeros(0, dtype=np.int32)
        only = group.file.only_value(group.number, field)
        if only is not None and isinstance(only[0], str | int | None):
            return [only[0]], np.zeros(group.rows, dtype=np.int32)
        return encode_names(group.file.read(group.number, [field], [field]).column(0))


def sum_counts(found: Sequence[Counter[Any]]) -> Counter[Any]:
    """All counts together, in the order of the first."""
    total: Counter[Any] = Counter()
    for each in found:
        total.update(each)
    return total


class RunsByTask(Mapping[str, int]):
    """How many runs each task has. They are counted when somebody asks, because hardly anybody does."""

    def __init__(self, runs: StoredRuns) -> None:
        self._runs = runs

    def __getitem__(self, task: str) -> int:
        return self._runs.counts(TASK)[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs.counts(TASK))

    def __len__(self) -> int:
        return len(self._runs.counts(TASK))


_READ_NAMES: Mapping[str, Callable[[Any], Any]] = {
    "status": Status,
    "agent_kind": AgentKind,
    "cost_provenance": CostProvenance,
}


class StoredArm(Sequence[Score]):
    """All attempts of an arm in the order of their trials, without those in whose place a later one stands."""

    def __init__(self, counted: StoredRuns, excluded: StoredRuns) -> None:
        self.counted = counted
        self.excluded = excluded
        self.kept: dict[object, Any] = {}

    def __len__(self) -> int:
        return len(self.counted) + len(self.excluded)

    def __iter__(self) -> Iterator[Score]:
        return merge(self.counted, self.excluded, key=lambda score: (score.task_id, score.repeat))

    @overload
    def __getitem__(self, place: int) -> Score: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Score]: ...
    def __getitem__(self, place: int | slice) -> Score | Sequence[Score]:
        return list(self)[place]
