"""The viewer's index of one store: a row per run in memory, whole records read again from the file when a page needs
them.

Files are read from where the last reading ended. The store's lock is never tried, because trying it would take it;
whether an engine runs is read from the kernel's list of locks instead.
"""

import os
import socket
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import NamedTuple

import msgspec

from outweigh.errors import EvidenceError
from outweigh.model.codec import RECORD_LINE_LIMIT, decode
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.store.experiment_file import ExperimentFile, read_experiment
from outweigh.store.records import RECORDS_SUFFIX
from outweigh.store.sealed_lines import unseal_attempt
from outweigh.store.store_lock import LOCK_FILE, LockHolder
from outweigh.store.store_lock import LOCK_FILE as LOCK
from outweigh.web.run_row import LineLocation, RunRow, make_run_row


class LogLine(NamedTuple):
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

    def lines(self) -> Iterator[LogLine]:
        """What has been written since; an endless line is cut, so that it is refused and not held."""
        try:
            if self.path.stat().st_size == self._offset and self._identity is not None:
                return
            with self.path.open("rb") as stream:
                found = os.fstat(stream.fileno())
                self._identity = (found.st_dev, found.st_ino)
                stream.seek(self._offset)
                while line := stream.readline(RECORD_LINE_LIMIT):
                    start, whole = self._offset, line
                    while len(line) == RECORD_LINE_LIMIT and not line.endswith(b"\n"):
                        line = stream.readline(RECORD_LINE_LIMIT)
                    if not line.endswith(b"\n") and not self._unfinished:
                        return
                    self._offset = stream.tell()
                    yield LogLine(whole, start)
        except OSError:
            return

    def read(self, start: int, length: int) -> bytes:
        """A line again."""
        with self.path.open("rb") as stream:
            stream.seek(start)
            return stream.read(length)


_KERNEL_LOCKS = Path("/proc/locks")


def is_engine_running(folder: Path) -> bool:
    """What the kernel says of the lock; elsewhere, whether the process that signed it is alive."""
    try:
        lock = folder / LOCK_FILE
        inode, holder = lock.stat().st_ino, msgspec.json.decode(lock.read_bytes(), type=LockHolder)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    try:
        lines = _KERNEL_LOCKS.read_text().splitlines()
    except OSError:
        return holder.host == socket.gethostname() and _is_process_alive(holder.pid)
    return any(f":{inode} " in line for line in lines if " FLOCK " in line)


def _is_process_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


_UNREADABLE = (ValueError, msgspec.MsgspecError, RecursionError, TypeError)
_MOST_FAULTS = 20


