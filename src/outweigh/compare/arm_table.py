"""One arm's counted runs as columns, in memory or stored in parts, and what they add up to task by task."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from outweigh.compare.run_columns import (
    StoredParts,
    as_column,
    count_values,
    find_tasks,
    is_stored,
    names_of,
)
from outweigh.compare.run_scores import has_any
from outweigh.model.usage import CostProvenance
from outweigh.score.metrics import METRICS, Metric
from outweigh.score.run_score import Score

Column = NDArray[np.float64]
Index = NDArray[np.intp]
_Result = TypeVar("_Result")

_KEPT_BYTES = 4 * 10**8
"""So much of the sums of an arm in parts is kept, which is enough for all gates of five million tasks."""

_MOST_IN_A_BYTE = 127

_AMOUNTS = frozenset(metric.name for metric in METRICS if metric.unit in ("dollars", "seconds", "count"))
"""Metrics that are compared by their logs as well."""


class TaskSums(Struct, frozen=True, kw_only=True, eq=False):
    """How many runs of every task know a number, and what these numbers add up to."""

    counts: Index
    sums: Column

    @property
    def means(self) -> Column:
        """The mean of every task; NaN where no run knows the number."""
        with np.errstate(invalid="ignore"):
            if self.counts.all():
                of_all: Column = self.sums / self.counts
                return of_all
            means: Column = np.full(len(self.counts), np.nan)
            np.divide(self.sums, self.counts, out=means, where=self.counts > 0)
        return means


class ArmTable(Struct, frozen=True, kw_only=True):
    """`columns[metric][i]` belongs to `runs[i]`; NaN stands for unknown, which is safe because records are finite.

    `tasks` are those with a counted run. `owners[i]` is the place of run i's task among them; where the runs of a task
    stand together, `rows` has their number instead. Excluded runs are kept apart and in no column; so are attempts that
    a later one superseded, and stale reused runs. `ranges` has the lowest and the highest value of metrics that are
    estimated in some runs; NaN where a run's value is not.

    An arm that is stored as columns has `parts`, each of whole tasks, and is reduced one after the other. `added` has
    the sums of metrics to which runs were added that stand in no column, for numbers and for their logs. An arm that
    is `joined` has the runs of two tables; the tasks of the first come first, in their order, and the second has all.
    `kept` is what was computed before, which tables with the same runs and columns share.
    """

    name: str
    runs: Sequence[Score]
    excluded: Sequence[Score]
    tasks: tuple[str, ...]
    columns: Mapping[str, Column]
    owners: Index | Callable[[], Index] | None = None
    rows: Index | None = None
    metrics: tuple[Metric, ...] = METRICS
    superseded: Sequence[Score] = ()
    stale: Sequence[Score] = ()
    ranges: Mapping[str, tuple[Column, Column]] = {}
    parts: Sequence["ArmTable"] = ()
    added: Mapping[str, Callable[[bool], TaskSums]] = {}
    joined: "tuple[ArmTable, ArmTable] | None" = None
    kept: dict[object, Any] = field(default_factory=dict)

    @property
    def attempts(self) -> Iterator[Score]:
        """Everything that was paid for, whatever became of it."""
        return chain(self.runs, self.excluded, self.superseded)

    @property
    def task_of(self) -> Index:
        """The place of every run's task."""
        if self.owners is not None:
            return self.owners() if callable(self.owners) else self.owners
        rows = self.runs_per_task()
        return np.repeat(np.arange(len(rows)), rows)

    def each_part(self, reduce: Callable[..., _Result], *items: Sequence[Any]) -> list[_Result]:
        """Reduce the parts of the arm, each with its item, or the arm itself where it has no parts."""
        if self.parts and isinstance(self.runs, StoredParts):
            return self.runs.map(reduce, self.parts, *items)
        return list(map(reduce, (self,), *items))

    def sums(self, metric: str, *, logs: bool = False) -> TaskSums:
        """Add a metric up over the runs of each task that know it, or the logs of it."""
        if metric in self.added:
            return self.added[metric](logs)
        if self.parts and metric in _AMOUNTS:
            # Who asks for one of them asks for the other too, and so the column is read once.
            return self.sums_of_each((metric, f"log {metric}"), partial(_with_logs, metric=metric))[logs]
        name, column_of = (f"log {metric}", _logs_of) if logs else (metric, _column_of)
        return self.sums_of(name, partial(column_of, metric=metric))

    def sums_of(self, name: str, column_of: Callable[["ArmTable"], Column]) -> TaskSums:
        """Add up a column that is made of each part, and keep the sums by name."""
        return self.sums_of_each((name,), lambda part: (column_of(part),))[0]

    def sums_of_each(
        self, names: Sequence[str], columns_of: Callable[["ArmTable"], Sequence[Column]]
    ) -> list[TaskSums]:
        """The same for columns that are made together, of what is read once."""
        kept: dict[str, TaskSums] = self.kept.setdefault("sums", {})
        if all(name in kept for name in names):
            return [_unpacked(kept[name]) for name in names]
        added = self.add_up(names, columns_of)
        kept.update(zip(names, map(self._packed, added) if self.parts else added, strict=True))
        while len(kept) > len(names) and (self.joined is not None or (self.parts and _bytes_of(kept) > _KEPT_BYTES)):
            del kept[next(iter(kept))]
        return added

    def add_up(self, names: Sequence[str], columns_of: Callable[["ArmTable"], Sequence[Column]]) -> list[TaskSums]:
        """Add such columns up without keeping the sums."""
        if self.joined is not None:
            arm, more = self.joined
            found = arm.sums_of_each(names, columns_of)
            return [_with_more(sums, more, column) for sums, column in zip(found, columns_of(more), strict=True)]
        parts = self.each_part(lambda part: [_sums_by_task(part, column) for column in columns_of(part)])
        return parts[0] if len(parts) == 1 else [self._sums_of_parts(each) for each in zip(*parts, strict=True)]

    def _packed(self, found: TaskSums) -> TaskSums:
        """The same in as few bytes as it takes: most counts are small whole numbers, and so are sums of passes."""
        counts = found.counts if found.counts is self.rows else _smallest(found.counts)
        return TaskSums(counts=counts, sums=_smallest(found.sums))

    def _sums_of_parts(self, found: Sequence[TaskSums]) -> TaskSums:
        complete = all(each.counts is part.rows for each, part in zip(found, self.parts, strict=True))
        return TaskSums(
            counts=self.runs_per_task() if complete else np.concatenate([each.counts for each in found]),
            sums=np.concatenate([each.sums for each in found]),
        )

    def keep(self, name: str, compute: Callable[["ArmTable"], _Result], beside: object = None) -> _Result:
        """What is computed of this table, and of something `beside` it, which is one object each time.

        It is computed once, unless the runs are stored as columns: of these there may be more than fit into memory.
        """
        if is_stored(self.runs):
            return compute(self)
        key = name, id(beside)
        if key not in self.kept:
            self.kept[key] = beside, compute(self)
        found: _Result = self.kept[key][-1]
        return found

    def known_per_task(self, metric: str) -> Index:
        """How many runs of each task know the metric."""
        if self.parts and metric not in self.added and all_know(self, [metric]):
            return self.runs_per_task()
        return self.sums(metric).counts

    def sum_per_task(self, metric: str) -> Column:
        """Sum over the runs of each task that know the metric."""
        return self.sums(metric).sums

    def mean_per_task(self, metric: str) -> Column:
        """Mean over the runs of each task that know the metric; NaN where none does."""
        return self.sums(metric).means

    def lost_places(self, tasks: tuple[str, ...]) -> dict[str, int | None]:
        """Where the tasks of excluded runs are among these tasks; None where one is not there."""
        key = "lost", id(tasks), id(self.excluded)
        if key not in self.kept:
            lost = names_of(self.excluded, "task_id").values
            self.kept[key] = tasks, self.excluded, dict(zip(lost, find_tasks(tasks, lost), strict=True))
        found: dict[str, int | None] = self.kept[key][-1]
        return found

    def lost_per_task(self, tasks: tuple[str, ...]) -> Index:
        """How many runs of each of these tasks are excluded; those of other tasks are not counted."""
        places = self.lost_places(tasks)
        found = np.zeros(len(tasks) + 1, dtype=np.intp)
        if places:
            lost = names_of(self.excluded, "task_id")
            rows = [-1 if place is None else place for place in map(places.__getitem__, lost.values)]
            found[rows] = np.bincount(lost.codes, minlength=len(rows))
        return found[:-1]

    def runs_per_task(self) -> Index:
        """How many counted runs each task has."""
        return np.bincount(self.task_of, minlength=len(self.tasks)) if self.rows is None else self.rows


