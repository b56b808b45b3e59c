"""Copy a store between this machine and anywhere else: resumable, verified, and never into another store.

A mark is written first and removed last. Artifacts, which are named by their content, are copied before the files
that name them, and what is there already is not copied again. In the end everything but artifacts is read back, and
the hash of all records must be the one of the source.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from outweigh.app.observer import Notify
from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.model.evidence_hash import EvidenceHash
from outweigh.ports.stores import FolderEntries, StoreLocation
from outweigh.report.formatting import count_of
from outweigh.store.artifact_folder import ARTIFACTS_FOLDER
from outweigh.store.bundled_stores import refuse_bundle
from outweigh.store.copy_rules import refuse_other_store
from outweigh.store.dataset_manifest import refuse_dataset
from outweigh.store.durable_files import make_folder
from outweigh.store.find_stores import is_store_file
from outweigh.store.local_location import LocalLocation
from outweigh.store.parallel_calls import call_all
from outweigh.store.remote_location import RemoteLocation
from outweigh.store.store_address import is_address, split_address
from outweigh.store.store_files import artifact_digest
from outweigh.store.store_lock import StoreLock
from outweigh.store.store_snapshot import StoreSnapshot, take_snapshot
from outweigh.store.unfinished_copy import UNFINISHED_COPY_FILE, UnfinishedCopy


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRequest:
    """From where to where, each a folder or an address. With `check_artifacts`, those that are there are read, too."""

    source: str
    target: str
    check_artifacts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyResult:
    """What a copy came to. `replaced` are files that were other ones at the target, `damaged` are artifacts that do not
    match their hash at the source either.
    """

    files: int
    artifacts: int
    known_artifacts: int
    bytes: int
    replaced: tuple[str, ...]
    damaged: tuple[str, ...]
    evidence_sha256: str
    records: int


def copy_store(request: CopyRequest, notify: Notify) -> CopyResult:
    """Copy what the target lacks, and verify it."""
    source, target = _open(request.source), _open(request.target)
    if source.name == target.name:
        raise UsageError(f"{source.name} is both source and target; name two places.")
    with TemporaryDirectory(prefix="outweigh-copy-") as scratch, ExitStack() as held:
        return _Copy(source, target, Path(scratch), notify).run(held, check_artifacts=request.check_artifacts)


def _open(name: str) -> StoreLocation:
    if is_address(name):
        return RemoteLocation(name)
    refuse_bundle(Path(name))
    refuse_dataset(Path(name))
    return LocalLocation(Path(name))


class _Copy:
    """One copy, with a folder for what is on its way."""

    def __init__(self, source: StoreLocation, target: StoreLocation, scratch: Path, notify: Notify) -> None:
        self._source = source
        self._target = target
        self._scratch = scratch
        self._notify = notify
        self._numbers = count(1)
        self._counts: Counter[str] = Counter()
        self._damaged: list[str] = []

    def run(self, held: ExitStack, *, check_artifacts: bool) -> CopyResult:
        given, found = self._read_source(), self._read_target()
        refuse_other_store(given, found, self._source.name, self._target.name)
        wanted = _artifacts(self._source)
        there = _artifacts(self._target)
        known = [name for name, size in wanted.items() if there.get(name) == size]
        if check_artifacts:
            known = self._intact(known)
        missing = [name for name in wanted if name not in set(known)]
        files = [name for name, digest in given.digests.items() if found.digests.get(name) != digest]
        self._hold_target(held)
        if missing or files:
            self._mark()
            self._notify(f"copying {count_of(len(missing), 'artifact')} and {count_of(len(files), 'file')}")
        for _ in call_all(min(self._source.workers, self._target.workers), self._copy_artifact, missing):
            pass
        for name in files:
            self._put(name, given.path(name))
        evidence = self._verify(given, wanted)
        return CopyResult(
            files=len(files),
            artifacts=len(missing),
            known_artifacts=len(known),
            bytes=self._counts["bytes"],
            replaced=tuple(name for name in files if name in found.digests),
            damaged=tuple(self._damaged),
            evidence_sha256=evidence.hexdigest(),
            records=evidence.records,
        )

    def _read_source(self) -> StoreSnapshot:
        entries = self._source.entries("")
        if entries is None or not any(is_store_file(file.name) for file in entries.files):
            raise UsageError(f"{self._source.name} is no store; name one that `outweigh run` or `import` wrote.")
        if _is_marked(entries):
            raise EvidenceError(
                f"{self._source.name} is an unfinished copy itself. Finish it from where it was copied, then copy it "
                "on."
            )
        return take_snapshot(self._source, entries, self._folder("source"))

    def _read_target(self) -> StoreSnapshot:
        """What is at the target; a folder with other folders and no store holds stores, and is none itself."""
        folder = self._folder("target")
        entries = self._target.entries("")
        if entries is None:
            return StoreSnapshot(folder, {})
        others = [name for name in entries.folders if name != ARTIFACTS_FOLDER]
        if others and not _is_marked(entries) and not any(is_store_file(file.name) for file in entries.files):
            name = split_address(self._source.name)[1]
            raise UsageError(
                f"{self._target.name} holds other folders ({quote_names(others)}), so it is not made a store. Name a "
                f"folder in it, such as {self._target.name}/{name}."
            )
        return take_snapshot(self._target, entries, folder)

    def _folder(self, name: str) -> Path:
        folder = self._scratch / name
        folder.mkdir()
        return folder

    def _hold_target(self, held: ExitStack) -> None:
        """Nothing is run into a folder of this machine while it is copied to."""
        if isinstance(self._target, LocalLocation):
            make_folder(self._target.folder)
            held.callback(StoreLock.take(self._target.folder).release)

    def _mark(self) -> None:
        mark = UnfinishedCopy(source=split_address(self._source.name)[1], begun_at=datetime.now(UTC))
        path = self._scratch / UNFINISHED_COPY_FILE
        path.write_bytes(msgspec.json.encode(mark) + b"\n")
        self._target.put(UNFINISHED_COPY_FILE, path)

    def _copy_artifact(self, name: str) -> None:
        path = self._bring(self._source, name)
        if _digest(path) != artifact_digest(name):
            self._damaged.append(name)
        self._put(name, path)
        path.unlink()

    def _intact(self, names: list[str]) -> list[str]:
        """The artifacts of the target that match the hash they are named after."""

        def is_intact(name: str) -> bool:
            path = self._bring(self._target, name)
            matches = _digest(path) == artifact_digest(name)
            path.unlink()
            return matches

        answers = call_all(self._target.workers, is_intact, names)
        return [name for name, intact in zip(names, answers, strict=True) if intact]

    def _bring(self, location: StoreLocation, name: str) -> Path:
        path = self._scratch / f"file-{next(self._numbers)}"
        location.fetch(name, path)
        return path

    def _put(self, name: str, path: Path) -> None:
        self._target.put(name, path)
        self._counts["bytes"] += path.stat().st_size

    def _verify(self, given: StoreSnapshot, wanted: Mapping[str, int]) -> EvidenceHash:
        """Read the target back; the mark stays where anything is not what it was."""
        entries = self._target.entries("") or FolderEntries((), ())
        copied = take_snapshot(self._target, entries, self._folder("copied"))
        there = _artifacts(self._target)
        differ = [name for name, digest in given.digests.items() if copied.digests.get(name) != digest]
        differ += [name for name, size in wanted.items() if there.get(name) != size]
        evidence = given.evidence()
        if differ or copied.evidence() != evidence:
            what = quote_names(differ) if differ else "the hash of all records"
            raise EvidenceError(
                f"{self._target.name} is not what {self._source.name} is: {what} cannot be read back as it was copied. "
                "One of them may be written to. Copy again; until that ends well, the copy is no evidence."
            )
        if _is_marked(entries):
            self._target.remove(UNFINISHED_COPY_FILE)
        return evidence


def _is_marked(entries: FolderEntries) -> bool:
    return any(file.name == UNFINISHED_COPY_FILE for file in entries.files)


def _artifacts(location: StoreLocation) -> dict[str, int]:
    """The artifacts of a store with their sizes."""
    return {file.name: file.size for file in location.files_below(ARTIFACTS_FOLDER) if artifact_digest(file.name)}


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()
