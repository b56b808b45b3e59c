"""One arm's runs of a metric, reduced to moments per task: in the metric's own unit, or as logs for ratios."""

import numpy as np
from numpy.typing import NDArray

from outweigh.compare.arm_table import ArmTable, Index
from outweigh.stats.variance import TaskMoments, summarize_runs


def task_moments(arm: ArmTable, metric: str, *, logs: bool) -> TaskMoments:
    """Mean, variance and number of the runs that know the metric, for every task of the arm."""
    column = arm.columns[metric]
    known = ~np.isnan(column)
    values, owners = column[known], arm.task_of[known]
    if logs:
        with np.errstate(divide="ignore"):
            values = np.log(values)
    # A zero has no logarithm: its task cannot be compared by ratio, and shows up as unknown.
    with np.errstate(invalid="ignore"):
        return summarize_runs(values, owners, len(arm.tasks))


def select_tasks(moments: TaskMoments, keep: Index | NDArray[np.bool_]) -> TaskMoments:
    """The moments of some tasks only, by place or by mask."""
    return TaskMoments(means=moments.means[keep], variances=moments.variances[keep], counts=moments.counts[keep])
