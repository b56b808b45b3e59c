"""Mean, variance and number of an arm's runs, task by task."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from outweigh.compare.arm_table import ArmTable, Column, Index
from outweigh.stats.variance import TaskMoments, summarize_runs


def task_moments(arm: ArmTable, metric: str, *, logs: bool) -> TaskMoments:
    """Mean, variance and number of the runs that know the metric, for every task of the arm."""
    return TaskMoments(
        means=lambda: arm.sums(metric, logs=logs).means,
        variances=partial(_variances, arm, metric, logs=logs),
        counts=lambda: arm.sums(metric, logs=logs).counts,
    )


def shared_moments(arm: ArmTable, metric: str, shared: Index | None, *, logs: bool) -> TaskMoments:
    """The same for the tasks at these places; None for all of them."""
    moments = task_moments(arm, metric, logs=logs)
    return moments if shared is None else moments.select(shared)


def _variances(arm: ArmTable, metric: str, *, logs: bool) -> Column:
    """The variance of the runs of every task. It takes them all again, and hardly anybody asks."""

    def of_part(part: ArmTable) -> Column:
        column, owners = part.columns[metric], part.task_of
        known = ~np.isnan(column)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.log(column[known]) if logs else column[known]
            found: Column = summarize_runs(values, owners[known], len(part.tasks)).variances
            return found

    return np.concatenate(arm.each_part(of_part))


def select_tasks(moments: TaskMoments, keep: NDArray[np.bool_]) -> TaskMoments:
    """The moments of some tasks only; where all are chosen, the very same."""
    return moments if keep.all() else moments.select(keep)
