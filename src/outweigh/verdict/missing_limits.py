"""What a missing value may be: from 0 to 1 for a rate, else between the amounts that are known of its task.

Where no run of a task knows an amount, it may be any that is known of the suite.
"""

from functools import partial

import numpy as np

from outweigh.compare.arm_table import ArmTable, Column, Index
from outweigh.verdict.expected_runs import RATES, ExpectedRuns, Limits


def missing_limits(arms: tuple[ExpectedRuns, ExpectedRuns], metric: str) -> Limits:
    """The smallest and the largest that a missing value can be, for every task that lacks one."""
    places = np.union1d(*(arm.missing(metric).places for arm in arms))
    if metric in RATES:
        # A task without checks, or without judges, has nothing that a run could know.
        asked = np.logical_or(*(arm.known(metric)[places] > 0 for arm in arms))
        return Limits(places, np.where(asked, 0.0, np.nan), np.where(asked, 1.0, np.nan))
    low, high = _extremes(arms, metric, places)
    some, more = high > -np.inf, high > 0
    if more.all():
        return Limits(places, low, high)
    # A task of which no run knows the amount may have any that is known of another.
    lows, highs = _extremes(arms, metric, np.arange(len(arms[0].tasks)))
    known = highs > 0
    if not known.any():
        none = np.where(some, 0.0, np.nan)
        return Limits(places, none, none)
    least, most = lows[known].min(), highs[known].max()
    return Limits(places, np.where(more, low, np.where(some, 0.0, least)), np.where(some, high, most))


def _extremes(arms: tuple[ExpectedRuns, ExpectedRuns], metric: str, places: Index) -> tuple[Column, Column]:
    """The least amount that is not zero, which has no logarithm, and the largest of all, of the tasks at these places.

    Infinite where there is none.
    """
    low, high = np.full(len(places), np.inf), np.full(len(places), -np.inf)
    for expected in arms:
        own = places
        if expected.places is not None:
            where = np.full(len(expected.tasks), -1)
            where[expected.places] = np.arange(len(expected.places))
            own = where[places]
        has = own >= 0
        lows, highs = _extremes_of_arm(expected.arm, metric, own[has])
        low[has], high[has] = np.minimum(low[has], lows), np.maximum(high[has], highs)
    return low, high


def _extremes_of_arm(arm: ArmTable, metric: str, tasks: Index) -> tuple[Column, Column]:
    """The same of one arm, for some of its tasks in order or in any."""
    order = np.argsort(tasks, kind="stable")
    ends = np.cumsum([len(part.tasks) for part in arm.parts or (arm,)])
    cuts = np.searchsorted(tasks[order], ends)
    starts = (0, *ends[:-1].tolist())
    chosen = [tasks[some] - start for some, start in zip(np.split(order, cuts[:-1]), starts, strict=True)]
    found = arm.each_part(partial(_extremes_of_part, metric=metric), chosen)
    low, high = np.empty(len(tasks)), np.empty(len(tasks))
    low[order], high[order] = (np.concatenate([part[side] for part in found]) for side in range(2))
    return low, high


def _extremes_of_part(arm: ArmTable, tasks: Index, *, metric: str) -> tuple[Column, Column]:
    low, high = np.full(len(tasks), np.inf), np.full(len(tasks), -np.inf)
    if not len(tasks):
        return low, high
    rows, owners = _rows_of(arm, tasks)
    values = arm.columns[metric][rows]
    known = ~np.isnan(values)
    values, places = values[known], owners[known]
    np.minimum.at(low, places[values > 0], values[values > 0])
    np.maximum.at(high, places, values)
    return low, high


def _rows_of(arm: ArmTable, tasks: Index) -> tuple[Index, Index]:
    """The rows of the runs of some tasks, and the place of each run's task among these."""
    if arm.rows is None:
        chosen = np.full(len(arm.tasks), -1)
        chosen[tasks] = np.arange(len(tasks))
        owners = chosen[arm.task_of]
        rows = np.flatnonzero(owners >= 0)
        return rows, owners[rows]
    sizes = arm.rows[tasks]
    before = np.cumsum(arm.rows)[tasks] - np.cumsum(sizes)  # the rows before these that are not chosen
    return np.arange(sizes.sum()) + np.repeat(before, sizes), np.repeat(np.arange(len(tasks)), sizes)
