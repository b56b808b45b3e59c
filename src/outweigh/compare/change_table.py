"""Tables made of tables: one column alone, some tasks alone, the tasks of two."""

from collections.abc import Callable, Set
from functools import partial
from itertools import compress

import numpy as np
from msgspec.structs import replace

from outweigh.compare.arm_table import ArmTable, Column, Index, ranges_of
from outweigh.compare.run_columns import Computed
from outweigh.compare.run_scores import ScoredRuns


def with_column(arm: ArmTable, name: str, column_of: Callable[[ArmTable], Column]) -> ArmTable:
    """The same arm with this column alone."""
    return replace(
        arm,
        columns=Computed({name: partial(column_of, arm)}, keep=False),
        kept={},
        parts=[with_column(part, name, column_of) for part in arm.parts],
        joined=None
        if arm.joined is None
        else (with_column(arm.joined[0], name, column_of), with_column(arm.joined[1], name, column_of)),
    )


def keep_tasks(arm: ArmTable, tasks: Set[str]) -> ArmTable:
    """The same arm as if it had been run on these tasks only."""
    kept = np.array([task in tasks for task in arm.tasks], dtype=bool)
    rows = kept[arm.task_of] if len(kept) else np.zeros(0, dtype=bool)
    places: Index = np.cumsum(kept) - 1
    return replace(
        arm,
        runs=ScoredRuns(compress(arm.runs, rows)),
        excluded=[score for score in arm.excluded if score.task_id in tasks],
        superseded=[score for score in arm.superseded if score.task_id in tasks],
        tasks=tuple(compress(arm.tasks, kept)),
        owners=places[arm.task_of[rows]],
        rows=None,
        parts=(),
        joined=None,
        kept={},
        columns={name: column[rows] for name, column in arm.columns.items()},
        ranges={name: (low[rows], high[rows]) for name, (low, high) in arm.ranges.items()},
    )


def join_tables(one: ArmTable, other: ArmTable) -> ArmTable:
    """One arm on the tasks of both tables, which share none and have the same columns."""
    return replace(
        one,
        runs=[*one.runs, *other.runs],
        excluded=[*one.excluded, *other.excluded],
        superseded=[*one.superseded, *other.superseded],
        stale=[*one.stale, *other.stale],
        tasks=(*one.tasks, *other.tasks),
        owners=np.concatenate([one.task_of, other.task_of + len(one.tasks)]),
        rows=None,
        parts=(),
        joined=None,
        kept={},
        columns={name: np.concatenate([column, other.columns[name]]) for name, column in one.columns.items()},
        ranges=ranges_of([*one.runs, *other.runs]),
    )
