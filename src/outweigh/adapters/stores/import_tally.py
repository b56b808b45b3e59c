"""What became of the records of one source."""

import msgspec

from outweigh.record.cost import UNKNOWN_COST
from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord
from outweigh.record.usage import NO_USAGE

_LOOKED_AT = 500
_UNKNOWN: dict[str, object] = dict.fromkeys(RunRecord.__struct_fields__) | {
    "usage": NO_USAGE,
    "cost": UNKNOWN_COST,
    "warnings": (),
    "artifacts": {},
    "extra": {},
}


class Tally:
    """Counts of what is new and what was known.

    `clashes` are ids that stand for two different records, `rivals` runs that claim the trial of another.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.judgments = 0
        self.known_before = 0
        self.arms: dict[str, int] = {}
        self.tasks: set[str] = set()
        self.clashes: list[str] = []
        self.rivals: list[str] = []
        self._known_fields: set[str] = set()
        self._to_look_at: list[RunRecord] = []

    def count(self, record: RunRecord | Judgment) -> None:
        """One more that is new."""
        if isinstance(record, Judgment):
            self.judgments += 1
            return
        trial = record.trial
        self.runs += 1
        self.arms[trial.arm] = self.arms.get(trial.arm, 0) + 1
        self.tasks.add(trial.task_id)
        self._to_look_at.append(record)
        if len(self._to_look_at) == _LOOKED_AT:
            self._look()

    @property
    def known_fields(self) -> frozenset[str]:
        """The fields of a run that at least one of them knows something about."""
        self._look()
        return frozenset(self._known_fields)

    def _look(self) -> None:
        """Many at once: most fields are unknown to all runs of a source, and would be asked for again and again."""
        columns = zip(*map(msgspec.structs.astuple, self._to_look_at), strict=True)
        for (name, unknown), column in zip(_UNKNOWN.items(), columns, strict=False):
            if name not in self._known_fields and column.count(unknown) < len(column):
                self._known_fields.add(name)
        self._to_look_at.clear()
