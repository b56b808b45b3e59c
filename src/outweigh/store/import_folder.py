"""A folder that records are imported into: each source once, each run once, readable like any folder of runs.

runs-import-<key>.jsonl   the records of one source, sealed, runs and judgments together; many plain runs are packed
imports.json              the manifest
artifacts/                what was kept with the runs
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import numpy as np

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import RECORD_LINE_LIMIT, Record, encode
from outweigh.model.judgment import Judgment
from outweigh.model.line_seal import SEAL_BYTES, seal_all, unseal
from outweigh.model.packed_runs import pack_runs
from outweigh.model.run_columns import RunColumns
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST
from outweigh.score.arm_tally import ArmTally
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.durable_files import make_folder, open_atomic
from outweigh.store.fingerprint_table import FingerprintTable
from outweigh.store.line_places import LinePlaces
from outweigh.store.records import RECORDS_PREFIX, read_imports, unfinished_imports
from outweigh.store.sealed_lines import UNREADABLE, seal_judgment, seal_run
from outweigh.store.store_lock import LOCK_FILE, StoreLock

LINES_OF_THEIR_OWN = 10_000
"""So many runs of a source have lines of their own, as any program reads them; further blocks are packed, a line each.
"""

_PACKED_LIMIT = RECORD_LINE_LIMIT - SEAL_BYTES - 1
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
        if len(self._to_look_at) >= _BATCH_SIZE:
            self._look()

    def count_columns(self, runs: RunColumns) -> None:
        """Several runs that are new."""
        arms = runs.columns["trial.arm"]
        self.runs += len(arms)
        for arm, number in Counter(arms).items():
            self.arms[arm] = self.arms.get(arm, 0) + number
        self.tasks.update(runs.columns["trial.task_id"])
        self._to_look_at.append(runs.alike)
        for place in runs.places():
            name = place.partition(".")[0]
            if name not in self._known_fields and runs.tells(place, _UNKNOWN_VALUES.get(place)):
                self._known_fields.add(name)

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
    """Holds the folder's lock while it is open, and knows every record in it by a short hash of what tells it apart.

    Hashes are this process's own: they cost next to nothing, and nobody else sees them. Should two of different records
    ever be the same, an import is refused; nothing is taken for what it is not. Where a hash is known, the line that
    has it is read again and compared.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held = ExitStack()
        self._artifacts = ArtifactFolder.of_store(folder)
        self.arms: dict[str, ArmTally] = {}
        """Every arm of the folder as its records name it, in the order in which they came, with what was counted."""
        self._records = FingerprintTable()
        self._trials = FingerprintTable()
        self._lines = LinePlaces()
        self._is_new = False

    def __enter__(self) -> Self:
        self._is_new = not self.folder.exists()
        try:
            make_folder(self.folder)
            self._held.callback(self._lines.close)
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
        self, name: str, records: Iterable[RunRecord | Judgment | RunColumns], on_unfit: Callable[[str, str], None]
    ) -> ImportCounts:
        """Write the records that are not there yet into a file of this name; the file is there whole or not at all.

        A record that could not be read again goes to `on_unfit`, by its id, with the reason.
        """
        tally = ImportCounts()
        target = self.folder / name
        with open_atomic(target) as stream, self._lines.of_new_file(target, stream):
            for found in records:
                lines = self._block_lines(found, tally) if isinstance(found, RunColumns) else None
                if lines is not None:
                    stream.write(lines)
                    continue
                for record in found.records() if isinstance(found, RunColumns) else (found,):
                    stream.write(self._new_line(record, tally, on_unfit))
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

    def _block_lines(self, runs: RunColumns, tally: ImportCounts) -> bytes | None:
        """The lines of runs that are all new; None where they must be looked at one by one."""
        columns = runs.columns
        first = (1,) * len(runs)
        keys = _hashes((columns["run_id"], first))
        trials = _hashes((columns["trial.task_id"], columns["trial.arm"], columns["trial.repeat"], first))
        key_places = self._records.free_places(keys)
        trial_places = None if key_places is None else self._trials.free_places(trials)
        if trial_places is None:
            return None
        try:
            packed = pack_runs(runs) if tally.runs >= LINES_OF_THEIR_OWN else None
            records = runs.encoded() if packed is None or len(packed) > _PACKED_LIMIT else [packed]
        except UNREADABLE:
            return None
        places = self._lines.places([len(record) + SEAL_BYTES for record in records])
        self._records.claim_all(keys, np.broadcast_to(np.array(places, dtype=np.int64), keys.shape), key_places)
        self._trials.claim_all(trials, keys, trial_places)
        tally.count_columns(runs)
        rows: dict[str, list[int]] = defaultdict(list)
        for row, arm in enumerate(columns["trial.arm"]):
            rows[arm].append(row)
        for arm, own in rows.items():
            self._tally(arm).add_columns(runs, own)
        return seal_all(records)

    def _new_line(
        self, record: RunRecord | Judgment, tally: ImportCounts, on_unfit: Callable[[str, str], None]
    ) -> bytes:
        """The line of a record; empty where it is not new, or cannot be kept."""
        try:
            line = seal_run(record) if isinstance(record, RunRecord) else seal_judgment(record)
        except EvidenceError as fault:
            on_unfit(record.run_id, str(fault))
            return b""
        key = _record_key(record)
        known = self._records.claim(key, self._lines.next_place)
        if known is not None:
            if self._lines.says(known, unseal(line)):
                tally.known_before += 1
            else:
                tally.clashes.append(record.run_id)
            return b""
        self._lines.places((len(line),))
        tally.count(record)
        if isinstance(record, RunRecord):
            if self._trials.claim(_trial_key(record), key) is not None:
                tally.rivals.append(record.run_id)
            self._tally(record.trial.arm).add(record)
        return line

    def _learn(self, path: Path) -> None:
        with path.open("rb") as stream:
            for place, record in self._lines.of_file(path, stream):
                key = _record_key(record)
                self._records.claim(key, place)
                if isinstance(record, RunRecord):
                    self._trials.claim(_trial_key(record), key)
                    self._tally(record.trial.arm).add(record)

    def _tally(self, arm: str) -> ArmTally:
        found = self.arms.get(arm)
        if found is None:
            found = self.arms[arm] = ArmTally()
        return found


def _hashes(columns: Sequence[Sequence[Any]]) -> Any:
    """The keys of many rows, each like that of a single record."""
    return np.fromiter(map(hash, zip(*columns, strict=True)), np.int64, len(columns[0]))


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
