"""Server-sent events, taken from a stream of bytes as they pass, in bounded memory."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LARGEST_EVENT_BYTES = 8 << 20
"""An event beyond this is passed on unread."""

_BETWEEN_EVENTS = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
_BETWEEN_LINES = re.compile(rb"\r\n|\n|\r")
_LONGEST_SEPARATOR = 4


@dataclass(frozen=True, slots=True)
class Event:
    """One event: `raw` as it came, `data` what it carries; no data where it carries none or was too large to read."""

    raw: bytes
    data: bytes


class EventStream:
    """Splits bytes into events. Put together again, the `raw` of all is what was fed."""

    def __init__(self, largest_bytes: int = LARGEST_EVENT_BYTES) -> None:
        self._largest = largest_bytes
        self._pending = bytearray()
        self._is_skipping = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that this chunk completes; to be used up before the next chunk."""
        searched = max(0, len(self._pending) - _LONGEST_SEPARATOR + 1)
        self._pending += chunk
        start = 0
        while found := _BETWEEN_EVENTS.search(self._pending, max(start, searched)):
            yield self._event(bytes(self._pending[start : found.end()]))
            start = found.end()
        del self._pending[:start]
        if len(self._pending) > self._largest:
            yield Event(self._take(), b"")
            self._is_skipping = True

    def finish(self) -> Iterator[Event]:
        """What is left when the stream has ended: an event that nothing follows."""
        if self._pending:
            yield self._event(self._take())

    def _take(self) -> bytes:
        taken = bytes(self._pending)
        self._pending.clear()
        return taken

    def _event(self, raw: bytes) -> Event:
        if self._is_skipping:
            self._is_skipping = False
            return Event(raw, b"")
        return Event(raw, b"\n".join(_data_lines(raw)))


def _data_lines(raw: bytes) -> Iterator[bytes]:
    for line in _BETWEEN_LINES.split(raw):
        if line.startswith(b"data:"):
            yield line[5:].removeprefix(b" ")
