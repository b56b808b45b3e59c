"""The viewer's index of one store: a row per run in memory; whole records are read again from the file when a page
needs them.

Files are read on from where the last read ended. The store's lock is never tried, because trying it would take it;
whether an engine is running is read from the kernel's list of locks instead.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from threading import RLock
from typing import NamedTuple

import msgspec

from outweigh.errors import EvidenceError
from outweigh.model.codec import RECORD_LINE_LIMIT, Record, decode_each
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.score.judge_scores import judgment_score
from outweigh.score.monthly_spend import SpendTally
from outweigh.store.experiment_file import ExperimentFile, read_experiment
from outweigh.store.sealed_lines import unseal_attempt
from outweigh.store.shard_files import missing_shards, read_shards
from outweigh.store.store_files import attempt_logs, record_files, was_locked
from outweigh.store.store_lock import is_engine_running
from outweigh.web.run_row import LineLocation, RunRow, make_run_row


class LogLine(NamedTuple):
    """A line, and the offset of its first byte."""

    content: bytes
    start: int


class LogTail:
    """Reads every line of a growing file once.

    With `accept_unfinished_line`, a last line without a line feed counts too; that is right only if nobody is writing.
    """

    def __init__(self, path: Path, *, accept_unfinished_line: bool) -> None:
        self.path = path
        self._accept_unfinished_line = accept_unfinished_line
        self._offset = 0
        self._identity: tuple[int, int] | None = None

    def replaced(self) -> bool:
        """Whether the file was replaced, truncated or removed, so that what was read from it is no longer valid."""
        try:
            now = self.path.stat()
        except OSError:
            return self._identity is not None
        return self._identity not in (None, (now.st_dev, now.st_ino)) or now.st_size < self._offset

    def lines(self) -> Iterator[LogLine]:
        """The lines written since the last call; one that is too long is cut, so that decoding refuses it."""
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
                    if not line.endswith(b"\n") and not self._accept_unfinished_line:
                        return
                    self._offset = stream.tell()
                    yield LogLine(whole, start)
        except OSError:
            return

    def read(self, start: int, length: int) -> bytes:
        """Read a line again."""
        with self.path.open("rb") as stream:
            stream.seek(start)
            return stream.read(length)


class _JudgePass(NamedTuple):
    """One judge's score of one run in one pass; `identity` tells versions of a judge apart."""

    judge: str
    identity: int
    pass_index: int
    score: float


_UNREADABLE = (ValueError, msgspec.MsgspecError, RecursionError, TypeError)
_MAX_SHOWN_ERRORS = 20


