"""A file that only grows. Threads that append at the same time share one write and one sync."""

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from threading import Lock

from outweigh.store.durable_files import sync_folder

WriteOutcome = OSError | None


class _Group:
    """Lines that are written together, by the thread that added the first one."""

    __slots__ = ("_unsettled", "lines", "outcomes")

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.outcomes: list[WriteOutcome] = []
        # Held until the outcomes are known. Twice as fast as an Event, which makes one more lock for every waiter.
        self._unsettled = Lock()
        self._unsettled.acquire()

    def add(self, line: bytes) -> int:
        self.lines.append(line)
        return len(self.lines) - 1

    def settle(self) -> None:
        self._unsettled.release()

    def wait(self) -> None:
        with self._unsettled:
            return

    def outcome(self, place: int) -> WriteOutcome:
        """None where a line is durable, else why it is not; a writer that was interrupted leaves no outcome."""
        if place < len(self.outcomes):
            return self.outcomes[place]
        return InterruptedError(errno.EINTR, "interrupted before it was durable")


class AppendLog:
    """Appends whole lines to one file, which is made when the first one comes.

    While one group is being synced, the next one gathers. No thread waits for others to join it: a single thread pays
    for one sync per line.
    """

    def __init__(self, path: Path) -> None:
        self.flushes = 0
        """How often the file was synced; the more threads append at once, the fewer per line."""
        self._path = path
        self._file: int | None = None
        self._closed = False
        self._durable_bytes = 0
        # True while the file may hold more than what is durable: half a line, or lines that were not synced.
        self._has_rest = False
        self._gathering = _Group()
        self._gathering_lock = Lock()  # held briefly, to add to the gathering group or to replace it
        self._write_lock = Lock()  # held by the thread that writes a group

    @property
    def durable_bytes(self) -> int:
        """How much of the file is acknowledged or was there before; what follows may be half a line."""
        with self._write_lock:
            return self._durable_bytes if self._file is not None else self._bytes_on_disk()

    def append(self, line: bytes) -> None:
        """Return when the line is durable. After an OSError it is not in the file, and the next one may be tried."""
        with self._gathering_lock:
            group = self._gathering
            place = group.add(line)
        if place == 0:
            self._lead(group)
        else:
            group.wait()
        if (fault := group.outcome(place)) is not None:
            raise fault

    def close(self) -> None:
        """Wait for the write in progress, then close the file, and remove it where it holds no line."""
        with self._write_lock:
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
            with self._write_lock:
                self._end_gathering(group)
                group.outcomes = self._commit(group.lines)
        finally:
            # Also after an interrupt, or the other threads of this group would wait for ever.
            self._end_gathering(group)
            group.settle()

    def _end_gathering(self, group: _Group) -> None:
        with self._gathering_lock:
            if self._gathering is group:
                self._gathering = _Group()

    def _commit(self, lines: list[bytes]) -> list[WriteOutcome]:
        """Write a group. Where that fails, try each line alone, so that one that fails does not fail the others."""
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
            _sync(file)
            self.flushes += 1
            self._durable_bytes += len(content)
            self._has_rest = False
        finally:
            if self._has_rest:
                # Where this fails as well, the next append tries it again before it writes.
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


def _sync(file: int) -> None:
    """Return when the content is on the disk itself; macOS has a call of its own for that."""
    if hasattr(fcntl, "F_FULLFSYNC"):
        fcntl.fcntl(file, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(file)


def _write_all(file: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]
