"""How two arms correspond and differ: pairs of runs, missing runs, families of tasks; candidate minus baseline over
pairs, over tasks and task by task.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple, TypeVar, overload

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from outweigh.compare.arm_table import ArmTable, Column, Index, align_tasks, places_among, reduce_together, same_tasks
from outweigh.compare.run_columns import (
    Computed,
    count_values,
    counts_by_place,
    last_by_task,
    names_of,
    numbers_of,
)
from outweigh.model.failure import Status
from outweigh.score.metrics import Metric
from outweigh.score.run_score import Score
from outweigh.stats.estimate import Quantity, known, unknown
from outweigh.stats.sample import mean, median


def task_families(baseline: ArmTable, candidate: ArmTable) -> Mapping[str, str] | None:
    """The family of every task, when the records name several; a task without a name is its own family."""
    if not any(family for arm in (baseline, candidate) for family in count_values(arm.runs, "family")):
        return None
    named = {task: family or task for arm in (baseline, candidate) for task, family in last_by_task(arm.runs, "family")}
    families = set(named.values())
    return named if 1 < len(families) < len(named) else None


def single_family(baseline: ArmTable, candidate: ArmTable) -> str | None:
    """The name of the family that all tasks belong to, where there is just one and it has a name."""
    names = {family for arm in (baseline, candidate) for family in count_values(arm.runs, "family")}
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
    if arm.tasks is other.tasks:
        mine, theirs = (_recorded_by_place(each) for each in (arm, other))
        if mine is not None and theirs is not None:
            return _count_missing(arm, int(np.maximum(mine, theirs).sum()), int(mine.sum()))
    recorded, others = recorded_runs(arm), recorded_runs(other)
    expected = sum(max(number, others.get(task, 0)) for task, number in recorded.items())
    return _count_missing(arm, expected, sum(recorded.values()))


def _count_missing(arm: ArmTable, expected: int, recorded: int) -> MissingRuns:
    return MissingRuns(
        excluded=len(arm.excluded),
        retried=sum(
            (attempt - 1) * runs
            for attempts in (arm.runs, arm.excluded)
            for attempt, runs in count_values(attempts, "attempt").items()
        ),
        absent=expected - recorded,
        expected=expected,
    )


def _recorded_by_place(arm: ArmTable) -> Index | None:
    """How many runs of each task the arm has a record of; None where a task has none that counts."""
    found, stale = arm.runs_per_task(), count_values(arm.stale, "task_id")
    added = arm.lost_per_task(arm.tasks)
    if stale:
        added = added + counts_by_place(arm.tasks, stale)
    return found + added if int(added.sum()) == len(arm.excluded) + len(arm.stale) else None


def recorded_runs(arm: ArmTable) -> Mapping[str, int]:
    """How many runs of each task the arm has a record of, counted or not; stale ones are not missing."""
    found: Counter[str] = Counter()
    for runs in (arm.runs, arm.excluded, arm.stale):
        found.update(count_values(runs, "task_id"))
    return found


class Unpaired(NamedTuple):
    """A run without a partner, and why."""

    task_id: str
    arm: str
    repeat: int
    why: str


_Places = tuple[Mapping[int, int], Mapping[int, int]]
_Rows = tuple[Index, Index]
_Result = TypeVar("_Result")
_SPARSE = 8
"""A table of all places is made where there are at most so many times as many places as runs."""


class Pairing:
    """The runs that stand against each other, and all runs that stand alone; found when somebody asks."""

    def __init__(self, baseline: ArmTable, candidate: ArmTable) -> None:
        self._arms = (baseline, candidate)
        self._places = _repeat_places(baseline, candidate)
        self._rows: _Rows | None = None

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return self.outcomes.pairs

    @property
    def one_pair_per_task(self) -> bool:
        """Whether pairs and tasks are the same thing, so that a paired test over runs is one over tasks."""
        return self.outcomes.most_of_a_task <= 1

    @cached_property
    def outcomes(self) -> "PairedOutcomes":
        """The pairs by who passed."""
        found = self._of_each_part(_paired_outcomes)
        return PairedOutcomes(
            pairs=sum(part.pairs for part in found),
            most_of_a_task=max(part.most_of_a_task for part in found),
            passed=sum((part.passed for part in found), Counter()),
        )

    def differences(self, metric: str) -> Column:
        """Candidate minus baseline for every pair where both are known."""

        def of_part(rows: _Rows, baseline: ArmTable, candidate: ArmTable) -> Column:
            found = candidate.columns[metric][rows[1]] - baseline.columns[metric][rows[0]]
            known: Column = found[~np.isnan(found)]
            return known

        return np.concatenate(self._of_each_part(of_part))

    @cached_property
    def unpaired(self) -> tuple[Unpaired, ...]:
        """All runs that stand alone; nothing is dropped silently."""
        baseline, candidate = self._arms
        return (
            *self._unpaired(baseline, candidate, 0, self._places),
            *self._unpaired(candidate, baseline, 1, self._places[::-1]),
        )

    def _unpaired(self, arm: ArmTable, other: ArmTable, side: int, places: _Places) -> Iterator[Unpaired]:
        mine, theirs = places
        lost = {(trial.task, theirs[trial.repeat]): trial for trial in _trials(other.excluded)}

        def alone(rows: _Rows, *parts: ArmTable) -> list[Unpaired]:
            left = np.ones(len(parts[side].runs), dtype=bool)
            left[rows[side]] = False
            return [
                Unpaired(
                    trial.task, arm.name, trial.repeat, _why(lost.get((trial.task, mine[trial.repeat])), other.name)
                )
                for trial in _trials(parts[side].runs, np.flatnonzero(left))
            ]

        yield from chain.from_iterable(self._of_each_part(alone))
        for trial in _trials(arm.excluded):
            yield Unpaired(trial.task, arm.name, trial.repeat, f"excluded: {trial.status.value}")

    def _of_each_part(self, action: Callable[[_Rows, ArmTable, ArmTable], _Result]) -> list[_Result]:
        baseline, candidate = self._arms
        if not (baseline.parts and candidate.parts):
            self._rows = _paired_rows(baseline, candidate, self._places) if self._rows is None else self._rows
            return [action(self._rows, baseline, candidate)]
        # Rows of large arms are found again, which takes less than to keep them.
        return reduce_together(
            baseline, candidate, lambda *parts: action(_paired_rows(parts[0], parts[1], self._places), *parts)
        )


class PairedOutcomes(Struct, frozen=True, kw_only=True):
    """How many pairs there are, the most of one task, and by who passed: 0 or 1 in the baseline and the candidate."""

    pairs: int
    most_of_a_task: int
    passed: Counter[tuple[int, int]]


def _paired_outcomes(rows: _Rows, baseline: ArmTable, candidate: ArmTable) -> PairedOutcomes:
    before, after = baseline.columns["passed"][rows[0]], candidate.columns["passed"][rows[1]]
    return PairedOutcomes(
        pairs=len(rows[0]),
        most_of_a_task=int(np.bincount(baseline.task_of[rows[0]]).max(initial=0)),
        passed=Counter(
            {
                (first, second): int(np.count_nonzero((before == first) & (after == second)))
                for first in (0, 1)
                for second in (0, 1)
            }
        ),
    )


def pair_runs(baseline: ArmTable, candidate: ArmTable) -> Pairing:
    """Match the counted runs of two arms."""
    return Pairing(baseline, candidate)


def _paired_rows(baseline: ArmTable, candidate: ArmTable, places: _Places) -> _Rows:
    """The row numbers of the runs that stand against each other."""
    ours, theirs = _keys(baseline, candidate, places)
    most = 1 + max(ours.max(initial=-1), theirs.max(initial=-1))
    if most <= _SPARSE * (len(ours) + len(theirs)):
        row_of = np.full(most, -1)
        row_of[theirs[::-1]] = np.arange(len(theirs))[::-1]  # where two have the same place, the first stays
        matched = row_of[ours]
        found = matched >= 0
        return np.flatnonzero(found), matched[found]
    order = np.argsort(theirs, kind="stable")
    ranked = theirs[order]
    found_at = np.searchsorted(ranked, ours)
    found = found_at < len(ranked)
    found[found] = ranked[found_at[found]] == ours[found]
    return np.flatnonzero(found), order[found_at[found]]


def _repeat_places(baseline: ArmTable, candidate: ArmTable) -> _Places:
    """The place of every repeat of each arm; repeats at the same place stand against each other.

    Those of the same number do. Two arms may have no number in common: held-out repeats are counted on from those
    before them, and so are runs that a baseline was given for a later version. They are matched in their order.
    """
    mine, theirs = (
        sorted({*count_values(arm.runs, "repeat"), *count_values(arm.excluded, "repeat")})
        for arm in (baseline, candidate)
    )
    if set(mine) & set(theirs):
        mine = theirs = sorted({*mine, *theirs})
    first, second = ({repeat: place for place, repeat in enumerate(repeats)} for repeats in (mine, theirs))
    return first, second


def _keys(baseline: ArmTable, candidate: ArmTable, places: _Places) -> _Rows:
    """One number per run that is equal exactly for equal task and place; no object per run, so a million fit."""
    most = max(map(len, places))
    if same_tasks(baseline, candidate):
        numbers = [np.arange(len(baseline.tasks))] * 2
    else:
        tasks = {task: number for number, task in enumerate(dict.fromkeys((*baseline.tasks, *candidate.tasks)))}
        numbers = [np.array([tasks[task] for task in arm.tasks], dtype=np.intp) for arm in (baseline, candidate)]
    first, second = (
        _key(arm, own, of_repeats, most)
        for arm, own, of_repeats in zip((baseline, candidate), numbers, places, strict=True)
    )
    return first, second


def _key(arm: ArmTable, numbers: Index, places: Mapping[int, int], most: int) -> Index:
    repeats = names_of(arm.runs, "repeat")
    of_runs = np.array([places[repeat] for repeat in repeats.values], dtype=np.intp)[repeats.codes]
    return numbers[arm.task_of] * most + of_runs if len(arm.runs) else of_runs


class _EndedTrial(NamedTuple):
    """What names a run within its arm, and how it ended."""

    task: str
    repeat: int
    status: Status


def _trials(runs: Sequence[Score], rows: Index | None = None) -> Iterator[_EndedTrial]:
    """All of these runs, or those in some rows."""
    if rows is not None and not len(rows):
        return
    fields = [names_of(runs, field) for field in ("task_id", "repeat", "status")]
    codes = [(field.codes if rows is None else field.codes[rows]).tolist() for field in fields]
    for task, repeat, status in zip(*codes, strict=True):
        yield _EndedTrial(fields[0].values[task], fields[1].values[repeat], fields[2].values[status])


def _why(partner: _EndedTrial | None, other: str) -> str:
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
    return Computed(
        {metric.delta: partial(_delta, metric, baseline, candidate, pairing) for metric in baseline.metrics}
    )


def task_deltas(metric: str, baseline: ArmTable, candidate: ArmTable) -> Column:
    """Mean over an arm's repeats, candidate minus baseline, for each task where both sides know the metric."""
    rows = align_tasks(baseline, candidate)
    found = candidate.mean_per_task(metric)[rows[:, 1]] - baseline.mean_per_task(metric)[rows[:, 0]]
    return found[~np.isnan(found)]


