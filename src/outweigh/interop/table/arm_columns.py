"""Which of several columns together tell the arms of a table apart, and which rows its author set apart.

Columns that are crossed, such as an agent and a set-up, are one arm for each combination: none is mixed with another,
and every one of them can still be compared with those that differ in a single column.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

from outweigh.errors import quote_names
from outweigh.interop.column_names import name_words
from outweigh.interop.field_values import read_bool
from outweigh.interop.table.column_values import ColumnValues
from outweigh.interop.table.columns import COLUMN_JOINER

_LEAST_RUNS = 2
"""Runs of a combination on average; columns whose combinations occur once each name runs, and not arms."""

_SET_APART = frozenset(
    {"baseline", "warmup", "calibration", "dry", "smoke", "invalid", "excluded", "discarded", "skip"}
)
_AROUND_SET_APART = frozenset({"is", "run", "row", "trial", "attempt", "skipped", "only", "up", "warm"})


def independent_columns(values: ColumnValues, columns: Sequence[str]) -> list[str]:
    """The columns without those that another one already tells apart.

    A column of aliases is what the author calls the arms, so that columns which say more than it are left out.
    """
    aliases = [column for column in columns if name_words(column)[-1:] == ("alias",)]
    if len(aliases) == 1 and all(values.is_implied(aliases[0], [column]) for column in columns):
        return aliases
    kept = list(columns)
    for column in reversed(columns):
        others = [name for name in kept if name != column]
        if others and values.is_implied(column, others):
            kept = others
    return kept


def join_arm_columns(
    values: ColumnValues, candidates: Sequence[str], task: str, columns: Mapping[str, Any]
) -> str | None:
    """The column, or several joined, that the arms of a table are told apart by; None where that is not clear.

    What is the same for all runs of a task belongs to the task. Combinations must have several runs each, and share
    tasks with one another.
    """
    own = [name for name in candidates if name != task and not values.is_implied(name, [task])]
    own = [name for name in own if not _numbers_runs(values, name, [task, *(each for each in own if each != name)])]
    kept = independent_columns(values, own)
    if not kept or any(COLUMN_JOINER in name for name in kept):
        return None
    joined = COLUMN_JOINER.join(kept)
    tasks: dict[str, set[str | None]] = defaultdict(set)
    rows = 0
    for arm, task_label in values.rows((joined, task), columns):
        rows += 1
        if arm is not None:
            tasks[arm].add(task_label)
    all_tasks = {each for own_tasks in tasks.values() for each in own_tasks}
    is_shared = len(tasks) > 1 and len(all_tasks) < sum(map(len, tasks.values()))
    return joined if is_shared and rows >= _LEAST_RUNS * len(tasks) else None


def _numbers_runs(values: ColumnValues, column: str, others: Sequence[str]) -> bool:
    """Whether a column numbers the runs that all other columns have in common."""
    if not all(str(value).strip().isdigit() for value in values.of(column)):
        return False
    rows = list(values.rows((*others, column), dict.fromkeys((*others, column))))
    return len(set(rows)) == len(rows)


def describe_joined_arms(spec: str, columns: Mapping[str, Any]) -> str | None:
    """That several columns together are the arm, and how to take one; None where one column is."""
    if spec in columns or COLUMN_JOINER not in spec:
        return None
    parts = spec.split(COLUMN_JOINER)
    ways = " or ".join(f"--map {quote(f'arm={part}')}" for part in parts)
    return f"{quote_names(parts)} differ for the same task, so together they are the arm; {ways} takes one of them."


def describe_rows_set_apart(values: ColumnValues, columns: Sequence[str]) -> Iterator[str]:
    """A sentence for each column by which the author of a table set rows apart that are read as runs all the same."""
    for column in columns:
        words = {*name_words(column)}
        if not words & _SET_APART or not words <= _SET_APART | _AROUND_SET_APART:
            continue
        meant = [_as_bool(value) for (value,) in values.rows((column,), {column: None})]
        if True in meant and False in meant and None not in meant:
            yield (
                f"{meant.count(True):,} of {len(meant):,} rows have {column}=true and are read as runs like the others;"
                f" --where {quote(f'{column}=false')} leaves them out."
            )


def _as_bool(value: Any) -> bool | None:
    try:
        return read_bool(value)
    except ValueError:
        return None
