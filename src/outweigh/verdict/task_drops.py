"""Drops of single tasks: the exact test of one task, and the tasks whose drop survives correction over all tasks."""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, partial
from math import comb

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_table import ArmTable, Column, Index
from outweigh.compare.run_columns import count_values, names_of, numbers_of
from outweigh.model.failure import Status
from outweigh.stats.estimate import Alternative, Unit
from outweigh.stats.hypothesis_tests import adjust_benjamini_hochberg, mann_whitney_test
from outweigh.verdict.decision import Regression, RegressionKind

MINIMUM_RUNS = 5
_PASS_OR_FAIL = frozenset((0.0, 1.0))
Outcomes = dict[str, list[float]]


class TaskDrops(Struct, frozen=True, kw_only=True):
    """Drops that repeats support, and tasks whose drop may be chance."""

    supported: tuple[Regression, ...]
    unsupported: tuple[str, ...]


def task_drops(baseline: ArmTable, candidate: ArmTable, alpha: float) -> TaskDrops:
    """Test every task with enough repeats for a drop of its objective, and correct over tasks."""
    before, after = (arm.keep("task outcomes", task_outcomes) for arm in (baseline, candidate))
    dropped = [task for task in before if task in after and _mean(after[task]) < _mean(before[task])]
    adjusted = candidate.keep("adjusted drops", partial(_adjusted_drops, baseline), baseline.runs)
    supported = tuple(
        Regression(
            kind=RegressionKind.OBJECTIVE_DROP,
            task_id=task,
            detail=f"task {task!r}: objective fell from {_mean(before[task]):.2f} to {_mean(after[task]):.2f} "
            f"(adjusted p {adjusted[task]:.2g})",
        )
        for task in dropped
        if adjusted.get(task, 1.0) <= alpha
    )
    supported_tasks = {item.task_id for item in supported}
    return TaskDrops(supported=supported, unsupported=tuple(task for task in dropped if task not in supported_tasks))


def _adjusted_drops(baseline: ArmTable, candidate: ArmTable) -> Mapping[str, float]:
    """The adjusted p-values of all tasks with enough repeats."""
    before, after = (arm.keep("task outcomes", task_outcomes) for arm in (baseline, candidate))
    tested = {
        task: drop_p_value(before[task], after[task])
        for task in before.keys() & after.keys()
        if min(len(before[task]), len(after[task])) >= MINIMUM_RUNS
    }
    return dict(zip(tested, adjust_benjamini_hochberg(list(tested.values())), strict=True)) if tested else {}


def drop_p_value(before: Sequence[float], after: Sequence[float]) -> float:
    """Exact one-sided test that `after` is worse: Fisher's for pass and fail, ranks for shares of checks."""
    if _PASS_OR_FAIL.issuperset(before) and _PASS_OR_FAIL.issuperset(after):
        return fisher_drop_p(len(before), int(sum(before)), len(after), int(sum(after)))
    places = {value: place for place, value in enumerate(sorted({*before, *after}))}
    return _rank_drop_p(*(tuple(sorted(map(places.__getitem__, outcomes))) for outcomes in (before, after)))


@lru_cache(maxsize=100_000)
def _rank_drop_p(before: tuple[int, ...], after: tuple[int, ...]) -> float:
    """By the places of the outcomes among all values of the task: few tasks differ in these, whatever their shares."""
    p_value = mann_whitney_test(after, before, alternative=Alternative.LESS, unit=Unit.RUN).p_value
    return 1.0 if p_value is None else p_value


@cache
def fisher_drop_p(runs_before: int, passes_before: int, runs_after: int, passes_after: int) -> float:
    """Chance of so few passes after, if all passes were dealt to the runs at random."""
    runs, passes = runs_before + runs_after, passes_before + passes_after
    ways = sum(
        comb(passes, hits) * comb(runs - passes, runs_after - hits)
        for hits in range(max(0, runs_after - (runs - passes)), passes_after + 1)
    )
    return ways / comb(runs, runs_after)


def task_outcomes(arm: ArmTable) -> Outcomes:
    """The objective of every counted run; one that ended in a crash or a timeout before its checks achieved nothing."""
    found, owners = rated_outcomes(arm)
    outcomes, starts = found.tolist(), np.flatnonzero(np.diff(owners, prepend=-1))
    ends = [*starts[1:].tolist(), len(outcomes)]
    return {
        arm.tasks[owner]: outcomes[start:end]
        for owner, start, end in zip(owners[starts].tolist(), starts.tolist(), ends, strict=False)
    }


def rated_outcomes(arm: ArmTable) -> tuple[Column, Index]:
    """The same as an array with the place of every outcome's task, in order of tasks."""
    outcomes = outcome_column(arm)
    rated = ~np.isnan(outcomes)
    outcomes, owners = outcomes[rated], arm.task_of[rated]
    if len(owners) and (np.diff(owners) < 0).any():
        order = np.argsort(owners, kind="stable")
        outcomes, owners = outcomes[order], owners[order]
    return outcomes, owners


def outcome_column(arm: ArmTable) -> Column:
    """The same for every run; NaN where it says nothing."""
    objective = numbers_of(arm.runs, "objective")
    if set(count_values(arm.runs, "status")) != {Status.COMPLETED}:
        statuses = names_of(arm.runs, "status")
        ended = np.array([status is not Status.COMPLETED for status in statuses.values], dtype=bool)[statuses.codes]
        objective = np.where(np.isnan(objective) & ended, 0.0, objective)
    if set(count_values(arm.runs, "vacuous")) == {False}:
        return objective
    return np.where(numbers_of(arm.runs, "vacuous") == 0, objective, np.nan)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
