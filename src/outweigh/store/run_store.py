"""The engine's records in one folder: what was acknowledged survives a crash, and records never change.

- `lock`: which process writes here
- `runs-<writer>.jsonl`: finished runs, one sealed line each
- `judgments-<writer>.jsonl`, `preferences-<writer>.jsonl`: what judges answered about one run and about two, likewise
- `choices.jsonl`: which arms the inheriting arms are built on, likewise (store/choice_file.py)
- `attempts-<writer>.log`: attempts that were begun, one sealed line each; not evidence, hence not `.jsonl`
- `artifacts/ab/ab12…`: transcripts, diffs and outputs by their SHA-256
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import Attempt, InvalidLine, Record, decode, decode_lines, encode
from outweigh.model.judgment import Judgment, Preference
from outweigh.model.line_seal import seal
from outweigh.model.run_record import RunRecord, Trial
from outweigh.store.append_log import AppendLog
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.choice_file import CHOICES_FILE
from outweigh.store.durable_files import make_folder, sync_folder
from outweigh.store.hosts_file import remove_hosts
from outweigh.store.log_repair import LogRepair, refuse_damage, repair_log
from outweigh.store.read_only_stores import refuse_read_only
from outweigh.store.sealed_lines import seal_attempt, seal_judgment, seal_run, unseal_attempt
from outweigh.store.store_lock import StoreLock

TrialKey = tuple[str, str, int]
"""Task, arm, repeat."""

_RUNS = "runs-*.jsonl"
_JUDGMENTS = "judgments-*.jsonl"
_PREFERENCES = "preferences-*.jsonl"
ATTEMPT_LOGS = "attempts-*.log"
_WRITER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """The runs of a folder as they were read without its lock, and the state of every file that was read whole.

    Opening the store takes over what was read from files that have not changed since, so that it is read once.
    """

    runs: tuple[RunRecord, ...]
    files: "Mapping[Path, tuple[_FileState, tuple[Record, ...]]]"

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read every run; lines that cannot be read are dealt with when the store is opened."""
        runs: list[RunRecord] = []
        files: dict[Path, tuple[_FileState, tuple[Record, ...]]] = {}
        for path in sorted(folder.glob(_RUNS)):
            faults: list[InvalidLine] = []
            with path.open("rb") as stream:
                state = _file_state(os.fstat(stream.fileno()))
                lines = stream.readlines(state[0])
            found = tuple(each.record for each in decode_lines(lines, str(path), faults.append))
            runs += [record for record in found if isinstance(record, RunRecord)]
            # A last line without its line feed was never acknowledged.
            if not faults and lines and lines[-1].endswith(b"\n"):
                files[path] = state, found
        return cls(tuple(runs), files)

    def unchanged(self, path: Path) -> tuple[Record, ...] | None:
        """What was read from a file, made durable; None where it is not what it was."""
        state, records = self.files.get(path, (None, ()))
        with path.open("rb") as stream:
            if state is None or _file_state(os.fstat(stream.fileno())) != state:
                return None
            # The writer that was killed may have left lines that are whole and not yet on the disk.
            os.fsync(stream.fileno())
        return records


_FileState = tuple[int, int, int]


def _file_state(found: os.stat_result) -> _FileState:
    return found.st_size, found.st_mtime_ns, found.st_ino


