"""Runs of two arms that stand against each other: the same task and repeat."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_table import ArmTable, Column, Index
from outweigh.compare.run_columns import (
    count_values,
    names_of,
)
from outweigh.compare.task_alignment import reduce_together, same_tasks
from outweigh.model.failure import Status
from outweigh.score.run_score import Score


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
        self._rows: _Rows | None = None

    @cached_property
    def _places(self) -> _Places:
        return _repeat_places(*self._arms)

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
        places = self._places
        # Rows of large arms are found again, which takes less than to keep them.
        return reduce_together(
            baseline, candidate, lambda *parts: action(_paired_rows(parts[0], parts[1], places), *parts)
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
