"""Reads a response while it passes through, in bounded memory: as server-sent events, as one JSON body, or as the body
of an error.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from outweigh.gateway.dialects.json_path import JsonMapping, decode_leniently
from outweigh.gateway.dialects.request_and_response import GenerationResponse

MAX_EVENT_BYTES = 8 << 20
"""An event beyond this is passed on unread."""

_EVENT_SEPARATOR = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
_LINE_SEPARATOR = re.compile(rb"\r\n|\n|\r")
_MAX_SEPARATOR_BYTES = 4


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: `raw` as it came, `data` what it carries; no data where it carries none or was too large to read."""

    raw: bytes
    data: bytes


class EventStreamParser:
    """Splits bytes into events. Put together again, the `raw` of all is what was fed."""

    def __init__(self, largest_bytes: int = MAX_EVENT_BYTES) -> None:
        self._largest = largest_bytes
        self._pending = bytearray()
        self._is_skipping = False

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """The events that this chunk completes; to be used up before the next chunk."""
        searched = max(0, len(self._pending) - _MAX_SEPARATOR_BYTES + 1)
        self._pending += chunk
        start = 0
        while found := _EVENT_SEPARATOR.search(self._pending, max(start, searched)):
            yield self._event(bytes(self._pending[start : found.end()]))
            start = found.end()
        del self._pending[:start]
        if len(self._pending) > self._largest:
            yield ServerSentEvent(self._take(), b"")
            self._is_skipping = True

    def finish(self) -> Iterator[ServerSentEvent]:
        """What is left when the stream has ended: an event that nothing follows."""
        if self._pending:
            yield self._event(self._take())

    def _take(self) -> bytes:
        taken = bytes(self._pending)
        self._pending.clear()
        return taken

    def _event(self, raw: bytes) -> ServerSentEvent:
        if self._is_skipping:
            self._is_skipping = False
            return ServerSentEvent(raw, b"")
        return ServerSentEvent(raw, b"\n".join(_data_lines(raw)))


def _data_lines(raw: bytes) -> Iterator[bytes]:
    for line in _LINE_SEPARATOR.split(raw):
        if line.startswith(b"data:"):
            yield line[5:].removeprefix(b" ")


MAX_ERROR_BYTES = 64 << 10
"""Of what a failed answer says, enough to tell why."""

MAX_RESPONSE_BYTES = 64 << 20
"""An answer in one body beyond this is passed on unread."""

_END_MARK = b"[DONE]"


class ResponseReader(Protocol):
    """Hears what passes. `hear` and `rest` return what is to be passed on."""

    def hear(self, chunk: bytes) -> bytes:
        """A piece, as it came."""

    def rest(self) -> bytes:
        """The end has come."""

    def settle(self) -> None:
        """Read as much as can be read of what has come so far."""


class EventStreamReader:
    """Hears a stream of events. Those that `is_ours` says are there on our account only are not passed on."""

    def __init__(self, answer: GenerationResponse, is_ours: Callable[[JsonMapping], bool] | None) -> None:
        self._answer = answer
        self._is_ours = is_ours
        self._stream = EventStreamParser()

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

    def _hear_event(self, event: ServerSentEvent) -> bool:
        """Whether it is ours alone."""
        if event.data == _END_MARK:
            self._answer.hear_end_mark()
            return False
        said = decode_leniently(event.data) if event.data else None
        if not isinstance(said, dict):
            return False
        self._answer.hear(said)
        return self._is_ours is not None and self._is_ours(said)


class JsonBodyReader:
    """Hears an answer that is one body of JSON, when all of it has come."""

    def __init__(self, answer: GenerationResponse) -> None:
        self._answer = answer
        self._body = bytearray()
        self._is_read = False

    def hear(self, chunk: bytes) -> bytes:
        """Kept until all has come."""
        if len(self._body) <= MAX_RESPONSE_BYTES:
            self._body += chunk
        return chunk

    def rest(self) -> bytes:
        """Nothing was held back."""
        self.settle()
        return b""

    def settle(self) -> None:
        """A body that is complete can be read before its end is known."""
        said = None if self._is_read else decode_leniently(bytes(self._body))
        for whole in said if isinstance(said, list) else [said]:
            if isinstance(whole, dict):
                self._is_read = True
                self._answer.hear(whole)


class ErrorBodyReader:
    """Keeps the beginning of what a failed answer says."""

    def __init__(self) -> None:
        self.said = b""

    def hear(self, chunk: bytes) -> bytes:
        """All is passed on."""
        self.said += chunk[: max(0, MAX_ERROR_BYTES - len(self.said))]
        return chunk

    def rest(self) -> bytes:
        """Nothing was held back."""
        return b""

    def settle(self) -> None:
        """There is nothing to read but words."""
        return
