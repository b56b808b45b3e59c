"""Ends runs of tests that print nothing for long: one of their tests does not end, and no limit need be waited for."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

_LOOK_SECONDS = 0.2


class SilenceWatch:
    """How long a run printed nothing. `cancel` is set where that was too long, and where the engine cancels."""

    def __init__(self, most_seconds: float, engine_cancel: Event) -> None:
        self.cancel = Event()
        self.was_too_long = False
        self._most_seconds, self._engine_cancel = most_seconds, engine_cancel
        self._heard_at = monotonic()
        self._longest = 0.0
        self._ended = Event()

    def hear(self, _output: bytes) -> None:
        """Something was printed."""
        self._longest, self._heard_at = self.longest(), monotonic()

    def longest(self) -> float:
        """The longest time until now in which nothing was printed."""
        return max(self._longest, monotonic() - self._heard_at)

    @contextmanager
    def watching(self) -> Iterator["SilenceWatch"]:
        """Watch until the context ends."""
        self._heard_at = monotonic()
        watcher = Thread(target=self._watch, name="test-silence")
        watcher.start()
        try:
            yield self
        finally:
            self._ended.set()
            watcher.join()

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            self.was_too_long = monotonic() - self._heard_at > self._most_seconds
            if self.was_too_long or self._engine_cancel.is_set():
                self.cancel.set()
                return
