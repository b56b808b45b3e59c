"""A signal that is set as soon as one of several others is."""

from threading import Event
from time import monotonic

WAIT_SECONDS = 0.2
"""How often the others are looked at by who waits for one of them."""


class AnySignal(Event):
    """Set when one of its signals is. To set it sets the first of them."""

    def __init__(self, first: Event, *others: Event) -> None:
        super().__init__()
        self._signals = (first, *others)

    def set(self) -> None:
        """Set the first."""
        self._signals[0].set()

    def is_set(self) -> bool:
        """Whether one of them is."""
        return any(signal.is_set() for signal in self._signals)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until one of them is set, at the longest for so many seconds."""
        deadline = None if timeout is None else monotonic() + timeout
        while not self.is_set():
            left = WAIT_SECONDS if deadline is None else min(WAIT_SECONDS, deadline - monotonic())
            if left <= 0:
                return False
            self._signals[0].wait(left)
        return True
