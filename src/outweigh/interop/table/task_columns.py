"""Which columns of a table together name its tasks: functions of several projects, or questions of several benchmarks,
can have one name.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

from outweigh.errors import quote_names
from outweigh.interop.column_names import name_words
from outweigh.interop.table.column_values import ColumnValues
from outweigh.interop.table.columns import COLUMN_JOINER

_AROUND_TASKS = frozenset(
    {"app", "application", "arch", "architecture", "benchmark", "binary", "category", "collection", "corpus", "course"}
    | {"dataset", "domain", "family", "lang", "language", "library", "metric", "module", "opt", "optimization"}
    | {"package", "platform", "project", "repo", "repository", "site", "split", "subject", "subset", "suite", "topic"}
    | {"website"}
)
"""Words for what has tasks of its own; only columns with one of these are joined to the name of a task."""

_LEAST_SHARED = 0.9
"""How much of the combinations every arm must have; what is chosen run by run is not the same in all arms."""


def finest_column(values: ColumnValues, candidates: Sequence[str]) -> str | None:
    """The column that says what all others say, so that they are groups of it; None if there is none."""
    finest = [
        name
        for name in candidates
        if not values.is_unique(name) and all(values.is_implied(other, [name]) for other in candidates if other != name)
    ]
    return finest[0] if finest else None


def join_task_columns(
    values: ColumnValues, task: str, arm: str, columns: Mapping[str, Any], free: Sequence[str]
) -> str:
    """The column of the task, with those that tell tasks of one name apart.

    Such a column differs within the runs of a name in the same way in every arm, as no numbering of repeats does that
    says what it is.
    """
    around = [name for name in free if _AROUND_TASKS & {*name_words(name)} and len(values.of(name)) > 1]
    joined = task
    for name in around:
        if COLUMN_JOINER not in name and _tells_tasks_apart(values, joined, name, arm, columns):
            joined = f"{name}{COLUMN_JOINER}{joined}"
    return joined


def _tells_tasks_apart(values: ColumnValues, task: str, name: str, arm: str, columns: Mapping[str, Any]) -> bool:
    finer: dict[str | None, set[tuple[str | None, ...]]] = defaultdict(set)
    for arm_label, *rest in values.rows((arm, task, name), columns):
        finer[arm_label].add(tuple(rest))
    everywhere = set.union(*finer.values())
    tasks = {label for label, _ in everywhere}
    is_finer = len(everywhere) > len(tasks) and all(
        len(own) > len({label for label, _ in own}) for own in finer.values()
    )
    return is_finer and all(len(own) >= _LEAST_SHARED * len(everywhere) for own in finer.values())


def describe_joined_tasks(task: str, joined: str) -> str:
    """That several columns together are the task, and how to take one."""
    parts = joined.split(COLUMN_JOINER)
    return (
        f"the same {task!r} is in several of {quote_names([part for part in parts if part != task])}, so together they "
        f"name the task; --map {quote(f'task_id={task}')} makes repeats of them."
    )