def _smallest(values: NDArray[Any]) -> NDArray[Any]:
    if not len(values) or not (values.min() >= 0 and values.max() <= _MOST_IN_A_BYTE):
        return values
    small = values.astype(np.int8)
    return small if np.array_equal(small, values) else values


def _unpacked(found: TaskSums) -> TaskSums:
    return TaskSums(counts=found.counts.astype(np.intp, copy=False), sums=found.sums.astype(np.float64, copy=False))


def _bytes_of(kept: Mapping[str, TaskSums]) -> int:
    return sum(each.sums.nbytes for each in kept.values())


def _column_of(arm: ArmTable, *, metric: str) -> Column:
    return arm.columns[metric]


def _logs_of(arm: ArmTable, *, metric: str) -> Column:
    return _log(arm.columns[metric])


def _with_logs(arm: ArmTable, *, metric: str) -> tuple[Column, Column]:
    column = arm.columns[metric]
    return column, _log(column)


def _log(column: Column) -> Column:
    # A zero has no logarithm: its task cannot be compared by ratio, and shows up as unknown.
    with np.errstate(divide="ignore"):
        return np.log(column)


def _with_more(sums: TaskSums, more: ArmTable, column: Column) -> TaskSums:
    """The sums with those of a few more runs, whose table has more tasks after those of the sums."""
    known = ~np.isnan(column)
    new = len(more.tasks) - len(sums.counts)
    if not new and not known.any():
        return sums
    tasks, owners = np.unique(more.task_of[known], return_inverse=True)
    counts = np.concatenate([sums.counts, np.zeros(new, dtype=np.intp)])
    found = np.concatenate([sums.sums, np.zeros(new)])
    counts[tasks] += np.bincount(owners, minlength=len(tasks))
    found[tasks] += np.bincount(owners, column[known], len(tasks))
    return TaskSums(counts=counts, sums=found)


