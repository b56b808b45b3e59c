"""Reading an answer while it passes: as events, as one body, or as a failure."""

from collections.abc import Callable
from typing import Protocol

from outweigh.gateway.dialects.answer import Answer
from outweigh.gateway.dialects.loose import Json, decoded
from outweigh.gateway.event_stream import Event, EventStream

MOST_FAILURE_BYTES = 64 << 10
"""Of what a failed answer says, enough to tell why."""

LARGEST_BODY_BYTES = 64 << 20
"""An answer in one body beyond this is passed on unread."""

_END_MARK = b"[DONE]"


class Listener(Protocol):
    """Hears what passes. `hear` and `rest` return what is to be passed on."""

    def hear(self, chunk: bytes) -> bytes:
        """A piece, as it came."""

    def rest(self) -> bytes:
        """The end has come."""

    def settle(self) -> None:
        """Read as much as can be read of what has come so far."""


class EventListener:
    """Hears a stream of events. Those that `is_ours` says are there on our account only are not passed on."""

    def __init__(self, answer: Answer, is_ours: Callable[[Json], bool] | None) -> None:
        self._answer = answer
        self._is_ours = is_ours
        self._stream = EventStream()

    def hear(self, chunk: bytes) -> bytes:
        """Everything is passed on at once, unless something may have to be left out: then event by event."""
        passed = [event.raw for event in self._stream.feed(chunk) if not self._hear_event(event)]
        return chunk if self._is_ours is None else b"".join(passed)

    def rest(self) -> bytes:
        """A last event that nothing follows is heard too."""
        rest = list(self._stream.finish())
        passed = [event.raw for event in rest if not self._hear_event(event)]
        return b"" if self._is_ours is None else b"".join(passed)

    def settle(self) -> None:
        """Events are read as they come."""
        return

    def _hear_event(self, event: Event) -> bool:
        """Whether it is ours alone."""
        if event.data == _END_MARK:
            self._answer.hear_end_mark()
            return False
        said = decoded(event.data) if event.data else None
        if not isinstance(said, dict):
            return False
        self._answer.hear(said)
        return self._is_ours is not None and self._is_ours(said)


class BodyListener:
    """Hears an answer that is one body of JSON, when all of it has come."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._body = bytearray()
        self._is_read = False

    def hear(self, chunk: bytes) -> bytes:
        """Kept until all has come."""
        if len(self._body) <= LARGEST_BODY_BYTES:
            self._body += chunk
        return chunk

    def rest(self) -> bytes:
        """Nothing was held back."""
        self.settle()
        return b""

    def settle(self) -> None:
        """A body that is complete can be read before its end is known."""
        said = None if self._is_read else decoded(bytes(self._body))
        for whole in said if isinstance(said, list) else [said]:
            if isinstance(whole, dict):
                self._is_read = True
                self._answer.hear(whole)


class FailureListener:
    """Keeps the beginning of what a failed answer says."""

    def __init__(self) -> None:
        self.said = b""

    def hear(self, chunk: bytes) -> bytes:
        """All is passed on."""
        self.said += chunk[: max(0, MOST_FAILURE_BYTES - len(self.said))]
        return chunk

    def rest(self) -> bytes:
        """Nothing was held back."""
        return b""

    def settle(self) -> None:
        """There is nothing to read but words."""
        return
