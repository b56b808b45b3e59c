"""Which tasks of two arms are the same, and where each stands."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from outweigh.compare.arm_table import ArmTable, Index
from outweigh.compare.run_columns import StoredParts

_Result = TypeVar("_Result")


def places_among(names: Sequence[str], tasks: Sequence[str]) -> Index:
    """For every name its place among the tasks, -1 where it is not there."""
    if names is tasks or names == tasks:
        return np.arange(len(names))
    places = {task: place for place, task in enumerate(tasks)}
    return np.fromiter((places.get(name, -1) for name in names), np.intp, len(names))


def places_of_shared_tasks(baseline: ArmTable, candidate: ArmTable) -> tuple[Index | None, Index | None]:
    """The same apart for each arm; None where the tasks of both are the same, so that nothing needs to be put in order.

    Large experiments ask for it with every metric.
    """
    if same_tasks(baseline, candidate):
        return None, None
    rows = align_tasks(baseline, candidate)
    return rows[:, 0], rows[:, 1]


def count_shared_tasks(baseline: ArmTable, candidate: ArmTable) -> int:
    """How many tasks have counted runs in both arms."""
    return len(baseline.tasks) if same_tasks(baseline, candidate) else len(align_tasks(baseline, candidate))


def align_tasks(baseline: ArmTable, candidate: ArmTable) -> Index:
    """For every task with counted runs in both arms, its place in the baseline and in the candidate."""
    if same_tasks(baseline, candidate):
        return np.arange(len(baseline.tasks)).repeat(2).reshape(-1, 2)
    if baseline.parts and candidate.parts:
        return _align_parts(baseline, candidate)
    places = {task: place for place, task in enumerate(candidate.tasks)}
    shared = [(ours, places[task]) for ours, task in enumerate(baseline.tasks) if task in places]
    return np.array(shared, dtype=np.intp).reshape(-1, 2)


def reduce_together(one: ArmTable, other: ArmTable, reduce: Callable[[ArmTable, ArmTable], _Result]) -> list[_Result]:
    """Reduce the parts of two arms, of which each has the same tasks, or both arms where one has no parts."""
    if one.parts and other.parts and isinstance(one.runs, StoredParts):
        return one.runs.map(reduce, one.parts, other.parts)
    return [reduce(one, other)]


def same_tasks(one: ArmTable, other: ArmTable) -> bool:
    """Whether two arms were run on the same tasks, in the same order."""
    return one.tasks is other.tasks or one.tasks == other.tasks


def _align_parts(baseline: ArmTable, candidate: ArmTable) -> Index:
    """A task is in the same part of both arms."""
    starts: Index = np.zeros(2, dtype=np.intp)
    found: list[Index] = [np.zeros((0, 2), dtype=np.intp)]
    for parts in zip(baseline.parts, candidate.parts, strict=True):
        found.append(align_tasks(*parts) + starts)
        starts = starts + np.array([len(part.tasks) for part in parts], dtype=np.intp)
    return np.concatenate(found)


def tasks_of_lost_runs(arms: Sequence[ArmTable]) -> list[list[str]]:
    """For every arm the tasks of which it has lost runs and no other."""
    return [[task for task, place in arm.lost_places(arm.tasks).items() if place is None] for arm in arms]


def union_of_tasks(arms: tuple[ArmTable, ArmTable]) -> tuple[str, ...]:
    """The tasks of both arms, and after them those of which only lost runs are recorded."""
    if same_tasks(*arms) and not any(tasks_of_lost_runs(arms)):
        return arms[0].tasks
    lost = (task for arm in arms for task in arm.lost_places(arm.tasks))
    return tuple(dict.fromkeys((*arms[0].tasks, *arms[1].tasks, *lost)))
