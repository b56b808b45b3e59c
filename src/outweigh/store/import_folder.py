"""A folder that records are imported into: each source once, each run once, readable like any folder of runs.

runs-import-<key>.jsonl   the records of one source, sealed, runs and judgments together
imports.json              the manifest
artifacts/                what was kept with the runs
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import Record, decode_lines, encode, refuse_invalid
from outweigh.model.judgment import Judgment
from outweigh.model.line_seal import unseal
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST
from outweigh.score.arm_tally import ArmTally
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.durable_files import make_folder, write_atomic
from outweigh.store.records import RECORDS_PREFIX, read_imports, unfinished_imports
from outweigh.store.sealed_lines import seal_judgment, seal_run
from outweigh.store.store_lock import LOCK_FILE, StoreLock

_FIRST_SLOTS = 1024


class FingerprintTable:
    """Numbers of 64 bits by such numbers, in places that are found by the key's last bits; grows before it is full."""

    def __init__(self) -> None:
        self._places(_FIRST_SLOTS)

    def claim(self, key: int, value: int) -> int | None:
        """Who has this key; nobody had it before where None is returned, and now this value has."""
        key = key or 1  # a 0 is a free place
        keys, mask = self._keys, self._mask
        place = key & mask
        while found := keys[place]:
            if found == key:
                return self._values[place]
            place = (place + 1) & mask
        keys[place] = key
        self._values[place] = value
        self._free -= 1
        if not self._free:
            self._grow()
        return None

    def _places(self, number: int) -> None:
        self._keys = array("q", bytes(8 * number))
        self._values = array("q", bytes(8 * number))
        self._mask = number - 1
        self._free = number // 2

    def _grow(self) -> None:
        """Twice the places; they are half full at most, so that a key is never far from where it is looked for."""
        before = zip(self._keys, self._values, strict=True)
        self._places(2 * len(self._keys))
        keys, values, mask = self._keys, self._values, self._mask
        for key, value in before:
            if key:
                place = key & mask
                while keys[place]:
                    place = (place + 1) & mask
                keys[place] = key
                values[place] = value
                self._free -= 1


_BATCH_SIZE = 500
_UNKNOWN_VALUES: dict[str, object] = dict.fromkeys(RunRecord.__struct_fields__) | {
    "usage": NO_USAGE,
    "cost": UNKNOWN_COST,
    "warnings": (),
    "artifacts": {},
    "extra": {},
}


