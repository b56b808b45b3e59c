"""One task seen from both arms: what the per-task rules look at."""

from collections import Counter
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


NOTHING = unknown("no counted run")


def compare_tasks(baseline: ArmTable, candidate: ArmTable) -> tuple[TaskComparison, ...]:
    """Every task that either arm has a record of."""
    ours, theirs = _sides(baseline), _sides(candidate)
    absent = _uncounted(0)
    return tuple(
        TaskComparison(task_id=task, baseline=ours.get(task, absent), candidate=theirs.get(task, absent))
        for task in dict.fromkeys((*ours, *theirs))
    )


def _sides(arm: ArmTable) -> dict[str, TaskSide]:
    excluded = Counter(run.task_id for run in arm.excluded)
    runs = arm.runs_per_task()
    means = {metric: _complete_means(arm, metric) for metric in ("composite", "objective", "checks_passed")}
    vacuous = {run.task_id for run in arm.runs if run.vacuous}
    counted = {
        task: TaskSide(
            runs=int(runs[place]),
            excluded=excluded[task],
            composite=means["composite"][place],
            objective=means["objective"][place],
            checks_passed=means["checks_passed"][place],
            vacuous=task in vacuous,
        )
        for place, task in enumerate(arm.tasks)
    }
    return counted | {task: _uncounted(number) for task, number in excluded.items() if task not in counted}


def _uncounted(excluded: int) -> TaskSide:
    return TaskSide(
        runs=0, excluded=excluded, composite=NOTHING, objective=NOTHING, checks_passed=NOTHING, vacuous=False
    )


def _complete_means(arm: ArmTable, metric: str) -> list[Quantity]:
    name = metric.replace("_", " ")
    missing = arm.runs_per_task() - arm.known_per_task(metric)
    return [
        unknown(f"the {name} of {lost} of {runs} runs is unknown") if lost else known(float(value))
        for value, lost, runs in zip(arm.mean_per_task(metric), missing, arm.runs_per_task(), strict=True)
    ]
