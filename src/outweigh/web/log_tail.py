"""A growing file read from where the last reading ended."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from outweigh.record.codec import LINE_LIMIT


class Line(NamedTuple):
    """A whole line and its first byte."""

    content: bytes
    start: int


class LogTail:
    """Gives every line once. `unfinished` also takes a last line without a line feed, where nobody is writing."""

    def __init__(self, path: Path, *, unfinished: bool) -> None:
        self.path = path
        self._unfinished = unfinished
        self._offset = 0
        self._identity: tuple[int, int] | None = None

    def replaced(self) -> bool:
        """Whether the file is another one now, shorter, or gone: what was read from it no longer holds."""
        try:
            now = self.path.stat()
        except OSError:
            return self._identity is not None
        return self._identity not in (None, (now.st_dev, now.st_ino)) or now.st_size < self._offset

    def lines(self) -> Iterator[Line]:
        """What has been written since; an endless line is cut, so that it is refused and not held."""
        try:
            if self.path.stat().st_size == self._offset and self._identity is not None:
                return
            with self.path.open("rb") as stream:
                found = os.fstat(stream.fileno())
                self._identity = (found.st_dev, found.st_ino)
                stream.seek(self._offset)
                while line := stream.readline(LINE_LIMIT):
                    start, whole = self._offset, line
                    while len(line) == LINE_LIMIT and not line.endswith(b"\n"):
                        line = stream.readline(LINE_LIMIT)
                    if not line.endswith(b"\n") and not self._unfinished:
                        return
                    self._offset = stream.tell()
                    yield Line(whole, start)
        except OSError:
            return

    def read(self, start: int, length: int) -> bytes:
        """A line again."""
        with self.path.open("rb") as stream:
            stream.seek(start)
            return stream.read(length)
