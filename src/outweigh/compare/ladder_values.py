"""The means of every task, by metric and configuration, for the figures of a ladder; and pools of runs."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from outweigh.compare.arm_table import ArmTable, Column
from outweigh.stats.sample import median

Matrix = NDArray[np.float64]


class TaskMeans(Struct, frozen=True, kw_only=True, eq=False):
    """`values[metric][i, t]` is the mean of configuration i over its runs of task t; NaN where none knows it.

    `families` has the family of every task where the records name several.
    """

    tasks: tuple[str, ...]
    values: Mapping[str, Matrix]
    families: tuple[str, ...] | None

    def each_once(self, rows: Sequence[int]) -> dict[str, Column]:
        """The mean of some configurations, each counted once, for every task and metric."""
        return {name: mean_of_known(matrix[list(rows)]) for name, matrix in self.values.items()}


def task_means(tables: Sequence[ArmTable], extra: Mapping[str, Sequence[Mapping[str, float]]]) -> TaskMeans:
    """Lay out the means of all configurations over one list of tasks.

    `extra` are figures that are no metric: for each configuration, the means by task.
    """
    tasks = tuple(dict.fromkeys(task for table in tables for task in table.tasks))
    place = {task: index for index, task in enumerate(tasks)}
    values = {name: np.full((len(tables), len(tasks)), np.nan) for name in tables[0].columns}
    for row, table in enumerate(tables):
        columns = [place[task] for task in table.tasks]
        for name, matrix in values.items():
            matrix[row, columns] = table.mean_per_task(name)
    for name, rows in extra.items():
        matrix = np.full((len(tables), len(tasks)), np.nan)
        for row, means in enumerate(rows):
            for task, mean in means.items():
                matrix[row, place[task]] = mean
        values[name] = matrix
    return TaskMeans(tasks=tasks, values=values, families=_families(tables, tasks))


def mean_of_known(matrix: Matrix) -> Column:
    """The mean of each column over the rows that know it; NaN where none does."""
    known = ~np.isnan(matrix)
    counts = known.sum(axis=0)
    means = np.full(matrix.shape[1], np.nan)
    np.divide(np.where(known, matrix, 0.0).sum(axis=0), counts, out=means, where=counts > 0)
    return means


def middle(column: Column, basis: str) -> float | None:
    """The median of the runs' quality; of passes the rate, because a median of 0 and 1 says next to nothing."""
    known = column[~np.isnan(column)]
    if not known.size:
        return None
    return float(known.mean()) if basis == "passed" else median(known).value


def _families(tables: Iterable[ArmTable], tasks: Sequence[str]) -> tuple[str, ...] | None:
    named = {run.task_id: run.family or run.task_id for table in tables for run in table.runs}
    return tuple(named[task] for task in tasks) if 1 < len(set(named.values())) < len(named) else None


def pool_tables(name: str, tables: Sequence[ArmTable]) -> ArmTable:
    """All runs of several arms as those of one."""
    if len(tables) == 1:
        return replace(tables[0], name=name)
    tasks = tuple(dict.fromkeys(task for table in tables for task in table.tasks))
    place = {task: index for index, task in enumerate(tasks)}
    owners = [np.array([place[task] for task in table.tasks], dtype=np.intp)[table.task_of] for table in tables]
    ends = dict.fromkeys(key for table in tables for key in table.ranges)
    return replace(
        tables[0],
        name=name,
        runs=[run for table in tables for run in table.runs],
        excluded=[run for table in tables for run in table.excluded],
        superseded=[run for table in tables for run in table.superseded],
        stale=[run for table in tables for run in table.stale],
        tasks=tasks,
        owners=np.concatenate(owners),
        rows=None,
        parts=(),
        kept={},
        columns={key: np.concatenate([table.columns[key] for table in tables]) for key in tables[0].columns},
        ranges={key: (_ends(tables, key, 0), _ends(tables, key, 1)) for key in ends},
    )


def _ends(tables: Sequence[ArmTable], key: str, side: int) -> Column:
    """One end of an estimated metric; NaN for the runs of arms that estimate nothing."""
    return np.concatenate(
        [table.ranges[key][side] if key in table.ranges else np.full(len(table.runs), np.nan) for table in tables]
    )