class ImportCounts:
    """Counts of what is new and what was known.

    `clashes` are ids that stand for two different records, `rivals` runs that claim the trial of another.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.judgments = 0
        self.known_before = 0
        self.arms: dict[str, int] = {}
        self.tasks: set[str] = set()
        self.clashes: list[str] = []
        self.rivals: list[str] = []
        self._known_fields: set[str] = set()
        self._to_look_at: list[RunRecord] = []

    def count(self, record: RunRecord | Judgment) -> None:
        """One more that is new."""
        if isinstance(record, Judgment):
            self.judgments += 1
            return
        trial = record.trial
        self.runs += 1
        self.arms[trial.arm] = self.arms.get(trial.arm, 0) + 1
        self.tasks.add(trial.task_id)
        self._to_look_at.append(record)
        if len(self._to_look_at) == _BATCH_SIZE:
            self._look()

    @property
    def known_fields(self) -> frozenset[str]:
        """The fields of a run that at least one of them knows something about."""
        self._look()
        return frozenset(self._known_fields)

    def _look(self) -> None:
        """Many at once: most fields are unknown to all runs of a source, and would be asked for again and again."""
        columns = zip(*map(msgspec.structs.astuple, self._to_look_at), strict=True)
        for (name, unknown), column in zip(_UNKNOWN_VALUES.items(), columns, strict=False):
            if name not in self._known_fields and column.count(unknown) < len(column):
                self._known_fields.add(name)
        self._to_look_at.clear()


class ImportFolder:
    """Holds the folder's lock while it is open, and knows every record in it by a short hash.

    Hashes are this process's own: they cost next to nothing, and nobody else sees them. Should two of different records
    ever be the same, an import is refused; nothing is taken for what it is not.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held = ExitStack()
        self._artifacts = ArtifactFolder.of_store(folder)
        self.arms: dict[str, ArmTally] = {}
        """Every arm of the folder as its records name it, in the order in which they came, with what was counted."""
        self._records = FingerprintTable()
        self._trials = FingerprintTable()
        self._is_new = False

    def __enter__(self) -> Self:
        self._is_new = not self.folder.exists()
        try:
            make_folder(self.folder)
            self._held.callback(StoreLock.take(self.folder).release)
            self._sweep()
            self.imports = list(read_imports(self.folder))
            for path in sorted(self.folder.glob("*.jsonl")):
                self._learn(path)
        except OSError as fault:
            self._held.close()
            raise UsageError(
                f"{fault.filename or self.folder} cannot be used for runs: {fault.strerror}. Name a folder with -o."
            ) from fault
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._is_new:
            self._remove_if_empty()
        self._held.close()

    def _remove_if_empty(self) -> None:
        """Leave nothing of a folder that this import made and put nothing into; its lock is still held."""
        if [entry.name for entry in self.folder.iterdir()] == [LOCK_FILE]:
            (self.folder / LOCK_FILE).unlink()
            self.folder.rmdir()

    def keep(self, content: bytes) -> str:
        """Put an artifact beside the records."""
        try:
            return self._artifacts.keep(content)
        except OSError as fault:
            raise EvidenceError(f"an artifact could not be kept in {self.folder}: {fault.strerror}.") from fault

    def write(
        self, name: str, records: Iterable[RunRecord | Judgment], on_unfit: Callable[[str, str], None]
    ) -> ImportCounts:
        """Write the records that are not there yet into a file of this name; the file is there whole or not at all.

        A record that could not be read again goes to `on_unfit`, by its id, with the reason.
        """
        tally = ImportCounts()
        target = self.folder / name
        write_atomic(target, self._new_lines(records, tally, on_unfit))
        if not tally.runs and not tally.judgments:
            # Readers of the folder take a file without a record for a mistake.
            target.unlink()
        return tally

    def remove(self, name: str) -> None:
        """Take back what was just written."""
        (self.folder / name).unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Remove what imports left that were killed: nobody knows what is missing there, and it will be read again."""
        for path in (*unfinished_imports(self.folder), *self.folder.glob(f".{RECORDS_PREFIX}*.jsonl.*")):
            path.unlink()
        self._artifacts.sweep()

    def _new_lines(
        self, records: Iterable[RunRecord | Judgment], tally: ImportCounts, on_unfit: Callable[[str, str], None]
    ) -> Iterator[bytes]:
        for record in records:
            try:
                line = seal_run(record) if isinstance(record, RunRecord) else seal_judgment(record)
            except EvidenceError as fault:
                on_unfit(record.run_id, str(fault))
                continue
            key, digest = _record_key(record), hash(unseal(line))
            known = self._records.claim(key, digest)
            if known is None:
                if isinstance(record, RunRecord) and self._trials.claim(_trial_key(record), key) is not None:
                    tally.rivals.append(record.run_id)
                tally.count(record)
                if isinstance(record, RunRecord):
                    self._count(record)
                yield line
            elif known == digest:
                tally.known_before += 1
            else:
                tally.clashes.append(record.run_id)

    def _learn(self, path: Path) -> None:
        with path.open("rb") as stream:
            for located in decode_lines(stream, str(path), refuse_invalid):
                record = located.record
                key = _record_key(record)
                self._records.claim(key, hash(encode(record)))
                if isinstance(record, RunRecord):
                    self._trials.claim(_trial_key(record), key)
                    self._count(record)

    def _count(self, run: RunRecord) -> None:
        arm = self.arms.get(run.trial.arm)
        if arm is None:
            arm = self.arms[run.trial.arm] = ArmTally()
        arm.add(run)


def _record_key(record: Record) -> int:
    """What there can be only one of."""
    if isinstance(record, RunRecord):
        return hash((record.run_id, record.attempt))
    if isinstance(record, Judgment):
        judge = record.judge
        return hash((record.run_id, judge.name, judge.model, judge.rubric_sha256, record.pass_index))
    return hash(encode(record))


def _trial_key(run: RunRecord) -> int:
    """What two runs must not both stand for."""
    trial = run.trial
    return hash((trial.task_id, trial.arm, trial.repeat, run.attempt))
