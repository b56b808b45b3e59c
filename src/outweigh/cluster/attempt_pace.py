"""How many attempts may wait on a host beside those that it makes, so that one exchange is about several.

An exchange takes as long whether it is about one attempt or twenty. Where attempts take minutes that is nothing, and an
attempt that waits on one host could run on another. Where they take milliseconds, as simulated ones do, nothing but
exchanges would be left to pay for.
"""

AHEAD_SECONDS = 0.2
"""No attempt waits longer than this on a host, as far as earlier ones tell; where they take longer, none waits."""

MOST_AHEAD = 64


class AttemptPace:
    """How long attempts take on a host, the last ones most."""

    def __init__(self) -> None:
        self._seconds: float | None = None

    def note(self, seconds: float) -> None:
        """An attempt has come to a result."""
        self._seconds = seconds if self._seconds is None else 0.75 * self._seconds + 0.25 * seconds

    def ahead(self, slots: int) -> int:
        """How many attempts may wait where so many are made at once; none while nothing is known."""
        if self._seconds is None:
            return 0
        return min(MOST_AHEAD, slots * int(AHEAD_SECONDS / max(self._seconds, 1e-3)))
