"""A field of many runs at once: of scores in memory, and of runs that are stored as columns. One way to ask for both.

A sequence of runs that is stored as columns answers `numbers` and `names` itself, without making a score of any run.
Columns of `ScoredRuns` are made once; nobody may write into them.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress, islice
from operator import attrgetter, lt
from typing import Any, NamedTuple, Protocol, TypeVar, overload, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from outweigh.compare.run_scores import ScoredRuns
from outweigh.score.run_score import Score

Column = NDArray[np.float64]
Index = NDArray[np.intp]
Codes = NDArray[np.int32]
_decode_reasons = msgspec.json.Decoder(dict[str, str]).decode
_Value = TypeVar("_Value")


class Names(NamedTuple):
    """The different values of a field, and the place of every run's own among them."""

    values: Sequence[Any]
    codes: Codes

    def counts(self) -> Counter[Any]:
        """How many runs have each value."""
        numbers = np.bincount(self.codes, minlength=len(self.values)).tolist()
        return Counter({value: number for value, number in zip(self.values, numbers, strict=True) if number})


@runtime_checkable
class StoredColumns(Protocol):
    """Runs that are stored as columns."""

    def numbers(self, field: str) -> Column:
        """A field of every run as a number; NaN where it is unknown."""

    def names(self, field: str) -> tuple[Sequence[Any], Codes]:
        """The different values of a field, and the place of every run's own among them."""

    def counts(self, field: str) -> Counter[Any]:
        """How many runs have each value of a field."""


@runtime_checkable
class StoredParts(Protocol):
    """Runs that are stored as columns in parts of whole tasks, within which the runs of a task stand together."""

    @property
    def parts(self) -> Sequence[Sequence[Score]]:
        """The runs of every part."""

    @property
    def task_rows(self) -> tuple[tuple[str, ...], Index]:
        """The tasks, and how many runs each has."""

    def map(self, action: Callable[..., _Value], *items: Sequence[Any]) -> list[_Value]:
        """Do the same with all items, such as the parts of arms."""

    def is_known(self, field: str) -> bool:
        """Whether it is known without reading them that no run lacks a field."""


@runtime_checkable
class StoredAttempts(Protocol):
    """All attempts of an arm that are stored as columns, apart by whether they count."""

    @property
    def counted(self) -> Sequence[Score]:
        """The runs that count."""

    @property
    def excluded(self) -> Sequence[Score]:
        """The runs that do not."""

    @property
    def kept(self) -> dict[object, Any]:
        """What was computed of the arm, for others who compare with it."""


def is_stored(runs: Sequence[Score]) -> bool:
    """Whether runs are stored as columns."""
    return isinstance(runs, StoredColumns | StoredAttempts)


def numbers_of(runs: Sequence[Score], field: str) -> Column:
    """A field of every run as a number; NaN where it is unknown. Moments are in seconds."""
    if isinstance(runs, ScoredRuns):
        return runs.keep("numbers", field, _numbers)
    return runs.numbers(field) if isinstance(runs, StoredColumns) else _numbers(runs, field)


def _numbers(runs: Sequence[Score], field: str) -> Column:
    values = map(attrgetter(field), runs)
    if field == "started_at":
        return as_column(None if moment is None else moment.timestamp() for moment in values)
    return as_column(values)


def as_column(values: Iterable[float | None]) -> Column:
    """Numbers as a column that cannot be written into; NaN where one is None."""
    found = list(values)
    if found and found[0] is None and found.count(None) == len(found):
        column = np.full(len(found), np.nan)
    else:
        # numpy reads None as NaN.
        column = np.fromiter(found, np.float64, len(found))
    column.flags.writeable = False
    return column


def names_of(runs: Sequence[Score], field: str) -> Names:
    """The different values of a field that can be compared."""
    if isinstance(runs, ScoredRuns):
        return runs.keep("names", field, _names)
    return Names(*runs.names(field)) if isinstance(runs, StoredColumns) else _names(runs, field)


def _names(runs: Sequence[Score], field: str) -> Names:
    values = list(map(attrgetter(field), runs))
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    codes = np.fromiter(map(places.__getitem__, values), np.int32, len(values))
    codes.flags.writeable = False
    return Names(tuple(places), codes)


def count_values(runs: Sequence[Score], field: str) -> Counter[Any]:
    """How many runs have each value of a field."""
    if isinstance(runs, ScoredRuns):
        return names_of(runs, field).counts()
    return runs.counts(field) if isinstance(runs, StoredColumns) else Counter(map(attrgetter(field), runs))


def count_reasons(runs: Sequence[Score]) -> Iterator[tuple[Mapping[str, str], int]]:
    """Why metrics are unknown, and in how many runs. Runs that lack the same share one mapping, so there are few."""
    if isinstance(runs, StoredColumns):
        yield from ((_decode_reasons(text), number) for text, number in runs.counts("reasons").items())
        return
    yield from runs.keep("reasons", "reasons", _count_reasons) if isinstance(runs, ScoredRuns) else _count_reasons(runs)


def _count_reasons(runs: Sequence[Score], field: str = "reasons") -> list[tuple[Mapping[str, str], int]]:
    mappings = list(map(attrgetter(field), runs))
    by_id = dict(zip(map(id, mappings), mappings, strict=True))
    return [(by_id[key], number) for key, number in Counter(map(id, mappings)).items()]


