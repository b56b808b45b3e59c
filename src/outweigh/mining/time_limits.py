"""How long tests may take in a proof: in proportion to what tests of the same history took after their changes."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from threading import Lock

_LEAST_MEASURED = 3
"""With fewer runs, one that is unusually short would give up all that follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofLimits:
    """How long a run of tests may take. Limits are many times what was measured, because proofs run beside each other.

    After the change it is measured against the usual run of the history, at most `longest_seconds`, and every other run
    against that first one. No limit is below `least_seconds`, unless it is longer than the longest.

    Where something is printed after every test, a run that prints nothing is stopped earlier: the first one after
    `first_silent_seconds`, others after several times what the first one was silent for.
    """

    longest_seconds: float = 600.0
    least_seconds: float = 120.0
    times_measured: float = 20.0
    first_silent_seconds: float = 180.0
    least_silent_seconds: float = 60.0
    times_silent: float = 8.0

    def first(self, usual_seconds: float | None) -> float:
        """The limit of the first run after the change, in a history whose runs usually take so long."""
        return self.longest_seconds if usual_seconds is None else min(self.longest_seconds, self.after(usual_seconds))

    def after(self, seconds: float) -> float:
        """The limit of a run of tests that took so long after the change."""
        return max(self.least_seconds, self.times_measured * seconds)

    def silence_after(self, silent_seconds: float) -> float:
        """For how long a run may print nothing where the one after the change was silent for so long at most."""
        return max(self.least_silent_seconds, self.times_silent * silent_seconds)


class GreenTimes:
    """What runs of tests after their changes took in one history. Threads may ask and tell at the same time."""

    def __init__(self, seconds: Iterable[float] = ()) -> None:
        self._seconds = list(seconds)
        self._lock = Lock()

    def add(self, seconds: float) -> None:
        """Remember one more run in which tests passed."""
        with self._lock:
            self._seconds.append(seconds)

    def usual(self) -> float | None:
        """The median of all runs; None while there are too few to tell."""
        with self._lock:
            return median(self._seconds) if len(self._seconds) >= _LEAST_MEASURED else None
