"""A folder that records are imported into: each source once, each run once, readable like any folder of runs.

runs-import-<key>.jsonl   the records of one source, sealed, runs and judgments together
imports.json              the manifest
artifacts/                what was kept beside the runs
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from hashlib import blake2b, sha256
from pathlib import Path
from types import TracebackType
from typing import Self

from outweigh.adapters.stores.artifact_folder import ArtifactFolder
from outweigh.adapters.stores.import_manifest import recall_imports
from outweigh.adapters.stores.sealed_line import sealed_judgment, sealed_run
from outweigh.adapters.stores.store_lock import StoreLock
from outweigh.adapters.stores.synced_folder import make_folder
from outweigh.adapters.stores.whole_file import write_whole
from outweigh.errors import EvidenceError, UsageError
from outweigh.record.codec import Record, decode_lines, refuse
from outweigh.record.cost import UNKNOWN_COST
from outweigh.record.digest import record_digest
from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord
from outweigh.record.usage import NO_USAGE

_DIGEST_BYTES = 12
_UNKNOWN: dict[str, object] = dict.fromkeys(RunRecord.__struct_fields__) | {
    "usage": NO_USAGE,
    "cost": UNKNOWN_COST,
    "warnings": (),
    "artifacts": {},
    "extra": {},
}


class Tally:
    """What became of the records of one source.

    `known_fields` are the fields of a run that at least one of them knows something about. `clashes` are ids that
    stand for two different records, `rivals` runs that claim the trial of another.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.judgments = 0
        self.known_before = 0
        self.arms: dict[str, int] = {}
        self.tasks: set[str] = set()
        self.known_fields: set[str] = set()
        self.clashes: list[str] = []
        self.rivals: list[str] = []

    def count(self, record: RunRecord | Judgment) -> None:
        """One more that is new."""
        if isinstance(record, Judgment):
            self.judgments += 1
            return
        self.runs += 1
        self.arms[record.trial.arm] = self.arms.get(record.trial.arm, 0) + 1
        self.tasks.add(record.trial.task_id)
        for name in _UNKNOWN.keys() - self.known_fields:
            if getattr(record, name) != _UNKNOWN[name]:
                self.known_fields.add(name)


class ImportFolder:
    """Holds the folder's lock while it is open, and knows every record in it by a short hash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held = ExitStack()
        self._artifacts = ArtifactFolder(folder / "artifacts")
        self._known: dict[bytes, bytes] = {}

    def __enter__(self) -> Self:
        try:
            make_folder(self.folder)
            self._held.callback(StoreLock.take(self.folder).release)
            self.imports = list(recall_imports(self.folder))
            for path in sorted(self.folder.glob("*.jsonl")):
                self._learn(path)
        except OSError as fault:
            self._held.close()
            raise UsageError(
                f"{fault.filename or self.folder} cannot be used for runs: {fault.strerror}. Name a folder by -o."
            ) from fault
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def keep(self, content: bytes) -> str:
        """Put an artifact beside the records."""
        try:
            return self._artifacts.keep(content)
        except OSError as fault:
            raise EvidenceError(f"an artifact could not be kept in {self.folder}: {fault.strerror}.") from fault

    def write(self, name: str, records: Iterable[RunRecord | Judgment], on_unfit: Callable[[str, str], None]) -> Tally:
        """Write the records that are not there yet into a file of this name; the file is there whole or not at all.

        A record that could not be read again goes to `on_unfit`, by its id, with the reason.
        """
        tally = Tally()
        target = self.folder / name
        write_whole(target, self._new_lines(records, tally, on_unfit))
        if not tally.runs and not tally.judgments:
            # Readers of the folder take a file without a record for a mistake.
            target.unlink()
        return tally

    def remove(self, name: str) -> None:
        """Take back what was just written."""
        (self.folder / name).unlink(missing_ok=True)

    def _new_lines(
        self, records: Iterable[RunRecord | Judgment], tally: Tally, on_unfit: Callable[[str, str], None]
    ) -> Iterator[bytes]:
        for record in records:
            try:
                line = sealed_run(record) if isinstance(record, RunRecord) else sealed_judgment(record)
            except EvidenceError as fault:
                on_unfit(record.run_id, str(fault))
                continue
            # A line is the record, a tab and a checksum, and JSON holds no raw tab.
            key, digest = _key(record), sha256(line.partition(b"\t")[0]).digest()[:_DIGEST_BYTES]
            known = self._known.get(key)
            if known is None:
                self._known[key] = digest
                if not self._claim_trial(record, key):
                    tally.rivals.append(record.run_id)
                tally.count(record)
                yield line
            elif known == digest:
                tally.known_before += 1
            else:
                tally.clashes.append(record.run_id)

    def _learn(self, path: Path) -> None:
        with path.open("rb") as stream:
            for located in decode_lines(stream, str(path), refuse):
                key = _key(located.record)
                self._known[key] = record_digest(located.record)[:_DIGEST_BYTES]
                self._claim_trial(located.record, key)

    def _claim_trial(self, record: Record, key: bytes) -> bool:
        """Whether no other run stands for the same task, arm, repeat and attempt."""
        if not isinstance(record, RunRecord):
            return True
        trial = record.trial
        claim = _short("trial", trial.task_id, trial.arm, trial.repeat, record.attempt)
        return self._known.setdefault(claim, key) == key


def _key(record: Record) -> bytes:
    """What there can be only one of, in a few bytes."""
    if isinstance(record, RunRecord):
        return _short("run", record.run_id, record.attempt)
    if isinstance(record, Judgment):
        judge = record.judge
        return _short("judgment", record.run_id, judge.name, judge.model, judge.rubric_sha256, record.pass_index)
    return _short("preference", record_digest(record))


def _short(*parts: object) -> bytes:
    return blake2b(repr(parts).encode("utf-8", "backslashreplace"), digest_size=_DIGEST_BYTES).digest()
