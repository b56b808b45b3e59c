"""One task seen from both arms: what the per-task rules look at."""

from collections.abc import Sequence
from dataclasses import dataclass

from outweigh.compare.arm_table import ArmTable
from outweigh.stats.quantity import Quantity, known, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSide:
    """One arm's counted runs of a task. A mean is unknown as soon as one of its runs does not know its part."""

    runs: int
    excluded: int
    composite: Quantity
    objective: Quantity
    checks_passed: Quantity
    vacuous: bool

    @property
    def present(self) -> bool:
        """Whether the arm has any record of this task, counted or not."""
        return self.runs + self.excluded > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskComparison:
    """Both sides of one task."""

    task_id: str
    baseline: TaskSide
    candidate: TaskSide


def compare_tasks(baseline: ArmTable, candidate: ArmTable) -> tuple[TaskComparison, ...]:
    """Every task that either arm has a record of."""
    ours, theirs = _sides(baseline), _sides(candidate)
    absent = _side(baseline, (), 0)
    return tuple(
        TaskComparison(task_id=task, baseline=ours.get(task, absent), candidate=theirs.get(task, absent))
        for task in dict.fromkeys((*ours, *theirs))
    )


def _sides(arm: ArmTable) -> dict[str, TaskSide]:
    rows = arm.rows_by_task()
    excluded: dict[str, int] = {}
    for run in arm.excluded:
        excluded[run.task_id] = excluded.get(run.task_id, 0) + 1
    return {task: _side(arm, rows.get(task, ()), excluded.get(task, 0)) for task in arm.task_ids()}


def _side(arm: ArmTable, rows: Sequence[int], excluded: int) -> TaskSide:
    runs = [arm.runs[row] for row in rows]
    return TaskSide(
        runs=len(rows),
        excluded=excluded,
        composite=_complete_mean("composite", [arm.columns["composite"][row] for row in rows]),
        objective=_complete_mean("objective", [run.objective for run in runs]),
        checks_passed=_complete_mean("checks passed", [run.checks_passed for run in runs]),
        vacuous=any(run.vacuous for run in runs),
    )


def _complete_mean(name: str, values: Sequence[float | None]) -> Quantity:
    if not values:
        return unknown("no counted run")
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        return unknown(f"the {name} of {len(values) - len(present)} of {len(values)} runs is unknown")
    return known(sum(present) / len(present))
