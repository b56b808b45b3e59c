"""Intervals over tasks of statistics that are no means, by leaving out one task at a time.

Pseudo-values with Student's t on T - 1 degrees of freedom: with 5 to 20 tasks this covers better than resampling.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.distributions import t_quantile
from outweigh.stats.estimate import Estimate, Interval, Unit, unknown_estimate
from outweigh.stats.sample import Sample, has_no_spread, sample_deviation

FEWEST_TASKS = 5
"""With fewer tasks no interval is given: three or four values do not show how much tasks differ."""
FEW_TASKS = 10
MOST_GROUPS = 200
"""Of more tasks than this, several are left out together: another value would not make the interval better."""

_INTERVAL_METHOD = "task jackknife, Student t"


def jackknife_estimate(
    point: float, without: Callable[[NDArray[np.intp]], float], *, tasks: int, level: float, method: str
) -> Estimate:
    """A statistic that is at most 1, with its interval; `without(places)` is its value when these tasks are left out.

    Where it cannot be computed without some tasks, `without` returns NaN.
    """
    if tasks < FEWEST_TASKS:
        return unknown_estimate(few_tasks_reason(tasks), n=tasks, unit=Unit.TASK, method=method, point=point)
    groups = min(tasks, MOST_GROUPS)
    left_out = np.array([without(np.arange(first, tasks, groups)) for first in range(groups)])
    if reason := _defect(left_out):
        return unknown_estimate(reason, n=tasks, unit=Unit.TASK, method=method, point=point)
    error = sample_deviation(groups * point - (groups - 1) * left_out) / math.sqrt(groups)
    half = t_quantile((1 + level) / 2, groups - 1) * error
    return Estimate(
        point=point,
        interval=Interval(low=point - half, high=min(point + half, 1.0), level=level, method=_INTERVAL_METHOD),
        standard_error=error,
        n=tasks,
        unit=Unit.TASK,
        method=method,
        warnings=warn_of_few_tasks(tasks),
    )


def few_tasks_reason(tasks: int) -> str:
    """Why there is no interval."""
    count = "1 task" if tasks == 1 else f"{tasks} tasks"
    return f"no interval, because all runs are of {count}; an interval needs {FEWEST_TASKS} tasks or more"


def warn_of_few_tasks(tasks: int) -> tuple[str, ...]:
    """Say on how few tasks an interval rests."""
    return (f"the interval rests on only {tasks} tasks",) if tasks < FEW_TASKS else ()


def _defect(left_out: Sample) -> str | None:
    if np.isnan(left_out).any():
        return "no interval, because without one of the tasks all ratings are the same value"
    if has_no_spread(left_out, 1.0):
        return "no interval, because it is the same whichever task is left out"
    return None
