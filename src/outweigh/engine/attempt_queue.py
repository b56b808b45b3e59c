"""Attempts that have not started yet, in the order in which they are to start.

Trials wait in the order of the plan, and retries until their backoff is over. A retry that may prove unnecessary,
because the attempt before it may still be heard of, waits until nothing else can start. Each is kept by arm, because
where there is no place for one attempt of an arm there is none for the arm: it is passed over as a whole, however long
its queue.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from outweigh.engine.trial_plan import PlannedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedAttempt:
    """An attempt that has not started yet; `not_before` is the earliest time for a retry.

    With `comes_last` it starts when nothing else can: it may turn out that it is not needed.
    """

    planned: PlannedRun
    attempt: int
    tries: int
    not_before: float
    comes_last: bool = False

    @property
    def arm(self) -> str:
        """The arm of its trial."""
        return self.planned.trial.arm


_Entry = tuple[float, int, QueuedAttempt]
"""An attempt after its earliest time and a number that no other has, so that entries are ordered by these two."""


class _Line:
    """Attempts by their earliest time, and among equals as they were added. Arms that are passed over are left out."""

    def __init__(self) -> None:
        self._numbers = count()
        self._of_arm: dict[str, list[_Entry]] = {}
        # The first of each arm. What is no longer the first stays in until it comes up, and is dropped then.
        self._heads: list[_Entry] = []
        self._passed_over: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._of_arm)

    def __iter__(self) -> Iterator[QueuedAttempt]:
        return (due for entries in self._of_arm.values() for _, _, due in entries)

    def add(self, due: QueuedAttempt) -> None:
        entry = (due.not_before, next(self._numbers), due)
        entries = self._of_arm.setdefault(due.arm, [])
        heappush(entries, entry)
        if entries[0] is entry:
            heappush(self._heads, entry)

    def first(self) -> QueuedAttempt | None:
        """The first attempt of an arm that is not passed over; None where there is none."""
        while self._heads:
            entry = self._heads[0]
            arm = entry[2].arm
            entries = self._of_arm.get(arm)
            if entries is not None and entries[0] is entry and arm not in self._passed_over:
                return entry[2]
            heappop(self._heads)
        return None

    def remove_first_of(self, arm: str) -> None:
        entries = self._of_arm[arm]
        heappop(entries)
        if entries:
            heappush(self._heads, entries[0])
        else:
            del self._of_arm[arm]

    def remove_arm(self, arm: str) -> list[QueuedAttempt]:
        return [due for _, _, due in self._of_arm.pop(arm, ())]

    def pass_over(self, arm: str) -> None:
        self._passed_over.add(arm)

    def pass_over_none(self) -> None:
        for arm in self._passed_over:
            if arm in self._of_arm:
                heappush(self._heads, self._of_arm[arm][0])
        self._passed_over.clear()


class AttemptQueue:
    """The attempts of a batch that have not started: trials that wait, and retries.

    Adding, finding and taking an attempt takes a time that grows with the logarithm of the queue's length, also where
    arms are passed over.
    """

    def __init__(self) -> None:
        self._waiting = _Line()
        self._retries = _Line()
        self._last = _Line()
        self._lines = (self._waiting, self._retries, self._last)

    def __bool__(self) -> bool:
        return any(self._lines)

    def __iter__(self) -> Iterator[QueuedAttempt]:
        for line in self._lines:
            yield from line

    def add(self, due: QueuedAttempt) -> None:
        """Add the first attempt of a trial after all others, or a retry at its time."""
        self._line_of(due).add(due)

    def extend(self, attempts: Iterable[QueuedAttempt]) -> None:
        """Add attempts in their order."""
        for due in attempts:
            self.add(due)

    def next(self, now: float, *, retries_last: bool) -> QueuedAttempt | None:
        """The attempt that is to start next, which stays in the queue; None where there is none now.

        Retries that are due come first, so that blocks stay together, or with `retries_last` after all that waits.
        Those that come last start when there is none of these.
        """
        waiting, retry = self._waiting.first(), self._retries.first()
        if retry is None or retry.not_before > now:
            return waiting or self._last.first()
        return retry if waiting is None or not retries_last else waiting

    def take(self, due: QueuedAttempt) -> None:
        """Take out the attempt that `next` has given."""
        self._line_of(due).remove_first_of(due.arm)

    def drop(self, arms: Collection[str]) -> list[QueuedAttempt]:
        """Take out everything of these arms, and return it."""
        return [due for arm in arms for line in self._lines for due in line.remove_arm(arm)]

    def pass_over(self, arm: str) -> None:
        """Leave out an arm that has no place now, until `pass_over_none`."""
        for line in self._lines:
            line.pass_over(arm)

    def pass_over_none(self) -> None:
        """Consider all arms again."""
        for line in self._lines:
            line.pass_over_none()

    def _line_of(self, due: QueuedAttempt) -> _Line:
        if due.comes_last:
            return self._last
        return self._retries if due.tries else self._waiting
