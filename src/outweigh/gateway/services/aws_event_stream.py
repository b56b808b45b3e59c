"""Reads the frames in which AWS streams responses (`application/vnd.amazon.eventstream`), checking their sums."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

from outweigh.gateway.outgoing_request import UnreadableResponseError

MAX_FRAME_BYTES = 24 << 20
"""AWS allows 16 MiB of payload and 128 KiB of headers."""

_PRELUDE = struct.Struct(">III")
_SUM = struct.Struct(">I")
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""The size of a header's value by the number of its type; 6 and 7, bytes and text, state their length."""
_TEXT, _SIZED = 7, (6, 7)


@dataclass(frozen=True, slots=True)
class EventFrame:
    """One frame: its headers that are text, and what it carries."""

    headers: dict[str, str]
    payload: bytes


class EventFrameParser:
    """Splits bytes into frames; what is damaged raises UnreadableResponseError."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> Iterator[EventFrame]:
        """The frames that this chunk completes."""
        self._pending += chunk
        while len(self._pending) >= _PRELUDE.size:
            total, headers, prelude_sum = _PRELUDE.unpack_from(self._pending)
            if crc32(self._pending[: _PRELUDE.size - _SUM.size]) != prelude_sum or total > MAX_FRAME_BYTES:
                raise UnreadableResponseError("a frame of the response is damaged")
            if total < _PRELUDE.size + headers + _SUM.size:
                raise UnreadableResponseError("a frame of the response is shorter than its headers")
            if len(self._pending) < total:
                return
            frame = bytes(self._pending[:total])
            del self._pending[:total]
            if crc32(frame[: -_SUM.size]) != _SUM.unpack(frame[-_SUM.size :])[0]:
                raise UnreadableResponseError("a frame of the response is damaged")
            begin = _PRELUDE.size + headers
            yield EventFrame(_read_headers(frame[_PRELUDE.size : begin]), frame[begin : -_SUM.size])

    def finish(self) -> None:
        """The stream must not end within a frame."""
        if self._pending:
            raise UnreadableResponseError("the response ended within a frame")


def _read_headers(content: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    place = 0
    try:
        while place < len(content):
            length = content[place]
            name = content[place + 1 : place + 1 + length].decode()
            kind = content[place + 1 + length]
            place += 2 + length
            size, start = _value_size(content, place, kind)
            if kind == _TEXT:
                found[name] = content[start : start + size].decode()
            place = start + size
    except (IndexError, KeyError, UnicodeDecodeError, struct.error) as fault:
        raise UnreadableResponseError("the headers of a frame are damaged") from fault
    return found


def _value_size(content: bytes, place: int, kind: int) -> tuple[int, int]:
    """How long a header's value is, and where it starts."""
    if kind in _SIZED:
        return int.from_bytes(content[place : place + 2], "big"), place + 2
    return _SIZES[kind], place
