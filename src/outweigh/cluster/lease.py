"""The time for which a host may go on without its lead, measured by the host's own clock.

Every reply of a host has its clock, and the lead's next request sends that back. A lease therefore runs from a moment
that lies before the lead heard the host: when the lead has waited for a lease since it last heard, no request that is
still on its way can keep the host going. And a start that was held up on its way has an old echo, so it is refused.
"""

import time
from collections.abc import Callable
from threading import Event, Lock

DEFAULT_LEASE_SECONDS = 120.0

STARTS_SHARE = 0.5
"""A start is refused when its echo is older than this share of a lease."""

WAIT_SECONDS = 0.2

Clock = Callable[[], float]


def boot_clock() -> float:
    """Seconds since the machine was started, which go on while it or this process is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Lease:
    """Until when a host may go on. It has none before the first echo of its clock."""

    def __init__(self, clock: Clock = boot_clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._until: float | None = None

    @property
    def now(self) -> float:
        """The host's clock."""
        return self._clock()

    @property
    def has_lapsed(self) -> bool:
        """Whether there was a lease, and it has run out."""
        with self._lock:
            return self._until is not None and self._clock() > self._until

    @property
    def holds(self) -> bool:
        """Whether there is a lease that has not run out."""
        with self._lock:
            return self._until is not None and self._clock() <= self._until

    def renew(self, echo: float, seconds: float) -> None:
        """Go on until so long after the moment that the lead sends back."""
        if echo > self._clock():  # of the clock of another machine, or from before this one was started again
            return
        with self._lock:
            self._until = max(self._until or echo, echo + seconds)

    def end(self) -> None:
        """The lead needs the host no more."""
        with self._lock:
            self._until = None

    def may_start(self, echo: float, seconds: float) -> bool:
        """Whether a start that came with this echo is recent enough."""
        return 0 <= self._clock() - echo <= STARTS_SHARE * seconds


class LeaseSignal(Event):
    """Set when the agent of an attempt is to end: it was cancelled, or the lease ran out at any time since.

    `cancelled` is set by the first of these alone, which also ends what is left to do when the agent has ended.
    """

    def __init__(self, lease: Lease) -> None:
        super().__init__()
        self._lease = lease
        self.cancelled = Event()

    def set(self) -> None:
        """Cancel the whole attempt."""
        self.cancelled.set()
        super().set()

    def is_set(self) -> bool:
        """Whether the agent is to end. Once it is, it stays so, whatever becomes of the lease."""
        if not super().is_set() and self._lease.has_lapsed:
            super().set()
        return super().is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the attempt is to end, at the longest for so many seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            left = WAIT_SECONDS if deadline is None else min(WAIT_SECONDS, deadline - time.monotonic())
            if left <= 0:
                return False
            super().wait(left)
        return True