def last_by_task(runs: Sequence[Score], field: str) -> Iterator[tuple[str, Any]]:
    """The value of every task's last run."""
    tasks, found = names_of(runs, "task_id"), names_of(runs, field)
    codes = np.zeros(len(tasks.values), dtype=np.int32)
    codes[tasks.codes] = found.codes
    return zip(tasks.values, map(found.values.__getitem__, codes.tolist()), strict=True)


def counts_by_place(tasks: Sequence[str], counts: Mapping[str, int]) -> Index:
    """The counts of these tasks; 0 where there is none. Few counts are looked up in many tasks that are in order."""
    found = np.zeros(len(tasks), dtype=np.intp)
    for place, number in zip(find_tasks(tasks, counts), counts.values(), strict=True):
        if place is not None:
            found[place] = number
    return found


def find_tasks(tasks: Sequence[str], wanted: Collection[str]) -> list[int | None]:
    """The place of each of a few wanted tasks among many, which are usually in order; None where it is not there."""
    places = [bisect_left(tasks, task) for task in wanted]
    if all(place < len(tasks) and tasks[place] == task for place, task in zip(places, wanted, strict=True)):
        return [*places]
    if all(map(lt, tasks, islice(tasks, 1, None))):
        pairs = zip(places, wanted, strict=True)
        return [place if place < len(tasks) and tasks[place] == task else None for place, task in pairs]
    known = {task: place for place, task in enumerate(tasks)}
    return [known.get(task) for task in wanted]


def mean_by_owner(column: Column, owners: Index, number: int) -> Column:
    """Mean over the known values of every owner; NaN where there is none."""
    known = ~np.isnan(column)
    counts = np.bincount(owners[known], minlength=number)
    sums = np.bincount(owners[known], column[known], number).astype(np.float64)
    means: Column = np.full(number, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def running_total(numbers: Column) -> float:
    """The sum in the order of the runs, as Python adds numbers up."""
    return float(np.cumsum(numbers)[-1]) if len(numbers) else 0.0


class Computed(Mapping[str, _Value]):
    """Values by name that are computed when they are asked for, and kept unless they are large."""

    def __init__(self, compute: Mapping[str, Callable[[], _Value]], *, keep: bool = True) -> None:
        self._compute = compute
        self._keep = keep
        self._found: dict[str, _Value] = {}

    def __getitem__(self, name: str) -> _Value:
        if name in self._found:
            return self._found[name]
        value = self._compute[name]()
        if self._keep:
            self._found[name] = value
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._compute  # without computing it, which a mapping does otherwise

    def __iter__(self) -> Iterator[str]:
        return iter(self._compute)

    def __len__(self) -> int:
        return len(self._compute)


def join_runs(runs: Sequence[Score], more: Sequence[Score]) -> Sequence[Score]:
    """These runs and some more."""
    return JoinedRuns(runs, more) if isinstance(runs, ScoredRuns | StoredColumns) else [*runs, *more]


class JoinedRuns(Sequence[Score]):
    """Runs whose columns are at hand, and some more after them."""

    def __init__(self, stored: Sequence[Score], more: Sequence[Score]) -> None:
        self._parts = (stored, more)

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[Score]:
        return chain.from_iterable(self._parts)

    @overload
    def __getitem__(self, place: int) -> Score: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Score]: ...
    def __getitem__(self, place: int | slice) -> Score | Sequence[Score]:
        return list(self)[place]

    def numbers(self, field: str) -> Column:
        """A field of every run as a number."""
        return np.concatenate([numbers_of(runs, field) for runs in self._parts])

    def names(self, field: str) -> tuple[Sequence[Any], Codes]:
        """The different values of a field, and the place of every run's own among them."""
        stored, more = (names_of(runs, field) for runs in self._parts)
        places = {value: place for place, value in enumerate(stored.values)}
        mapped = np.array([places.setdefault(value, len(places)) for value in more.values], dtype=np.int32)
        return list(places), np.concatenate([stored.codes, mapped[more.codes]])

    def counts(self, field: str) -> Counter[Any]:
        """How many runs have each value of a field."""
        return sum((count_values(runs, field) for runs in self._parts), Counter())


class ChosenRuns(Sequence[Score]):
    """Some of many runs, whose columns are those of the others."""

    def __init__(self, runs: Sequence[Score], chosen: NDArray[np.bool_]) -> None:
        self._runs = runs
        self._chosen = chosen

    def __len__(self) -> int:
        return int(np.count_nonzero(self._chosen))

    def __iter__(self) -> Iterator[Score]:
        return compress(self._runs, self._chosen.tolist())

    @overload
    def __getitem__(self, place: int) -> Score: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Score]: ...
    def __getitem__(self, place: int | slice) -> Score | Sequence[Score]:
        return list(self)[place]

    def numbers(self, field: str) -> Column:
        """A field of every run as a number."""
        return numbers_of(self._runs, field)[self._chosen]

    def names(self, field: str) -> tuple[Sequence[Any], Codes]:
        """The different values of a field, and the place of every run's own among them."""
        found = names_of(self._runs, field)
        return found.values, found.codes[self._chosen]

    def counts(self, field: str) -> Counter[Any]:
        """How many runs have each value of a field."""
        return Names(*self.names(field)).counts()
