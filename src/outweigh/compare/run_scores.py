"""Scores of runs in memory, with the columns that were made of them. Needs no numpy."""

from collections.abc import Callable, Iterable
from functools import cached_property
from operator import attrgetter
from typing import Self, TypeVar, cast

from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.score.run_score import Score

_Column = TypeVar("_Column")


class ScoredRuns(tuple[Score, ...]):
    """Scores that never change, so that a column of them is made once and kept: a verdict asks for most of them again.

    `compare/run_columns.py` makes the columns.
    """

    def __new__(cls, runs: Iterable[Score]) -> Self:
        """The same runs; those that are such a tuple already keep their columns."""
        return runs if isinstance(runs, cls) else super().__new__(cls, runs)

    @cached_property
    def _columns(self) -> dict[tuple[str, str], object]:
        return {}

    def keep(self, kind: str, field: str, make: Callable[[Self, str], _Column]) -> _Column:
        """The column of this kind for a field, which is made when it is first asked for."""
        if (found := self._columns.get((kind, field))) is None:
            found = self._columns[kind, field] = make(self, field)
        return cast(_Column, found)

    @cached_property
    def apart(self) -> "tuple[ScoredRuns, ScoredRuns]":
        """The runs that count, and those that do not."""
        if EXCLUDED_STATUSES.isdisjoint(map(attrgetter("status"), self)):
            return self, ScoredRuns(())
        return (
            ScoredRuns([score for score in self if score.status not in EXCLUDED_STATUSES]),
            ScoredRuns([score for score in self if score.status in EXCLUDED_STATUSES]),
        )


def has_any(runs: Iterable[Score], field: str) -> bool:
    """Whether a field of any run is not empty."""
    return runs.keep("any", field, _has_any) if isinstance(runs, ScoredRuns) else _has_any(runs, field)


def _has_any(runs: Iterable[Score], field: str) -> bool:
    return any(map(attrgetter(field), runs))