def _sums_by_task(arm: ArmTable, column: Column) -> TaskSums:
    unknown = np.isnan(column)
    if arm.rows is not None and len(column):
        # Zeros for what is unknown leave the sums of other tasks what they are to the last bit, so parts do not matter.
        starts, some = np.cumsum(arm.rows) - arm.rows, unknown.any()
        sums = np.add.reduceat(np.where(unknown, 0.0, column) if some else column, starts)
        return TaskSums(counts=np.add.reduceat(~unknown, starts, dtype=np.intp) if some else arm.rows, sums=sums)
    known = ~unknown
    owners = arm.task_of[known]
    counts = np.bincount(owners, minlength=len(arm.tasks))
    return TaskSums(counts=counts, sums=np.bincount(owners, column[known], len(arm.tasks)).astype(np.float64))


def ranges_of(runs: Sequence[Score]) -> Mapping[str, tuple[Column, Column]]:
    """The ends of every metric that some run estimates."""
    if not has_any(runs, "ranges"):
        return {}
    names = dict.fromkeys(name for run in runs if run.ranges for name in run.ranges)
    return {
        name: (
            as_column(run.ranges[name][0] if name in run.ranges else None for run in runs),
            as_column(run.ranges[name][1] if name in run.ranges else None for run in runs),
        )
        for name in names
    }


def checksums_by_task(arm: ArmTable) -> dict[str, set[str]]:
    """The known checksums of every task, as its runs name them."""
    return arm.keep("checksums", _checksums_by_task)


def _checksums_by_task(arm: ArmTable) -> dict[str, set[str]]:
    if set(count_values(arm.runs, "task_checksum")) <= {None}:
        return {}
    tasks, checksums = names_of(arm.runs, "task_id"), names_of(arm.runs, "task_checksum")
    found: dict[str, set[str]] = {}
    pairs = tasks.codes.astype(np.int64) * len(checksums.values) + checksums.codes
    for pair in np.unique(pairs).tolist():
        task, checksum = divmod(pair, len(checksums.values))
        if checksums.values[checksum] is not None:
            found.setdefault(tasks.values[task], set()).add(checksums.values[checksum])
    return found


def cost_provenances(arm: ArmTable) -> set[CostProvenance]:
    """Where the costs of the runs whose cost is known come from."""
    everything = set(count_values(arm.runs, "cost_provenance"))
    if len(everything) < 2:
        return everything if arm.known_per_task("cost_usd").any() else set()
    return set().union(*arm.each_part(_known_provenances))


def _known_provenances(arm: ArmTable) -> set[CostProvenance]:
    found = names_of(arm.runs, "cost_provenance")
    known = ~np.isnan(arm.columns["cost_usd"])
    return {found.values[code] for code in np.unique(found.codes[known]).tolist()}


def estimated_runs(arm: ArmTable, metric: str | None = None) -> int:
    """How many counted runs estimate some metric, or this one. Runs that are stored as columns estimate none."""
    if is_stored(arm.runs) or not has_any(arm.runs, "ranges"):
        return 0
    return sum(bool(run.ranges) if metric is None else metric in run.ranges for run in arm.runs)


TRIGGER_RECALL, NO_FALSE_TRIGGER = "trigger_recall", "no_false_trigger"
"""Columns of trigger cases, which are no metrics: 1 where a skill fired as it should, and where it did not as it should
not. Each is unknown in runs of cases that expect the other.
"""


OTHER_COLUMNS = ("composite", "composite_even", "deciding_judge_score", TRIGGER_RECALL, NO_FALSE_TRIGGER)
"""Columns that are no metrics of stored runs, and are computed or unknown."""


def all_know(arm: ArmTable, metrics: Sequence[str]) -> bool:
    """Whether every run of an arm or part that is stored knows these metrics, by what its files say."""
    return (
        isinstance(arm.runs, StoredParts)
        and not {*metrics}.intersection(OTHER_COLUMNS)
        and all(arm.runs.is_known(metric) for metric in metrics)
    )
