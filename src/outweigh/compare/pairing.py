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
        return len(np.unique(baseline.task_of[self.baseline_rows])) == self.pairs


def pair_runs(baseline: ArmTable, candidate: ArmTable) -> Pairing:
    """Match the counted runs of two arms; the rest is listed, never dropped silently."""
    theirs = {(run.task_id, run.repeat): row for row, run in enumerate(candidate.runs)}
    matches = [
        (row, partner)
        for row, run in enumerate(baseline.runs)
        if (partner := theirs.get((run.task_id, run.repeat))) is not None
    ]
    rows = np.array(matches, dtype=np.intp).reshape(-1, 2)
    return Pairing(
        baseline_rows=rows[:, 0],
        candidate_rows=rows[:, 1],
        unpaired=(*_unpaired(baseline, candidate, rows[:, 0]), *_unpaired(candidate, baseline, rows[:, 1])),
    )


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
