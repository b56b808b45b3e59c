"""What must hold of all that importers make of sources, however broken: nothing made up, nothing lost, no hang."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import msgspec

from outweigh.ports.importers import ImportNotes
from outweigh.record.codec import decode, encode
from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord

MOST_CALLS = 5_000_000
"""Of functions, for a source of a few hundred kilobytes; ordinary ones take a hundredth of it."""

Records = Iterable[RunRecord | Judgment]
Figures = Mapping[str, Counter[float]]


class EndlessWorkError(Exception):
    """An importer has called more functions than any source of this size asks for."""


class Work:
    """Calls of functions so far."""

    def __init__(self, most_calls: int) -> None:
        self.calls = 0
        self._most_calls = most_calls

    def count(self, _frame: FrameType, event: str, _argument: Any) -> None:
        """To be told of everything that is called."""
        self.calls += event in ("call", "c_call")
        if self.calls > self._most_calls:
            sys.setprofile(None)
            raise EndlessWorkError(f"more than {self._most_calls:,} calls")


@contextmanager
def bounded_work(most_calls: int = MOST_CALLS) -> Iterator[Work]:
    """Stop what goes on without end: calls are counted, not seconds, so that a slow machine fails nothing."""
    work, before = Work(most_calls), sys.getprofile()
    sys.setprofile(work.count)
    try:
        yield work
    finally:
        sys.setprofile(before)


def figures(records: Records) -> Figures:
    """Every number that records state about tokens, dollars, time and steps, as often as it is there."""
    found: dict[str, Counter[float]] = {}
    for record in records:
        for name, value in _figures(record):
            if value is not None:
                found.setdefault(name, Counter())[value] += 1
    return found


def made_up(before: Records, after: Records, alternatives: frozenset[str] = frozenset()) -> list[str]:
    """Figures that were not there before a number was taken out of their source, but for those with an alternative.

    What is new is a sum of what was left, or a 0 in the place of nothing.
    """
    known = figures(before)
    return [
        f"{name}: {value}"
        for name, values in figures(after).items()
        for value, times in values.items()
        if name not in alternatives and times > known.get(name, Counter())[value]
    ]


def lost_in_silence(before: int, after: int, told_before: ImportNotes, told: ImportNotes) -> bool:
    """Whether there are fewer records than before, and nobody says so."""
    warned = told.warnings.keys() - told_before.warnings.keys()
    return after < before and not warned and len(told.unreadable) <= len(told_before.unreadable)


def is_kept(record: RunRecord | Judgment, notes: ImportNotes) -> bool:
    """Whether a record comes back as it was written; one that cannot be written becomes a note, as in an import."""
    try:
        assert decode(encode(record)) == record
    except (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError) as fault:
        notes.unread(record.run_id, 0, str(fault))
        return False
    return True


def _figures(record: RunRecord | Judgment) -> Iterator[tuple[str, float | None]]:
    usage = record.usage
    yield from ((name, getattr(usage, name)) for name in usage.__struct_fields__)
    yield "cost", record.cost.usd
    yield "duration_seconds", record.duration_seconds
    if isinstance(record, RunRecord):
        for name in ("setup_seconds", "checks_seconds", "step_count", "tool_call_count", "check_command_count"):
            yield name, getattr(record, name)
    else:
        yield from (("criterion", criterion.score) for criterion in record.criteria)