class StoreIndex:
    """The runs of a folder of `.jsonl` files, or of one such file. `refresh` reads what has been added since.

    `version` changes with every change, so that whatever is made of the rows can be kept as long as it holds. Nothing
    of the store is locked or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path if path.is_dir() else path.parent
        self.lock = RLock()
        self.version = 0
        self.rows: list[RunRow] = []
        self.faults: list[str] = []
        self.fault_count = 0
        self._clear()

    def refresh(self) -> None:
        """Read what is new; begin again where a file was replaced."""
        with self.lock:
            if any(tail.replaced() for tail in (*self._tails, *self._logs)):
                self._clear()
                self.version += 1
            before = len(self.rows), self._judgment_count, self.fault_count, len(self._begun)
            self._find_files()
            for number, tail in enumerate(self._tails):
                for line in tail.lines():
                    self._take(number, tail, line)
            for tail in self._logs:
                for line in tail.lines():
                    self._take_attempt(line)
            if before != (len(self.rows), self._judgment_count, self.fault_count, len(self._begun)):
                self.version += 1

    def row(self, run_id: str, attempt: int | None = None) -> RunRow | None:
        """A run by its id; without an attempt, the one that was recorded last."""
        with self.lock:
            place = self._latest.get(run_id) if attempt is None else self._places.get((run_id, attempt))
            return None if place is None else self.rows[place]

    def record(self, row: RunRow) -> RunRecord:
        """The whole record of a row, read again."""
        found = self._decoded(row.place)
        if not isinstance(found, RunRecord):
            raise EvidenceError(f"{self._tails[row.file].path} has changed since it was read; load the page again.")
        return found

    def judgments(self, run_id: str) -> Sequence[Judgment]:
        """What judges said about a run, in the order in which they said it."""
        with self.lock:
            places = list(self._judgments.get(run_id, ()))
        found = [self._decoded(place) for place in places]
        return [judgment for judgment in found if isinstance(judgment, Judgment)]

    def open_attempts(self) -> list[tuple[str, datetime]]:
        """Attempts that began and have no record, oldest first: at work, or abandoned."""
        with self.lock:
            waiting = [(run_id, at) for (run_id, attempt), at in self._begun.items() if self._is_open(run_id, attempt)]
        return sorted(waiting, key=lambda each: each[1])

    def is_running(self) -> bool:
        """Whether an engine is at work in it, as far as this machine can tell."""
        return is_engine_running(self.folder)

    def experiment(self) -> ExperimentFile | None:
        """What the store was made for; None where nobody wrote it down readably."""
        try:
            return read_experiment(self.folder) if self.path.is_dir() else None
        except EvidenceError:
            return None

    def baseline(self) -> str | None:
        """The arm that others are compared with, where that is known."""
        experiment = self.experiment()
        return None if experiment is None else experiment.baseline

    def _clear(self) -> None:
        self.rows, self.faults, self.fault_count = [], [], 0
        self._tails: list[LogTail] = []
        self._logs: list[LogTail] = []
        self._places: dict[tuple[str, int], int] = {}
        self._latest: dict[str, int] = {}
        self._judgments: dict[str, list[LineLocation]] = {}
        self._judgment_count = 0
        self._begun: dict[tuple[str, int], datetime] = {}

    def _find_files(self) -> None:
        known = {tail.path for tail in (*self._tails, *self._logs)}
        static = not (self.folder / LOCK).exists()
        files = sorted(self.path.glob(f"*{RECORDS_SUFFIX}")) if self.path.is_dir() else [self.path]
        self._tails += [LogTail(path, unfinished=static) for path in files if path not in known]
        logs = sorted(self.path.glob("attempts-*.log")) if self.path.is_dir() else []
        self._logs += [LogTail(path, unfinished=False) for path in logs if path not in known]

    def _take(self, number: int, tail: LogTail, line: LogLine) -> None:
        if line.content.isspace():
            return
        place = LineLocation(number, line.start, len(line.content))
        try:
            record = decode(line.content)
        except _UNREADABLE as fault:
            self.fault_count += 1
            if len(self.faults) < _MOST_FAULTS:
                self.faults.append(f"{tail.path.name}, byte {line.start:,}: {fault}")
            return
        if isinstance(record, RunRecord):
            self._places[record.run_id, record.attempt] = self._latest[record.run_id] = len(self.rows)
            self.rows.append(make_run_row(record, place))
        elif isinstance(record, Judgment):
            self._judgments.setdefault(record.run_id, []).append(place)
            self._judgment_count += 1

    def _take_attempt(self, line: LogLine) -> None:
        try:
            attempt = unseal_attempt(line.content)
        except _UNREADABLE:
            return
        self._begun[attempt.run_id, attempt.attempt] = attempt.begun_at

    def _is_open(self, run_id: str, attempt: int) -> bool:
        return (run_id, attempt) not in self._places

    def _decoded(self, place: LineLocation) -> object:
        tail = self._tails[place.file]
        try:
            return decode(tail.read(place.start, place.length))
        except (OSError, *_UNREADABLE) as fault:
            raise EvidenceError(f"{tail.path} cannot be read any more: {fault}. Load the page again.") from fault