class FolderRunStore:
    """A RunStore that one process holds at a time; its threads share it. `open` starts, `close` ends.

    Records are read when it is opened, and those that it appends are remembered, so that nothing is read twice.
    `repairs` lists every line that could not be read when the folder was opened: one that was torn at the end of a log
    is cut off, all others stay, are copied to a file of their own (`damaged-*`) and are skipped.
    """

    def __init__(self, folder: Path, writer: str, snapshot: RunSnapshot | None = None) -> None:
        self.folder = folder
        self._snapshot = snapshot
        self.repairs: list[InvalidLine] = []
        self._log_repairs: list[LogRepair] = []
        self._runs = AppendLog(folder / _RUNS.replace("*", writer))
        self._judgments = AppendLog(folder / _JUDGMENTS.replace("*", writer))
        self._attempts = AppendLog(folder / ATTEMPT_LOGS.replace("*", writer))
        self._artifacts = ArtifactFolder.of_store(folder)
        self._finished: dict[TrialKey, list[RunRecord]] = defaultdict(list)
        self._judged: dict[str, list[Judgment]] = defaultdict(list)
        self._recorded: set[tuple[str, int]] = set()
        self._abandoned: dict[tuple[str, int], Attempt] = {}
        self._noting = Lock()
        self._held = ExitStack()

    @classmethod
    def open(cls, folder: Path, *, writer: str = "engine", snapshot: RunSnapshot | None = None) -> Self:
        """Lock the folder for this process, make it where it is missing, and repair what a killed process left.

        What a snapshot has of files that have not changed since is not read again.
        """
        if not _WRITER.fullmatch(writer):
            raise UsageError(f"{writer!r} cannot name a writer; use letters, digits, dots, dashes and underscores.")
        refuse_read_only(folder)
        store = cls(folder, writer, snapshot)
        try:
            store._open()
        except OSError as fault:
            store.close()
            raise UsageError(
                f"{fault.filename or folder} cannot be used for runs: {fault.strerror}. Name a folder to write to."
            ) from fault
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Wait for writes in progress and release the lock."""
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def refuse_damage(self, *, go_on_without: bool) -> None:
        """EvidenceError where lines cannot be read, unless the user says to go on without them."""
        refuse_damage(self._log_repairs, go_on_without=go_on_without)

    def begin(self, run_id: str, trial: Trial, attempt: int) -> None:
        """Record durably that an attempt is about to start."""
        self.begin_all([(run_id, trial, attempt)])

    def begin_all(self, begun: Sequence[tuple[str, Trial, int]]) -> None:
        """Record durably that attempts are about to start, with one write for all of them."""
        at, pid = datetime.now(UTC), os.getpid()
        notes = [Attempt(run_id=run, trial=trial, attempt=number, begun_at=at, pid=pid) for run, trial, number in begun]
        lines = b"".join(seal_attempt(note) for note in notes)
        try:
            self._attempts.append(lines)
        except OSError as fault:
            raise self._not_kept(f"the beginning of {begun[0][0]!r}", fault) from fault

    def append(self, record: RunRecord) -> None:
        """Keep a finished run; when this returns, the record survives a power cut."""
        self.append_all([record])

    def append_all(self, records: Sequence[RunRecord]) -> None:
        """Keep finished runs with one write, all or none; when this returns, they survive a power cut."""
        lines = b"".join(seal_run(record) for record in records)
        keys = [(record.run_id, record.attempt) for record in records]
        self._claim(keys)
        try:
            self._runs.append(lines)
        except OSError as fault:
            with self._noting:
                self._recorded.difference_update(keys)
            raise self._not_kept(f"the record of {records[0].run_id!r}", fault) from fault
        for key, record in zip(keys, records, strict=True):
            self._keep_in_mind(record)
            self._abandoned.pop(key, None)

    def append_judgment(self, judgment: Judgment) -> None:
        """Keep a judgment; when this returns, it survives a power cut."""
        line = seal_judgment(judgment)
        try:
            self._judgments.append(line)
        except OSError as fault:
            raise self._not_kept(f"the judgment of {judgment.run_id!r}", fault) from fault
        self._keep_in_mind(judgment)

    def keep(self, content: bytes) -> str:
        """Keep an artifact, durably, and return the SHA-256 it is found by."""
        try:
            return self._artifacts.keep(content)
        except OSError as fault:
            raise self._not_kept("an artifact", fault) from fault

    def artifact(self, digest: str) -> bytes:
        """A kept artifact, checked against its hash."""
        return self._artifacts.read(digest)

    def finished(self) -> Mapping[TrialKey, Sequence[RunRecord]]:
        """All records so far, by (task, arm, repeat), in order of attempts."""
        with self._noting:
            found = {where: tuple(records) for where, records in self._finished.items()}
        return {where: sorted(records, key=lambda record: record.attempt) for where, records in found.items()}

    def judgments(self) -> Mapping[str, Sequence[Judgment]]:
        """All judgments so far, by the run's id, in the order in which they were given."""
        with self._noting:
            return {run_id: list(given) for run_id, given in self._judged.items()}

    @property
    def begun(self) -> bool:
        """Whether anything was ever run here; a line that cannot be read counts, as it may have been a run."""
        return bool(self._recorded or self._abandoned or self.repairs)

    def abandoned(self) -> Sequence[Attempt]:
        """Attempts that an earlier process began and that have no record yet, oldest first.

        Those that this process begins are not among them; an attempt leaves the list when its record is appended.
        """
        return sorted(self._abandoned.values(), key=lambda attempt: attempt.begun_at)

    def _open(self) -> None:
        make_folder(self.folder)
        self._held.callback(StoreLock.take(self.folder).release)
        self._held.callback(self._attempts.close)
        self._held.callback(self._runs.close)
        self._held.callback(self._judgments.close)
        self._artifacts.sweep()
        remove_hosts(self.folder)
        self._repair(_RUNS, self._note_line, self._snapshot)
        self._snapshot = None
        self._repair(_JUDGMENTS, self._note_line)
        self._repair(_PREFERENCES, decode)
        self._repair(CHOICES_FILE, decode)
        self._repair(ATTEMPT_LOGS, self._note_attempt)

    def _repair(self, pattern: str, take: Callable[[bytes], object], snapshot: RunSnapshot | None = None) -> None:
        for path in sorted(self.folder.glob(pattern)):
            if snapshot is not None and (known := snapshot.unchanged(path)) is not None:
                for record in known:
                    self._note_record(record)
                continue
            repair = repair_log(path, take)
            self._log_repairs.append(repair)
            self.repairs += (*repair.damaged, *(() if repair.torn is None else (repair.torn,)))
            if not path.stat().st_size:
                # Readers of the folder report a file without a record as a mistake.
                path.unlink()
                sync_folder(self.folder)

    def _note_line(self, line: bytes) -> None:
        self._note_record(decode(line))

    def _note_record(self, record: Record) -> None:
        if isinstance(record, RunRecord):
            self._recorded.add((record.run_id, record.attempt))
        self._keep_in_mind(record)

    def _keep_in_mind(self, record: Record) -> None:
        """What was imported may hold runs and judgments in one file."""
        with self._noting:
            if isinstance(record, RunRecord):
                self._finished[record.trial.key].append(record)
            elif isinstance(record, Judgment):
                self._judged[record.run_id].append(record)

    def _note_attempt(self, line: bytes) -> None:
        attempt = unseal_attempt(line)
        key = (attempt.run_id, attempt.attempt)
        if key not in self._recorded:
            self._abandoned[key] = attempt

    def _claim(self, keys: Sequence[tuple[str, int]]) -> None:
        with self._noting:
            if twice := [key for number, key in enumerate(keys) if key in self._recorded or key in keys[:number]]:
                run_id, attempt = twice[0]
                raise ValueError(f"attempt {attempt} of run {run_id!r} has a record already; records never change")
            self._recorded.update(keys)

    def _not_kept(self, what: str, fault: OSError) -> EvidenceError:
        return EvidenceError(
            f"{what} could not be kept in {self.folder}: {fault.strerror}. What was kept before is safe; "
            "free some disk space, then start again to continue from there."
        )


