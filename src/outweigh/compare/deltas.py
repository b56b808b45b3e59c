"""How two arms correspond and differ: pairs of runs, missing runs, families of tasks; candidate minus baseline over
pairs, over tasks and task by task.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_table import ArmTable, Column, Index, align_tasks
from outweigh.score.metrics import Metric
from outweigh.score.run_score import Score
from outweigh.stats.estimate import Quantity, known, unknown
from outweigh.stats.sample import mean, median


def task_families(baseline: ArmTable, candidate: ArmTable) -> Mapping[str, str] | None:
    """The family of every task, when the records name several; a task without a name is its own family."""
    named = {run.task_id: run.family or run.task_id for arm in (baseline, candidate) for run in arm.runs}
    families = set(named.values())
    return named if 1 < len(families) < len(named) else None


def single_family(baseline: ArmTable, candidate: ArmTable) -> str | None:
    """The name of the family that all tasks belong to, where there is just one and it has a name."""
    names = {run.family for arm in (baseline, candidate) for run in arm.runs}
    return names.pop() if len(names) == 1 else None


class MissingRuns(Struct, frozen=True, kw_only=True):
    """One arm's losses. `absent` are runs that the other arm has of a task and this one does not."""

    excluded: int
    retried: int
    absent: int
    expected: int

    @property
    def missing(self) -> int:
        """Runs whose outcome nobody knows."""
        return self.excluded + self.absent

    @property
    def excluded_attempts(self) -> int:
        """Attempts that say nothing about the arm; superseded attempts are among them."""
        return self.excluded + self.retried

    @property
    def attempts(self) -> int:
        """All attempts that were made, superseded ones included."""
        return self.expected - self.absent + self.retried

    @property
    def excluded_share(self) -> float:
        """The part of all recorded attempts that says nothing about the arm."""
        return self.excluded_attempts / self.attempts if self.excluded_attempts else 0.0

    @property
    def absent_share(self) -> float:
        """The part of the runs that the other arm shows should be there and that nobody recorded."""
        return self.absent / self.expected if self.absent else 0.0


def count_missing_runs(arm: ArmTable, other: ArmTable) -> MissingRuns:
    """What one arm lost, measured by what both arms together show should be there."""
    mine, theirs = recorded_runs(arm), recorded_runs(other)
    expected = sum(max(number, theirs.get(task, 0)) for task, number in mine.items())
    return MissingRuns(
        excluded=len(arm.excluded),
        retried=sum(run.attempt - 1 for run in (*arm.runs, *arm.excluded)),
        absent=expected - sum(mine.values()),
        expected=expected,
    )


def recorded_runs(arm: ArmTable) -> Mapping[str, int]:
    """How many runs of each task the arm has a record of, counted or not; stale ones are not missing."""
    return Counter(run.task_id for run in (*arm.runs, *arm.excluded, *arm.stale))


class Unpaired(NamedTuple):
    """A run without a partner, and why."""

    task_id: str
    arm: str
    repeat: int
    why: str


class Pairing(Struct, frozen=True, kw_only=True):
    """Row numbers of the runs that stand against each other, and all runs that stand alone."""

    baseline_rows: Index
    candidate_rows: Index
    unpaired: tuple[Unpaired, ...]

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return len(self.baseline_rows)

    def differences(self, baseline: Column, candidate: Column) -> Column:
        """Candidate minus baseline for every pair where both are known."""
        found = candidate[self.candidate_rows] - baseline[self.baseline_rows]
        return found[~np.isnan(found)]

    def one_pair_per_task(self, baseline: ArmTable) -> bool:
        """Whether pairs and tasks are the same thing, so that a paired test over runs is one over tasks."""
        return int(np.bincount(baseline.task_of[self.baseline_rows]).max(initial=0)) <= 1


def pair_runs(baseline: ArmTable, candidate: ArmTable) -> Pairing:
    """Match the counted runs of two arms; the rest is listed, never dropped silently."""
    places = _repeat_places(baseline, candidate)
    ours, theirs = _keys(baseline, candidate, places)
    order = np.argsort(theirs, kind="stable")
    ranked = theirs[order]
    found_at = np.searchsorted(ranked, ours)
    found = found_at < len(ranked)
    found[found] = ranked[found_at[found]] == ours[found]
    baseline_rows, candidate_rows = np.flatnonzero(found), order[found_at[found]]
    return Pairing(
        baseline_rows=baseline_rows,
        candidate_rows=candidate_rows,
        unpaired=(
            *_unpaired(baseline, candidate, baseline_rows, places),
            *_unpaired(candidate, baseline, candidate_rows, places[::-1]),
        ),
    )


