"""Runs that an arm should have and does not: excluded, attempted again, or simply not there."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from outweigh.compare.arm_table import ArmTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
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
    def excluded_share(self) -> float:
        """The part of all recorded attempts that says nothing about the arm; superseded attempts are among them."""
        lost = self.excluded + self.retried
        return lost / (self.expected - self.absent + self.retried) if lost else 0.0

    @property
    def absent_share(self) -> float:
        """The part of the runs that the other arm shows should be there and that nobody recorded."""
        return self.absent / self.expected if self.absent else 0.0


def losses_of(arm: ArmTable, other: ArmTable) -> Losses:
    """What one arm lost, measured by what both arms together show should be there."""
    mine, theirs = recorded_runs(arm), recorded_runs(other)
    expected = sum(max(number, theirs.get(task, 0)) for task, number in mine.items())
    return Losses(
        excluded=len(arm.excluded),
        retried=sum(run.attempt - 1 for run in (*arm.runs, *arm.excluded)),
        absent=expected - sum(mine.values()),
        expected=expected,
    )


def recorded_runs(arm: ArmTable) -> Mapping[str, int]:
    """How many runs of each task the arm has a record of, counted or not."""
    return Counter(run.task_id for run in (*arm.runs, *arm.excluded))
