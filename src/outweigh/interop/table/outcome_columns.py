"""A table with a row per task and a column of outcomes for each arm: how its arms are imported one after the other."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from outweigh.interop.column_names import match_name
from outweigh.interop.field_values import read_bool, unless_unknown
from outweigh.interop.table.column_values import ColumnValues, is_readable
from outweigh.interop.table_rows import ALL_ROWS, RowSelection

_MOST_ARMS = 12
_MOST_COLUMNS = 200


def describe_arms_by_column(
    path: Path, sample: Mapping[str, Any], more: Sequence[str], selection: RowSelection = ALL_ROWS
) -> str | None:
    """The commands that read such a table; None for one that is none.

    Which columns are arms is left to the user: a column of yes and no can say anything about a task.
    """
    tasks = [name for name in sample if any(match.field == "task_id" and match.rank < 2 for match in match_name(name))]
    if len(tasks) != 1 or len(sample) > _MOST_COLUMNS:
        return None
    values = ColumnValues(path, set(sample), selection)
    read = unless_unknown(read_bool)
    arms = [
        name
        for name in sample
        if name != tasks[0] and values.of(name) and all(is_readable(read, value) for value in values.of(name))
    ]
    if not values.is_unique(tasks[0]) or not 2 <= len(arms) <= _MOST_ARMS:
        return None
    task = () if tasks[0] == "task_id" else (f"--map {quote(f'task_id={tasks[0]}')}",)
    options = "".join(f"{each} " for each in (*more, *task))
    return "\n".join(
        [
            "Where a row is a task and these columns say which arm solved it, read them into one store, one by one:",
            *(
                f"  outweigh import table {quote(str(path))} -o RUNS {options}"
                f"--map {quote(f'success={name}')} --arm {quote(name)}"
                for name in arms
            ),
        ]
    )
