"""Holding the bodies of requests while they are under way: a run may fill its own room, and no more."""

from types import TracebackType
from typing import Self

LARGEST_BODY_BYTES = 64 << 20
MOST_BYTES_PER_RUN = 256 << 20


class TooLargeError(Exception):
    """There is no room for more; the message is a sentence for the client."""


class BodyRoom:
    """What the requests of one run may take together."""

    def __init__(self, most_bytes: int = MOST_BYTES_PER_RUN) -> None:
        self.left_bytes = most_bytes


class HeldBody:
    """One request's body; leaving the context makes room for others."""

    def __init__(self, room: BodyRoom, largest_bytes: int = LARGEST_BODY_BYTES) -> None:
        self._room = room
        self._largest = largest_bytes
        self._content = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._room.left_bytes += len(self._content)

    def add(self, chunk: bytes) -> None:
        """Hold a piece more."""
        if len(self._content) + len(chunk) > self._largest:
            raise TooLargeError(f"A request may have {self._largest >> 20} MiB; this one has more.")
        if len(chunk) > self._room.left_bytes:
            raise TooLargeError("The requests that this run has under way are too large together.")
        self._room.left_bytes -= len(chunk)
        self._content += chunk

    def content(self) -> bytes:
        """All of it."""
        return bytes(self._content)
