"""A file that only grows. Threads that append at the same time share one write and one flush."""

import errno
import os
from contextlib import suppress
from pathlib import Path
from threading import Lock

from outweigh.store.durable_files import sync_folder

WriteOutcome = OSError | None


class _Group:
    """Lines that reach the disk together; the thread that brought the first one writes for all."""

    __slots__ = ("_unsettled", "lines", "outcomes")

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.outcomes: list[WriteOutcome] = []
        # Held until the group is settled. Twice as fast as an Event, which makes one more lock for every waiter.
        self._unsettled = Lock()
        self._unsettled.acquire()

    def join(self, line: bytes) -> int:
        self.lines.append(line)
        return len(self.lines) - 1

    def settle(self) -> None:
        self._unsettled.release()

    def wait(self) -> None:
        with self._unsettled:
            return

    def outcome(self, place: int) -> WriteOutcome:
        """What became of a line; a writer that was interrupted leaves no word, and then nothing counts as kept."""
        if place < len(self.outcomes):
            return self.outcomes[place]
        return InterruptedError(errno.EINTR, "interrupted before it was durable")


class AppendLog:
    """Appends whole lines to one file, which is made when the first one comes.

    While one group is being flushed, the next one gathers; nobody waits for company, so a lone thread pays one flush.
    """

    def __init__(self, path: Path) -> None:
        self.flushes = 0
        """How often the disk was asked; the more threads append at once, the fewer per line."""
        self._path = path
        self._file: int | None = None
        self._closed = False
        self._durable_bytes = 0
        # True while the file may hold more than what is durable.
        self._has_rest = False
        self._gathering = _Group()
        self._door = Lock()  # for a moment, by whoever looks at the gathering group
        self._turn = Lock()  # during a flush, by the leader of the group that is written

    @property
    def durable_bytes(self) -> int:
        """So much of the file is acknowledged or was there before; what follows may be half a line."""
        with self._turn:
            return self._durable_bytes if self._file is not None else self._bytes_on_disk()

    def append(self, line: bytes) -> None:
        """Return when the line is durable. An OSError means that it is not in the file, and the next may be tried."""
        with self._door:
            group = self._gathering
            place = group.join(line)
        if place == 0:
            self._lead(group)
        else:
            group.wait()
        if (fault := group.outcome(place)) is not None:
            raise fault

    def close(self) -> None:
        """Wait for the flush under way, then let go of the file. A file without a line is not left behind."""
        with self._turn:
            self._closed = True
            if self._file is None:
                return
            os.close(self._file)
            self._file = None
            if not self._durable_bytes:
                with suppress(OSError):
                    self._path.unlink()

    def _lead(self, group: _Group) -> None:
        try:
            with self._turn:
                self._end_gathering(group)
                group.outcomes = self._commit(group.lines)
        finally:
            # Also after an interrupt: the others of this group must not wait for ever.
            self._end_gathering(group)
            group.settle()

    def _end_gathering(self, group: _Group) -> None:
        with self._door:
            if self._gathering is group:
                self._gathering = _Group()

    def _commit(self, lines: list[bytes]) -> list[WriteOutcome]:
        """Write a group; where it does not go through as a whole, each line gets its own chance and its own fault."""
        try:
            self._write(b"".join(lines))
        except OSError as fault:
            return [fault] if len(lines) == 1 else [self._commit([line])[0] for line in lines]
        return [None] * len(lines)

    def _write(self, content: bytes) -> None:
        file = self._opened()
        if self._has_rest:
            self._cut_back(file)
        self._has_rest = True
        try:
            _write_all(file, content)
            os.fdatasync(file)
            self.flushes += 1
            self._durable_bytes += len(content)
            self._has_rest = False
        finally:
            if self._has_rest:
                # Where even this fails, the next append tries it again before it writes.
                with suppress(OSError):
                    self._cut_back(file)

    def _cut_back(self, file: int) -> None:
        os.ftruncate(file, self._durable_bytes)
        self._has_rest = False

    def _opened(self) -> int:
        if self._closed:
            raise OSError(errno.EBADF, "the log is closed")
        if self._file is None:
            self._file, self._durable_bytes = self._open()
        return self._file

    def _open(self) -> tuple[int, int]:
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            size = os.fstat(file).st_size
            if not size:
                sync_folder(self._path.parent)
        except OSError:
            os.close(file)
            raise
        return file, size

    def _bytes_on_disk(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0


def _write_all(file: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]
