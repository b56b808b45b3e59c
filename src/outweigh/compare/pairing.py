"""Which run stands against which: equal task, equal repeat, one per arm."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from outweigh.compare.arm_table import ArmTable, Column, Index
from outweigh.score.score import Score


class Unpaired(NamedTuple):
    """A run without a partner, and why."""

    task_id: str
    arm: str
    repeat: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
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
    ours, theirs = _keys(baseline, candidate)
    order = np.argsort(theirs, kind="stable")
    ranked = theirs[order]
    places = np.searchsorted(ranked, ours)
    found = places < len(ranked)
    found[found] = ranked[places[found]] == ours[found]
    baseline_rows, candidate_rows = np.flatnonzero(found), order[places[found]]
    return Pairing(
        baseline_rows=baseline_rows,
        candidate_rows=candidate_rows,
        unpaired=(*_unpaired(baseline, candidate, baseline_rows), *_unpaired(candidate, baseline, candidate_rows)),
    )


def _keys(baseline: ArmTable, candidate: ArmTable) -> tuple[Index, Index]:
    """One number per run that is equal exactly for equal task and repeat; no object per run, so a million fit."""
    tasks = {task: number for number, task in enumerate(dict.fromkeys((*baseline.tasks, *candidate.tasks)))}
    labels = {run.repeat for arm in (baseline, candidate) for run in arm.runs}
    repeats = {repeat: number for number, repeat in enumerate(sorted(labels))}
    return _key(baseline, tasks, repeats), _key(candidate, tasks, repeats)


def _key(arm: ArmTable, tasks: dict[str, int], repeats: dict[int, int]) -> Index:
    numbers = np.array([tasks[task] for task in arm.tasks], dtype=np.intp)
    labels = np.fromiter((repeats[run.repeat] for run in arm.runs), np.intp, len(arm.runs))
    return numbers[arm.task_of] * len(repeats) + labels if len(arm.runs) else labels


def _unpaired(arm: ArmTable, other: ArmTable, matched: Index) -> list[Unpaired]:
    alone = np.ones(len(arm.runs), dtype=bool)
    alone[matched] = False
    lost = {(run.task_id, run.repeat): run for run in other.excluded}
    runs = [arm.runs[row] for row in np.flatnonzero(alone).tolist()]
    return [
        *(
            Unpaired(run.task_id, run.arm, run.repeat, _why(lost.get((run.task_id, run.repeat)), other.name))
            for run in runs
        ),
        *(Unpaired(run.task_id, run.arm, run.repeat, f"excluded: {run.status.value}") for run in arm.excluded),
    ]


def _why(partner: Score | None, other: str) -> str:
    return f"no run in {other}" if partner is None else f"its partner in {other} is excluded: {partner.status.value}"