class StoreIndex:
    """The runs in a folder of `.jsonl` files, or in one such file. It neither locks nor writes anything.

    `address` is how people name the store. `refresh` reads what was added. `version` changes with every change, so that
    values computed from the rows can be cached by it.
    """

    def __init__(self, path: Path, address: Path | None = None) -> None:
        self.path = path
        self.address = address or path
        self.folder = path if path.is_dir() else path.parent
        self.lock = RLock()
        self.version = 0
        self.rows: list[RunRow] = []
        self.errors: list[str] = []
        self.error_count = 0
        self._clear()

    def refresh(self) -> None:
        """Read what is new, or everything again if a file was replaced."""
        with self.lock:
            if any(tail.replaced() for tail in (*self._tails, *self._logs)):
                self._clear()
                self.version += 1
            before = len(self.rows), self._judgment_count, self.error_count, len(self._begun_attempts)
            self._find_files()
            for number, tail in enumerate(self._tails):
                for line in tail.lines():
                    self._add_line(number, tail, line)
            for tail in self._logs:
                for line in tail.lines():
                    self._add_attempt(line)
            if before != (len(self.rows), self._judgment_count, self.error_count, len(self._begun_attempts)):
                self.version += 1

    def row(self, run_id: str, attempt: int | None = None) -> RunRow | None:
        """A run by its id; without an attempt, the attempt that was recorded last."""
        with self.lock:
            position = self._latest.get(run_id) if attempt is None else self._positions.get((run_id, attempt))
            return None if position is None else self.rows[position]

    def record(self, row: RunRow) -> RunRecord:
        """The whole record of a row, read again from its file."""
        found = self._decoded(row.location)
        if not isinstance(found, RunRecord):
            raise EvidenceError(f"{self._tails[row.file].path} has changed since it was read; load the page again.")
        return found

    def judgments(self, run_id: str) -> Sequence[Judgment]:
        """The judgments of a run, in the order in which they were recorded."""
        with self.lock:
            locations = list(self._judgments.get(run_id, ()))
        found = [self._decoded(location) for location in locations]
        return [judgment for judgment in found if isinstance(judgment, Judgment)]

    def judge_score(self, run_id: str) -> float | None:
        """The mean over the judges of a run, each by the mean of its passes; None if no judge scored it."""
        with self.lock:
            passes: dict[str, list[float]] = {}
            for each in self._judge_passes.get(run_id, ()):
                passes.setdefault(each.judge, []).append(each.score)
        return fmean(map(fmean, passes.values())) if passes else None

    @property
    def is_judged(self) -> bool:
        """Whether a judge scored any run."""
        return bool(self._judge_passes)

    def open_attempts(self) -> list[tuple[str, datetime]]:
        """Attempts that were begun and have no record, oldest first: under way, or abandoned."""
        with self.lock:
            waiting = [
                (run_id, at) for (run_id, attempt), at in self._begun_attempts.items() if self._is_open(run_id, attempt)
            ]
        return sorted(waiting, key=lambda each: each[1])

    def is_running(self) -> bool:
        """Whether an engine is writing to the store, as far as this machine can tell."""
        return is_engine_running(self.folder)

    def experiment(self) -> ExperimentFile | None:
        """The experiment that the store was made for; None if its file is missing or cannot be read."""
        try:
            return read_experiment(self.folder) if self.path.is_dir() else None
        except EvidenceError:
            return None

    def shards(self) -> tuple[str, ...]:
        """The shards of a divided plan that are here, where others are missing."""
        try:
            found = read_shards(self.folder)
        except EvidenceError:
            return ()
        return tuple(str(each.shard) for each in found) if missing_shards(found) else ()

    @property
    def is_foreign(self) -> bool:
        """Whether there are lines, and not one of them can be read."""
        return self.error_count > 0 and not self.rows and not self._judgment_count

    def baseline(self) -> str | None:
        """The baseline arm; None if it is unknown."""
        experiment = self.experiment()
        return None if experiment is None else experiment.baseline

    def _clear(self) -> None:
        self.rows, self.errors, self.error_count = [], [], 0
        self._tails: list[LogTail] = []
        self._logs: list[LogTail] = []
        self._positions: dict[tuple[str, int], int] = {}
        self._latest: dict[str, int] = {}
        self._judgments: dict[str, list[LineLocation]] = {}
        self._judgment_count = 0
        self._judge_passes: dict[str, tuple[_JudgePass, ...]] = {}
        self._begun_attempts: dict[tuple[str, int], datetime] = {}
        self.spend = SpendTally()

    def _find_files(self) -> None:
        known = {tail.path for tail in (*self._tails, *self._logs)}
        # A last line without a line feed is unfinished only if somebody may be writing it.
        is_static = not was_locked(self.folder)
        files = [path for path in record_files(self.path) if path not in known]
        self._tails += [LogTail(path, accept_unfinished_line=is_static) for path in files]
        logs = [path for path in attempt_logs(self.path) if path not in known]
        self._logs += [LogTail(path, accept_unfinished_line=False) for path in logs]

    def _add_line(self, number: int, tail: LogTail, line: LogLine) -> None:
        if line.content.isspace():
            return
        try:
            records = decode_each(line.content)
        except _UNREADABLE as fault:
            self.error_count += 1
            if len(self.errors) < _MAX_SHOWN_ERRORS:
                self.errors.append(f"{tail.path.name}, byte {line.start:,}: {fault}")
            return
        digest = sha256(line.content).digest()
        for row, record in enumerate(records):
            location = LineLocation(number, line.start, len(line.content), row)
            self._add_record(record, location, digest if len(records) == 1 else digest + row.to_bytes(4))

    def _add_record(self, record: Record, location: LineLocation, digest: bytes) -> None:
        self.spend.add(record, digest)
        if isinstance(record, RunRecord):
            self._positions[record.run_id, record.attempt] = self._latest[record.run_id] = len(self.rows)
            self.rows.append(make_run_row(record, location))
        elif isinstance(record, Judgment):
            self._judgments.setdefault(record.run_id, []).append(location)
            self._judgment_count += 1
            self._add_judge_pass(record)

    def _add_judge_pass(self, judgment: Judgment) -> None:
        """Take the score of a judgment. A judge that was changed since replaces all its earlier answers."""
        score, judge = judgment_score(judgment).value, judgment.judge
        if score is None:
            return
        added = _JudgePass(sys.intern(judge.name), hash(judge), judgment.pass_index, score)
        kept = [
            each
            for each in self._judge_passes.get(judgment.run_id, ())
            if each.judge != added.judge or each.identity == added.identity
        ]
        # As in scoring, the first usable answer to a pass stays.
        if all((each.judge, each.pass_index) != (added.judge, added.pass_index) for each in kept):
            kept.append(added)
        self._judge_passes[judgment.run_id] = tuple(kept)

    def _add_attempt(self, line: LogLine) -> None:
        try:
            attempt = unseal_attempt(line.content)
        except _UNREADABLE:
            return
        self._begun_attempts[attempt.run_id, attempt.attempt] = attempt.begun_at

    def _is_open(self, run_id: str, attempt: int) -> bool:
        return (run_id, attempt) not in self._positions

    def _decoded(self, location: LineLocation) -> object:
        tail = self._tails[location.file]
        try:
            return decode_each(tail.read(location.start, location.length))[location.row]
        except (OSError, IndexError, *_UNREADABLE) as fault:
            raise EvidenceError(f"{tail.path} cannot be read any more: {fault}. Load the page again.") from fault
