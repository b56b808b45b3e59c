"""Repeats of a source that is read twice: what was numbered at first sight is handed out in the same order.

The numbers are those of `number_repeats`; a row is known by its place, which takes a tenth of what its name takes.
"""

from array import array
from collections.abc import Iterable, Iterator
from math import inf

from outweigh.adapters.importers.repeats import Numbered
from outweigh.record.run_record import RunRecord


class _Group:
    """The runs of one task and arm, in the order of their rows."""

    def __init__(self) -> None:
        self.rows = array("q")
        self.times = array("d")
        self.names: list[str] = []

    def numbers(self) -> Iterator[tuple[int, int]]:
        """Rows and their numbers; rows of one name are one run."""
        order = sorted(range(len(self.names)), key=lambda place: (self.times[place], self.names[place]))
        by_name = {self.names[place]: number for number, place in enumerate(order, start=1)}
        return ((row, by_name[name]) for row, name in zip(self.rows, self.names, strict=True))


def number_rows(runs: Iterable[RunRecord]) -> Iterator[Numbered]:
    """A number for each of the runs, in their order."""
    groups: dict[tuple[str, str], _Group] = {}
    total = 0
    for total, run in enumerate(runs, start=1):
        trial, started_at = run.trial, run.started_at
        key = (trial.task_id, trial.arm)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group()
        group.rows.append(total - 1)
        group.times.append(inf if started_at is None else started_at.timestamp())
        group.names.append(run.run_id)
    found = array("q", bytes(8 * total))
    while groups:
        _, group = groups.popitem()
        # Below 0 is what stands for one of several.
        several = -1 if len(group.names) > 1 else 1
        for row, number in group.numbers():
            found[row] = several * number
    return (Numbered(abs(number), arbitrary=number < 0) for number in found)