def has_begun(folder: Path) -> bool:
    """Whether anything was ever run in a folder that may be held by another process; it need not exist."""
    return any(path.stat().st_size for pattern in (_RUNS, ATTEMPT_LOGS) for path in folder.glob(pattern))


class PreferenceLog:
    """Appends preferences to the folder of a store; whoever opened that store holds its lock, and repaired its logs."""

    def __init__(self, folder: Path, writer: str = "engine") -> None:
        self._folder = folder
        self._log = AppendLog(folder / _PREFERENCES.replace("*", writer))

    def append(self, preference: Preference) -> None:
        """Keep one answer; when this returns, it survives a power cut. What could not be read again is refused."""
        line = seal(encode(preference))
        try:
            decode(line)
        except ValueError as fault:
            raise EvidenceError(f"an answer about task {preference.task_id!r} could not be kept: {fault}.") from fault
        try:
            self._log.append(line)
        except OSError as fault:
            raise EvidenceError(
                f"an answer about task {preference.task_id!r} could not be kept in {self._folder}: {fault.strerror}. "
                "What was kept before is safe; free some disk space, then start again to continue from there."
            ) from fault

    def close(self) -> None:
        """Wait for the write in progress and close the file."""
        self._log.close()


def read_preferences(folder: Path) -> Sequence[Preference]:
    """All answers so far, without lines that cannot be read: whoever opened the store has been told of those."""
    found: list[Preference] = []
    for path in sorted(folder.glob(_PREFERENCES)):
        with path.open("rb") as stream:
            records = (located.record for located in decode_lines(stream, str(path), lambda _: None))
            found += [record for record in records if isinstance(record, Preference)]
    return found
