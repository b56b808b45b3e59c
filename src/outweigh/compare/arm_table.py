"""One arm's counted runs as columns, composites included."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from outweigh.compare.metric import COMPOSITES, METRICS
from outweigh.score.score import Score

Column = NDArray[np.float64]
Index = NDArray[np.intp]
CompositeOf = Callable[[Score], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmTable:
    """`columns[metric][i]` belongs to `runs[i]`; NaN stands for unknown, which is safe because records are finite.

    `tasks` are those with a counted run, and `task_of[i]` is the place of run i's task among them. Excluded runs are
    kept apart and in no column; so are attempts that a later one superseded.
    """

    name: str
    runs: Sequence[Score]
    excluded: Sequence[Score]
    tasks: tuple[str, ...]
    task_of: Index
    columns: Mapping[str, Column]
    superseded: Sequence[Score] = ()

    @property
    def attempts(self) -> Iterator[Score]:
        """Everything that was paid for, whatever became of it."""
        return chain(self.runs, self.excluded, self.superseded)

    def known_per_task(self, metric: str) -> Index:
        """How many runs of each task know the metric."""
        known = ~np.isnan(self.columns[metric])
        return np.bincount(self.task_of[known], minlength=len(self.tasks))

    def sum_per_task(self, metric: str) -> Column:
        """Sum over the runs of each task that know the metric."""
        column = self.columns[metric]
        known = ~np.isnan(column)
        sums: Column = np.bincount(self.task_of[known], column[known], len(self.tasks)).astype(np.float64)
        return sums

    def mean_per_task(self, metric: str) -> Column:
        """Mean over the runs of each task that know the metric; NaN where none does."""
        counts = self.known_per_task(metric)
        means = np.full(len(self.tasks), np.nan)
        np.divide(self.sum_per_task(metric), counts, out=means, where=counts > 0)
        return means

    def runs_per_task(self) -> Index:
        """How many counted runs each task has."""
        return np.bincount(self.task_of, minlength=len(self.tasks))


def tabulate(name: str, scores: Sequence[Score], *, composite: CompositeOf, composite_even: CompositeOf) -> ArmTable:
    """Lay an arm out as columns, dropping nothing: what is not counted goes to `excluded`."""
    runs = [score for score in scores if score.counted]
    tasks = {task: place for place, task in enumerate(dict.fromkeys(run.task_id for run in runs))}
    columns = {
        metric.name: _column(getattr(run, metric.name) for run in runs)
        for metric in METRICS
        if metric.name not in COMPOSITES
    }
    return ArmTable(
        name=name,
        runs=runs,
        excluded=[score for score in scores if not score.counted],
        tasks=tuple(tasks),
        task_of=np.fromiter((tasks[run.task_id] for run in runs), np.intp, len(runs)),
        columns={
            **columns,
            "composite": _column(map(composite, runs)),
            "composite_even": _column(map(composite_even, runs)),
        },
    )


def _column(values: Iterable[float | None]) -> Column:
    return np.fromiter((np.nan if value is None else value for value in values), np.float64)