def _delta(metric: Metric, baseline: ArmTable, candidate: ArmTable, pairing: Pairing) -> Delta:
    differences = pairing.differences(metric.name)
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
_MEANS = ("composite", "objective", "checks_passed")


class ComparedTasks(Sequence[TaskComparison]):
    """Every task that either arm has a record of, as arrays; a TaskComparison is made where one is asked for."""

    def __init__(self, names: Sequence[str], baseline: "ArmTasks", candidate: "ArmTasks") -> None:
        self.names = names
        self.baseline = baseline
        self.candidate = candidate

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, place: int) -> TaskComparison: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[TaskComparison]: ...
    def __getitem__(self, place: int | slice) -> TaskComparison | Sequence[TaskComparison]:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        number = range(len(self))[place]
        return TaskComparison(
            task_id=self.names[number], baseline=self.baseline.side(number), candidate=self.candidate.side(number)
        )

    def __iter__(self) -> Iterator[TaskComparison]:
        return (self[place] for place in range(len(self)))

    def named(self, chosen: NDArray[np.bool_]) -> list[str]:
        """The names of some tasks."""
        return [self.names[place] for place in np.flatnonzero(chosen).tolist()]


class ArmTasks:
    """One arm's side of every task. `place` is where a task stands in the arm's table, -1 where no run counts."""

    def __init__(self, arm: ArmTable, place: Index, excluded: Index) -> None:
        counted = place >= 0
        self.excluded = excluded
        self.runs = np.where(counted, np.append(arm.runs_per_task(), 0)[place], 0)
        self.vacuous = np.append(_vacuous(arm), False)[place] & counted
        self._arm = arm
        self._place = place
        self._means: Mapping[str, Callable[[int], Quantity]] = Computed(
            {name: partial(_complete_means, arm, name) for name in _MEANS}
        )

    @property
    def present(self) -> NDArray[np.bool_]:
        """Whether the arm has any record of each task, counted or not."""
        present: NDArray[np.bool_] = self.runs + self.excluded > 0
        return present

    def means(self, metric: str) -> Column:
        """The mean of a metric for every task; NaN where a run does not know it, and where no run counts."""
        arm = self._arm
        known = arm.known_per_task(metric) == arm.runs_per_task()
        means: Column = np.append(np.where(known, arm.mean_per_task(metric), np.nan), np.nan)[self._place]
        return means

    def side(self, number: int) -> TaskSide:
        """The arm's runs of one task."""
        place = int(self._place[number])
        means = {name: NOTHING if place < 0 else self._means[name](place) for name in _MEANS}
        return TaskSide(
            runs=int(self.runs[number]),
            excluded=int(self.excluded[number]),
            vacuous=bool(self.vacuous[number]),
            **means,
        )


