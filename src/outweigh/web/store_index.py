"""One store as the viewer knows it: light rows in memory, everything else read again where it lies."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from threading import RLock

import msgspec

from outweigh.adapters.stores.experiment_file import Experiment, recall_suite
from outweigh.adapters.stores.jsonl import SUFFIX
from outweigh.adapters.stores.sealed_line import unsealed_attempt
from outweigh.adapters.stores.store_lock import NAME as LOCK
from outweigh.errors import EvidenceError
from outweigh.record.codec import decode
from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord
from outweigh.web.lock_watch import is_at_work
from outweigh.web.log_tail import Line, LogTail
from outweigh.web.run_row import Place, RunRow, row_of

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
        return is_at_work(self.folder)

    def experiment(self) -> Experiment | None:
        """What the store was made for; None where nobody wrote it down readably."""
        try:
            return recall_suite(self.folder) if self.path.is_dir() else None
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
        self._judgments: dict[str, list[Place]] = {}
        self._judgment_count = 0
        self._begun: dict[tuple[str, int], datetime] = {}

    def _find_files(self) -> None:
        known = {tail.path for tail in (*self._tails, *self._logs)}
        static = not (self.folder / LOCK).exists()
        files = sorted(self.path.glob(f"*{SUFFIX}")) if self.path.is_dir() else [self.path]
        self._tails += [LogTail(path, unfinished=static) for path in files if path not in known]
        logs = sorted(self.path.glob("attempts-*.log")) if self.path.is_dir() else []
        self._logs += [LogTail(path, unfinished=False) for path in logs if path not in known]

    def _take(self, number: int, tail: LogTail, line: Line) -> None:
        if line.content.isspace():
            return
        place = Place(number, line.start, len(line.content))
        try:
            record = decode(line.content)
        except _UNREADABLE as fault:
            self.fault_count += 1
            if len(self.faults) < _MOST_FAULTS:
                self.faults.append(f"{tail.path.name}, byte {line.start:,}: {fault}")
            return
        if isinstance(record, RunRecord):
            self._places[record.run_id, record.attempt] = self._latest[record.run_id] = len(self.rows)
            self.rows.append(row_of(record, place))
        elif isinstance(record, Judgment):
            self._judgments.setdefault(record.run_id, []).append(place)
            self._judgment_count += 1

    def _take_attempt(self, line: Line) -> None:
        try:
            attempt = unsealed_attempt(line.content)
        except _UNREADABLE:
            return
        self._begun[attempt.run_id, attempt.attempt] = attempt.begun_at

    def _is_open(self, run_id: str, attempt: int) -> bool:
        return (run_id, attempt) not in self._places

    def _decoded(self, place: Place) -> object:
        tail = self._tails[place.file]
        try:
            return decode(tail.read(place.start, place.length))
        except (OSError, *_UNREADABLE) as fault:
            raise EvidenceError(f"{tail.path} cannot be read any more: {fault}. Load the page again.") from fault