_Places = tuple[Mapping[int, int], Mapping[int, int]]


def _repeat_places(baseline: ArmTable, candidate: ArmTable) -> _Places:
    """The place of every repeat of each arm; repeats at the same place stand against each other.

    Those of the same number do. Two arms may have no number in common: held-out repeats are counted on from those
    before them, and so are runs that a baseline was given for a later version. They are matched in their order.
    """
    mine, theirs = (sorted({run.repeat for run in (*arm.runs, *arm.excluded)}) for arm in (baseline, candidate))
    if set(mine) & set(theirs):
        mine = theirs = sorted({*mine, *theirs})
    first, second = ({repeat: place for place, repeat in enumerate(repeats)} for repeats in (mine, theirs))
    return first, second


def _keys(baseline: ArmTable, candidate: ArmTable, places: _Places) -> tuple[Index, Index]:
    """One number per run that is equal exactly for equal task and place; no object per run, so a million fit."""
    tasks = {task: number for number, task in enumerate(dict.fromkeys((*baseline.tasks, *candidate.tasks)))}
    most = max(map(len, places))
    first, second = (_key(arm, tasks, own, most) for arm, own in zip((baseline, candidate), places, strict=True))
    return first, second


def _key(arm: ArmTable, tasks: dict[str, int], places: Mapping[int, int], most: int) -> Index:
    numbers = np.array([tasks[task] for task in arm.tasks], dtype=np.intp)
    of_runs = np.fromiter((places[run.repeat] for run in arm.runs), np.intp, len(arm.runs))
    return numbers[arm.task_of] * most + of_runs if len(arm.runs) else of_runs


def _unpaired(arm: ArmTable, other: ArmTable, matched: Index, places: _Places) -> list[Unpaired]:
    alone = np.ones(len(arm.runs), dtype=bool)
    alone[matched] = False
    mine, theirs = places
    lost = {(run.task_id, theirs[run.repeat]): run for run in other.excluded}
    runs = [arm.runs[row] for row in np.flatnonzero(alone).tolist()]
    return [
        *(
            Unpaired(run.task_id, run.arm, run.repeat, _why(lost.get((run.task_id, mine[run.repeat])), other.name))
            for run in runs
        ),
        *(Unpaired(run.task_id, run.arm, run.repeat, f"excluded: {run.status.value}") for run in arm.excluded),
    ]


def _why(partner: Score | None, other: str) -> str:
    return f"no run in {other}" if partner is None else f"its partner in {other} is excluded: {partner.status.value}"


class Delta(Struct, frozen=True, kw_only=True):
    """`mean` and `median` are over (task, repeat) pairs, `task_mean` over tasks with equal weight.

    The median of pairs depends on how the repeats happen to be numbered; decisions rest on tasks.
    """

    metric: Metric
    n: int
    mean: float | None
    median: float | None
    task_mean: float | None


def compute_deltas(baseline: ArmTable, candidate: ArmTable, pairing: Pairing) -> Mapping[str, Delta]:
    """Every metric's delta, by its name in the JSON contract."""
    return {metric.delta: _delta(metric, baseline, candidate, pairing) for metric in baseline.metrics}


def task_deltas(metric: str, baseline: ArmTable, candidate: ArmTable) -> Column:
    """Mean over an arm's repeats, candidate minus baseline, for each task where both sides know the metric."""
    rows = align_tasks(baseline, candidate)
    found = candidate.mean_per_task(metric)[rows[:, 1]] - baseline.mean_per_task(metric)[rows[:, 0]]
    return found[~np.isnan(found)]


def _delta(metric: Metric, baseline: ArmTable, candidate: ArmTable, pairing: Pairing) -> Delta:
    differences = pairing.differences(baseline.columns[metric.name], candidate.columns[metric.name])
    return Delta(
        metric=metric,
        n=len(differences),
        mean=mean(differences).value,
        median=median(differences).value,
        task_mean=mean(task_deltas(metric.name, baseline, candidate)).value,
    )


class TaskSide(Struct, frozen=True, kw_only=True):
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


class TaskComparison(Struct, frozen=True, kw_only=True):
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
