"""Reads a response while it passes through, in bounded memory: as server-sent events, as one JSON body, or as the body
of an error.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from outweigh.gateway.dialects.request_and_response import GenerationResponse
from outweigh.model.json_text import JsonObject, try_decode_json

MAX_EVENT_BYTES = 8 << 20
"""A larger event is forwarded without being read."""

_EVENT_SEPARATOR = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
_LINE_SEPARATOR = re.compile(rb"\r\n|\n|\r")
_MAX_SEPARATOR_BYTES = 4


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: `raw` as it arrived, `data` its payload; empty where it has none or is too large to read."""

    raw: bytes
    data: bytes


class EventStreamParser:
    """Splits bytes into events. Joined together, the `raw` of all events is the input."""

    def __init__(self, largest_bytes: int = MAX_EVENT_BYTES) -> None:
        self._largest = largest_bytes
        self._pending = bytearray()
        self._is_skipping = False

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """The events that this chunk completes; consume them before feeding the next chunk."""
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
        """The last event, where the stream ends without a separator after it."""
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
"""How much of an error response is kept to explain the failure."""

MAX_RESPONSE_BYTES = 64 << 20
"""A larger response body is forwarded without being read."""

_END_MARK = b"[DONE]"


class ResponseReader(Protocol):
    """Reads a response while it is forwarded. `feed` and `finish` return the bytes to forward."""

    def feed(self, chunk: bytes) -> bytes:
        """Read the next chunk."""

    def finish(self) -> bytes:
        """Read the end of the response."""

    def read_pending(self) -> None:
        """Read as much as possible of what has arrived so far."""


class EventStreamReader:
    """Reads a stream of events. Events for which `is_added_event` holds are only there for us and not forwarded."""

    def __init__(self, response: GenerationResponse, is_added_event: Callable[[JsonObject], bool] | None) -> None:
        self._response = response
        self._is_added_event = is_added_event
        self._stream = EventStreamParser()

    def feed(self, chunk: bytes) -> bytes:
        """Forward the chunk at once, or whole events where some may have to be left out."""
        passed = [event.raw for event in self._stream.feed(chunk) if not self._read_event(event)]
        return chunk if self._is_added_event is None else b"".join(passed)

    def finish(self) -> bytes:
        """Read a last event without a separator after it. A stream that ends properly may lack the mark of its end."""
        remaining = list(self._stream.finish())
        passed = [event.raw for event in remaining if not self._read_event(event)]
        self._response.read_end_mark()
        return b"" if self._is_added_event is None else b"".join(passed)

    def read_pending(self) -> None:
        """Nothing is pending: events are read as they arrive."""
        return

    def _read_event(self, event: ServerSentEvent) -> bool:
        """Read an event; returns whether it is only there for us."""
        if event.data == _END_MARK:
            self._response.read_end_mark()
            return False
        decoded = try_decode_json(event.data) if event.data else None
        if not isinstance(decoded, dict):
            return False
        self._response.read_event(decoded)
        return self._is_added_event is not None and self._is_added_event(decoded)


class JsonBodyReader:
    """Reads a response that is one JSON body, once it is complete."""

    def __init__(self, response: GenerationResponse) -> None:
        self._response = response
        self._body = bytearray()
        self._is_read = False

    def feed(self, chunk: bytes) -> bytes:
        """Keep the chunk until the body is complete."""
        if len(self._body) <= MAX_RESPONSE_BYTES:
            self._body += chunk
        return chunk

    def finish(self) -> bytes:
        """Nothing is held back."""
        self.read_pending()
        return b""

    def read_pending(self) -> None:
        """Read the body as soon as it is valid JSON, even before the end of the response."""
        decoded = None if self._is_read else try_decode_json(bytes(self._body))
        for whole in decoded if isinstance(decoded, list) else [decoded]:
            if isinstance(whole, dict):
                self._is_read = True
                self._response.read_event(whole)


class ErrorBodyReader:
    """Keeps the beginning of an error response."""

    def __init__(self) -> None:
        self.body = b""

    def feed(self, chunk: bytes) -> bytes:
        """Forward everything."""
        self.body += chunk[: max(0, MAX_ERROR_BYTES - len(self.body))]
        return chunk

    def finish(self) -> bytes:
        """Nothing is held back."""
        return b""

    def read_pending(self) -> None:
        """Nothing to read: the body is text for people."""
        return
