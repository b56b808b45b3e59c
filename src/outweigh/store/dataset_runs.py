"""Runs of one arm of a dataset as a sequence, read column by column, and made into scores only where one is wanted."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from heapq import merge
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from outweigh.errors import EvidenceError, requires_extra
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentKind
from outweigh.model.usage import CostProvenance
from outweigh.score.run_score import Score
from outweigh.store.dataset_rows import ScoreReader

Numbers = NDArray[np.float64]
Codes = NDArray[np.int32]

TASK = "task_id"

_READING_THREADS = 2
_KEPT_COLUMNS = 4


class RowGroup(NamedTuple):
    """Rows that stand together in the file of a part."""

    file: "PartFile"
    number: int
    rows: int


class PartFile:
    """The file with the runs of a part. It is opened for every reading, so that many parts need no more open files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._metadata: Any = None

    def read(self, index: int, columns: Sequence[str] | None = None, names: Sequence[str] = ()) -> Any:
        """Columns of one row group; those in `names` come with their dictionaries."""
        with requires_extra("a dataset", "parquet"):
            import pyarrow  # noqa: PLC0415 - heavy, and only datasets need it
            from pyarrow.parquet import ParquetFile  # noqa: PLC0415
        try:
            with ParquetFile(self.path, metadata=self._metadata, read_dictionary=list(names)) as file:
                self._metadata = file.metadata
                return file.read_row_group(index, columns=columns, use_threads=False)
        except (pyarrow.ArrowException, OSError, ValueError) as fault:
            raise EvidenceError(f"{self.path} cannot be read as part of a dataset: {fault}.") from fault


class SharedNames:
    """Names of tasks, kept once where several arms have the same."""

    def __init__(self) -> None:
        self._kept: list[tuple[str, ...]] = []

    def share(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The same names, as they were kept before."""
        for kept in self._kept:
            if kept == names:
                return kept
        self._kept.append(names)
        return names


class StoredRuns(Sequence[Score]):
    """Runs with one role of one arm, in the order of their tasks and repeats."""

    def __init__(self, groups: Sequence[RowGroup], tasks: "SharedNames") -> None:
        self._shared = tasks
        self._counts: dict[str, Counter[Any]] = {}
        self._numbers: dict[str, Numbers] = {}
        self._groups = tuple(group for group in groups if group.rows)
        self._ends = list(accumulate(group.rows for group in self._groups))
        self._reader = ScoreReader()

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Score]:
        for group in self._groups:
            yield from self._reader.read(group.file.read(group.number))

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
            found += self._reader.read(group.file.read(group.number).take(rows))
        return found

    def numbers(self, field: str) -> Numbers:
        """A column of numbers; NaN where it is unknown. The last few are kept: a gate asks for the same again."""
        found = self._numbers.pop(field, None)
        self._numbers[field] = self._read_numbers(field) if found is None else found
        if len(self._numbers) > _KEPT_COLUMNS:
            del self._numbers[next(iter(self._numbers))]
        return self._numbers[field]

    def _read_numbers(self, field: str) -> Numbers:
        found = np.empty(len(self), dtype=np.float64)

        def fill(rows: slice, group: RowGroup) -> None:
            found[rows] = _as_numbers(group.file.read(group.number, [field]).column(0))

        self._for_each_group(fill)
        return found

    def names(self, field: str) -> tuple[Sequence[Any], Codes]:
        """A column of names: the different ones, and the place of every run's own among them."""
        if field == TASK:
            return self._tasks
        names, codes = self._names(field)
        read = _READ_NAMES.get(field)
        return (names if read is None else [None if name is None else read(name) for name in names]), codes

    @cached_property
    def _tasks(self) -> tuple[Sequence[Any], Codes]:
        names, codes = self._names(TASK)
        return self._shared.share(tuple(names)), codes

    def counts(self, field: str) -> Counter[Any]:
        """How many runs have each value of a field."""
        if field not in self._counts:
            names, codes = self.names(field)
            numbers = np.bincount(codes, minlength=len(names)).tolist()
            self._counts[field] = Counter(dict(zip(names, numbers, strict=True)))
        return self._counts[field]

    def _names(self, field: str) -> tuple[list[Any], Codes]:
        found = np.empty(len(self), dtype=np.int32)
        places: dict[Any, int] = {}
        pieces: dict[int, tuple[list[Any], Codes]] = {}

        def read(rows: slice, group: RowGroup) -> None:
            pieces[rows.start] = _encoded(group.file.read(group.number, [field], [field]).column(0))

        self._for_each_group(read)
        for start, (names, codes) in sorted(pieces.items()):
            mapped = np.array([places.setdefault(name, len(places)) for name in names], dtype=np.int32)
            found[start : start + len(codes)] = mapped[codes] if len(names) else codes
        return list(places), found

    def _for_each_group(self, action: Callable[[slice, RowGroup], None]) -> None:
        """Reading and decompressing need no interpreter, so two threads keep two cores busy."""
        starts = [0, *self._ends]
        rows = [slice(start, start + group.rows) for start, group in zip(starts, self._groups, strict=False)]
        with ThreadPoolExecutor(_READING_THREADS) as threads:
            for _ in threads.map(action, rows, self._groups):
                pass


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


def _as_numbers(column: Any) -> Numbers:
    """Numbers with NaN where there is none; moments in seconds."""
    if hasattr(column.type, "tz"):
        seconds: Numbers = column.cast("int64").to_numpy(zero_copy_only=False) / _MICROSECONDS
        return seconds
    found: Numbers = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return found


_MICROSECONDS = 10**6
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


def _encoded(column: Any) -> tuple[list[Any], Codes]:
    """The names of a column and the place of every row's own; None is the last of them where a row has none."""
    places: dict[Any, int] = {}
    pieces = []
    for chunk in (column if hasattr(column.type, "index_type") else column.dictionary_encode()).chunks:
        names = [*chunk.dictionary.to_pylist(), *([None] if chunk.null_count else [])]
        mapped = np.array([places.setdefault(name, len(places)) for name in names], dtype=np.int32)
        codes = chunk.indices.fill_null(len(names) - 1) if chunk.null_count else chunk.indices
        pieces.append(mapped[codes.to_numpy(zero_copy_only=False)])
    return list(places), np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int32)
