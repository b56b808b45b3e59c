"""Which run stands against which: equal task, equal repeat, one per arm."""

from dataclasses import dataclass
from typing import NamedTuple

from outweigh.compare.arm_table import ArmTable
from outweigh.score.score import Score


class Pair(NamedTuple):
    """Row numbers of two runs with equal (task, repeat)."""

    task_id: str
    repeat: int
    baseline: int
    candidate: int


class Unpaired(NamedTuple):
    """A run without a partner, and why."""

    task_id: str
    arm: str
    repeat: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """All pairs, and all runs that are in none."""

    pairs: tuple[Pair, ...]
    unpaired: tuple[Unpaired, ...]

    def one_pair_per_task(self) -> bool:
        """Whether pairs and tasks are the same thing, so that a paired test over runs is one over tasks."""
        return len({pair.task_id for pair in self.pairs}) == len(self.pairs)


def pair_runs(baseline: ArmTable, candidate: ArmTable) -> Pairing:
    """Match the counted runs of two arms; the rest is listed, never dropped silently."""
    theirs = {(run.task_id, run.repeat): row for row, run in enumerate(candidate.runs)}
    pairs = tuple(
        Pair(run.task_id, run.repeat, row, partner)
        for row, run in enumerate(baseline.runs)
        if (partner := theirs.get((run.task_id, run.repeat))) is not None
    )
    matched = {(pair.task_id, pair.repeat) for pair in pairs}
    unpaired = [*_unpaired(baseline, candidate, matched), *_unpaired(candidate, baseline, matched)]
    return Pairing(pairs=pairs, unpaired=tuple(unpaired))


def _unpaired(arm: ArmTable, other: ArmTable, matched: set[tuple[str, int]]) -> list[Unpaired]:
    lost = {(run.task_id, run.repeat): run for run in other.excluded}
    alone = [
        Unpaired(run.task_id, run.arm, run.repeat, _why(lost.get((run.task_id, run.repeat)), other.name))
        for run in arm.runs
        if (run.task_id, run.repeat) not in matched
    ]
    return alone + [Unpaired(run.task_id, run.arm, run.repeat, f"excluded: {run.status.value}") for run in arm.excluded]


def _why(partner: Score | None, other: str) -> str:
    return f"no run in {other}" if partner is None else f"its partner in {other} is excluded: {partner.status.value}"