def compare_tasks(baseline: ArmTable, candidate: ArmTable) -> ComparedTasks:
    """Every task that either arm has a record of."""
    alone = tasks_of_lost_runs((baseline, candidate))
    same = same_tasks(baseline, candidate) and not any(alone)
    names = baseline.tasks if same else tuple(dict.fromkeys((*baseline.tasks, *alone[0], *candidate.tasks, *alone[1])))
    sides = [ArmTasks(arm, places_among(names, arm.tasks), arm.lost_per_task(names)) for arm in (baseline, candidate)]
    return ComparedTasks(names, sides[0], sides[1])


def tasks_of_lost_runs(arms: Sequence[ArmTable]) -> list[list[str]]:
    """For every arm the tasks of which it has lost runs and no other."""
    return [[task for task, place in arm.lost_places(arm.tasks).items() if place is None] for arm in arms]


def union_of_tasks(arms: tuple[ArmTable, ArmTable]) -> tuple[str, ...]:
    """The tasks of both arms, and after them those of which only lost runs are recorded."""
    if same_tasks(*arms) and not any(tasks_of_lost_runs(arms)):
        return arms[0].tasks
    lost = (task for arm in arms for task in arm.lost_places(arm.tasks))
    return tuple(dict.fromkeys((*arms[0].tasks, *arms[1].tasks, *lost)))


def _vacuous(arm: ArmTable) -> NDArray[np.bool_]:
    """Whether a run of each task had no checks."""
    if set(count_values(arm.runs, "vacuous")) <= {False}:
        return np.zeros(len(arm.tasks), dtype=bool)
    found: NDArray[np.bool_] = arm.sums_of("vacuous", lambda part: numbers_of(part.runs, "vacuous")).sums > 0
    return found


def _complete_means(arm: ArmTable, metric: str) -> Callable[[int], Quantity]:
    name = metric.replace("_", " ")
    means, runs = arm.mean_per_task(metric), arm.runs_per_task()
    missing = runs - arm.known_per_task(metric)

    def of_task(place: int) -> Quantity:
        lost = missing[place]
        return unknown(f"the {name} of {lost} of {runs[place]} runs is unknown") if lost else known(float(means[place]))

    return of_task
