"""What a host keeps until its lead has it: a marker for every attempt that was begun, and every finished record.

- `lock`: which host works here; `host`: its name in messages, which stays when it is started again
- `packages/SHA256.tar`: suites
- `experiments/TOKEN/ATTEMPT/`: `begun`, then `record` and the artifacts that it names, by their hashes

A folder of an attempt with `begun` alone is an attempt that took place and has no result; so is one whose marker is
damaged, and it is known by the name of its folder as soon as the lead names the attempt. A folder is removed as a whole
when the lead has acknowledged the record, or knows that there is none.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from threading import Lock, local

from outweigh.cluster.messages import INLINE_BYTES, AttemptKey, OfferedRecord
from outweigh.cluster.package_folder import PackageFolder
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import Attempt, decode
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord, Trial, TrialKey
from outweigh.store.durable_files import make_folder, sync_folder, write_atomic, write_new
from outweigh.store.sealed_lines import seal_attempt, seal_run, unseal_attempt
from outweigh.store.store_lock import StoreLock

LEAST_FREE_BYTES = 1_000_000
"""With less space than this on its disk a host begins nothing."""

MOST_SPOOLS = 1000


class SpoolFullError(EvidenceError):
    """An attempt was not begun, because its marker could not be kept."""


class Spool:
    """The folder of one host. `open` takes the first one below a path that no other process holds."""

    def __init__(self, folder: Path, lock: StoreLock) -> None:
        self.folder = folder
        self.packages = PackageFolder(folder / "packages")
        self._lock = lock
        self.host = self._name()

    @classmethod
    def open(cls, path: Path) -> "Spool":
        """Several hosts of one machine may share the path; what a host left that is gone is taken over."""
        for number in range(1, MOST_SPOOLS + 1):
            folder = path / str(number)
            try:
                make_folder(folder)
                lock = StoreLock.take(folder)
            except UsageError:
                continue
            except OSError as fault:
                raise UsageError(
                    f"{fault.filename or folder} cannot be used as a spool: {fault.strerror}. Name a folder to write "
                    "to with --spool."
                ) from fault
            try:
                return cls(folder, lock)
            except UsageError:
                lock.release()
                raise
        raise UsageError(f"{path} has {MOST_SPOOLS} spools in use; name another folder with --spool.")

    def close(self) -> None:
        """Let another host have it."""
        self._lock.release()

    @property
    def has_space(self) -> bool:
        """Whether an attempt can be begun."""
        try:
            return shutil.disk_usage(self.folder).free >= LEAST_FREE_BYTES
        except OSError:
            return False

    def of_experiment(self, token: str) -> "ExperimentSpool":
        """What is kept for an experiment."""
        return ExperimentSpool(self.folder / "experiments" / token)

    def _name(self) -> str:
        path = self.folder / "host"
        with suppress(OSError):
            return path.read_text().strip()
        name = token_hex(8)
        write_atomic(path, [f"{name}\n".encode()])
        return name


class ExperimentSpool:
    """The attempts of one experiment on a host: a RunStore whose records leave it again.

    A record that does not fit on the disk is kept in memory, and offered from there: it was paid for.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._of_thread = local()
        self._finished: dict[AttemptKey, RunRecord] = {}
        self._lines: dict[AttemptKey, bytes] = {}
        self._unwritten: dict[AttemptKey, dict[str, bytes]] = {}
        self.left_open: set[AttemptKey] = set()
        self._damaged: set[Path] = set()
        self._read()

    @property
    def damaged(self) -> Sequence[Path]:
        """Attempts that were begun by an earlier process, and whose markers do not say which they are."""
        return sorted(self._damaged)

    def note_known(self, keys: Iterable[AttemptKey]) -> None:
        """The lead names attempts: one whose marker is damaged was begun and has no result."""
        if self._damaged:
            self.left_open |= {key for key in keys if self._attempt_folder(key) in self._damaged}

    def begin(self, run_id: str, trial: Trial, attempt: int) -> None:
        """Keep durably that an attempt is about to start; what this thread keeps from now on belongs to it."""
        note = Attempt(run_id=run_id, trial=trial, attempt=attempt, begun_at=datetime.now(UTC), pid=os.getpid())
        self._of_thread.key, self._of_thread.unwritten = (run_id, attempt), {}
        try:
            folder = self._attempt_folder((run_id, attempt))
            make_folder(self._folder)
            folder.mkdir(exist_ok=True)
            write_new(folder / "begun", seal_attempt(note))
            sync_folder(folder)
            sync_folder(self._folder)
        except (OSError, UsageError) as fault:
            shutil.rmtree(self._attempt_folder((run_id, attempt)), ignore_errors=True)
            raise SpoolFullError(f"the beginning of {run_id!r} could not be kept: {fault}") from fault

    def keep(self, content: bytes) -> str:
        """Keep an artifact of the attempt that this thread makes."""
        digest = sha256(content).hexdigest()
        try:
            write_new(self._attempt_folder(self._of_thread.key) / digest, content)
        except UsageError:
            self._of_thread.unwritten[digest] = content
        return digest

    def append(self, record: RunRecord) -> None:
        """Keep a finished record; it is offered from now on."""
        key, line = (record.run_id, record.attempt), seal_run(record)
        unwritten = self._of_thread.unwritten
        try:
            if unwritten:
                raise UsageError("an artifact did not fit")
            folder = self._attempt_folder(key)
            write_new(folder / "record", line)
            sync_folder(folder)
        except (OSError, UsageError):
            self._unwritten[key] = unwritten
        with self._lock:
            self._lines[key] = line
            self._finished[key] = record

    def forget(self, key: AttemptKey) -> None:
        """The lead has the record, or has closed the attempt."""
        with self._lock:
            self._finished.pop(key, None)
            self._lines.pop(key, None)
            self._unwritten.pop(key, None)
            self.left_open.discard(key)
            self._damaged.discard(self._attempt_folder(key))
        _remove_folder(self._attempt_folder(key))

    def remove_if_empty(self) -> None:
        """Remove the folder of an experiment whose records have all left."""
        with suppress(OSError):
            self._folder.rmdir()

    def records(self) -> Mapping[AttemptKey, RunRecord]:
        """Every record that is not forgotten."""
        with self._lock:
            return dict(self._finished)

    def offer(self, key: AttemptKey, record: RunRecord) -> OfferedRecord:
        """A record as it is offered; the details of its attempt are added by who knows them."""
        line, unwritten = self._lines.get(key), self._unwritten.get(key, {})
        contents = {digest: unwritten.get(digest) for digest in dict.fromkeys(record.artifacts.values())}
        small: dict[str, bytes] = {}
        large: dict[str, int] = {}
        for digest, content in contents.items():
            if content is None and not self._path(key, digest).is_file():
                continue  # someone removed it: the lead sees that it is missing
            size = self._path(key, digest).stat().st_size if content is None else len(content)
            if size <= INLINE_BYTES:
                small[digest] = self._path(key, digest).read_bytes() if content is None else content
            else:
                large[digest] = size
        return OfferedRecord(run_id=key[0], attempt=key[1], line=line or seal_run(record), artifacts=small, large=large)

    def read_part(self, key: AttemptKey, digest: str, offset: int, size: int) -> bytes:
        """A part of a large artifact."""
        if (content := self._unwritten.get(key, {}).get(digest)) is not None:
            return content[offset : offset + size]
        with self._path(key, digest).open("rb") as stream:
            stream.seek(offset)
            return stream.read(size)

    def path_of(self, key: AttemptKey, digest: str) -> Path | None:
        """The file of an artifact; None where it is gone, or did not fit on the disk."""
        path = self._path(key, digest)
        return path if path.is_file() else None

    def append_judgment(self, judgment: Judgment) -> None:
        """Judges are asked by the lead."""
        raise NotImplementedError(f"a host keeps no judgments: {judgment.run_id}")

    def artifact(self, digest: str) -> bytes:
        """An artifact of the attempt that this thread makes."""
        return self.read_part(self._of_thread.key, digest, 0, -1)

    def finished(self) -> Mapping[TrialKey, Sequence[RunRecord]]:
        """The records that are not forgotten, by trial."""
        found: dict[TrialKey, list[RunRecord]] = {}
        for record in self.records().values():
            found.setdefault(record.trial.key, []).append(record)
        return found

    def judgments(self) -> Mapping[str, Sequence[Judgment]]:
        """None."""
        return {}

    def _attempt_folder(self, key: AttemptKey) -> Path:
        return self._folder / _folder_name(key)

    def _path(self, key: AttemptKey, digest: str) -> Path:
        return self._attempt_folder(key) / digest

    def _read(self) -> None:
        """What an earlier process of this host left: records to offer, and attempts that it did not finish."""
        for folder in self._folders():
            record, begun = _read_record(folder), _read_marker(folder)
            if record is not None:
                self._finished[record.run_id, record.attempt] = record
            elif begun is not None:
                self.left_open.add((begun.run_id, begun.attempt))
            elif (folder / "begun").exists():
                self._damaged.add(folder)
            else:  # it ended while it was making or removing the folder: nothing was begun
                shutil.rmtree(folder, ignore_errors=True)

    def _folders(self) -> Iterator[Path]:
        if self._folder.is_dir():
            sync_folder(self._folder)
            yield from sorted(path for path in self._folder.iterdir() if path.is_dir())


def _remove_folder(folder: Path) -> None:
    """The folder of an attempt, which has only files; a walk that expects more takes five times as long."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                Path(entry).unlink()
        folder.rmdir()
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)


def _read_record(folder: Path) -> RunRecord | None:
    """The finished record of an attempt, where there is one and it is that of this folder."""
    try:
        record = decode((folder / "record").read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(record, RunRecord) or _folder_name((record.run_id, record.attempt)) != folder.name:
        return None
    return record


def _read_marker(folder: Path) -> Attempt | None:
    """What the marker of an attempt says; None where there is none, or it is damaged."""
    try:
        begun = unseal_attempt((folder / "begun").read_bytes())
    except (OSError, ValueError):
        return None
    return begun if _folder_name((begun.run_id, begun.attempt)) == folder.name else None


def _folder_name(key: AttemptKey) -> str:
    return sha256(f"{key[0]}\n{key[1]}".encode()).hexdigest()[:32]
