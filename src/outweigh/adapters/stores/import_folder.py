"""A folder that records are imported into: each source once, each run once, readable like any folder of runs.

runs-import-<key>.jsonl   the records of one source, sealed, runs and judgments together
imports.json              the manifest
artifacts/                what was kept beside the runs
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from outweigh.adapters.stores.artifact_folder import ArtifactFolder
from outweigh.adapters.stores.fingerprint_table import FingerprintTable
from outweigh.adapters.stores.import_manifest import RECORDS_PREFIX, recall_imports, unfinished_imports
from outweigh.adapters.stores.import_tally import Tally
from outweigh.adapters.stores.sealed_line import sealed_judgment, sealed_run
from outweigh.adapters.stores.store_lock import StoreLock
from outweigh.adapters.stores.synced_folder import make_folder
from outweigh.adapters.stores.whole_file import write_whole
from outweigh.errors import EvidenceError, UsageError
from outweigh.record.codec import Record, decode_lines, encode, refuse
from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord


class ImportFolder:
    """Holds the folder's lock while it is open, and knows every record in it by a short hash.

    Hashes are this process's own: they cost next to nothing, and nobody else sees them. Should two of different records
    ever be the same, an import is refused; nothing is taken for what it is not.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held = ExitStack()
        self._artifacts = ArtifactFolder(folder / "artifacts")
        self.arms: dict[str, None] = {}
        """Every arm of the folder, in the order in which they came."""
        self._records = FingerprintTable()
        self._trials = FingerprintTable()

    def __enter__(self) -> Self:
        try:
            make_folder(self.folder)
            self._held.callback(StoreLock.take(self.folder).release)
            self._sweep()
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
        self.arms |= dict.fromkeys(tally.arms)
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
        self, records: Iterable[RunRecord | Judgment], tally: Tally, on_unfit: Callable[[str, str], None]
    ) -> Iterator[bytes]:
        for record in records:
            try:
                line = sealed_run(record) if isinstance(record, RunRecord) else sealed_judgment(record)
            except EvidenceError as fault:
                on_unfit(record.run_id, str(fault))
                continue
            # A line is the record, a tab and a checksum, and JSON holds no raw tab.
            key, digest = _key(record), hash(line.partition(b"\t")[0])
            known = self._records.claim(key, digest)
            if known is None:
                if isinstance(record, RunRecord) and self._trials.claim(_trial(record), key) is not None:
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
                record = located.record
                key = _key(record)
                self._records.claim(key, hash(encode(record)))
                if isinstance(record, RunRecord):
                    self._trials.claim(_trial(record), key)
                    self.arms[record.trial.arm] = None


def _key(record: Record) -> int:
    """What there can be only one of."""
    if isinstance(record, RunRecord):
        return hash((record.run_id, record.attempt))
    if isinstance(record, Judgment):
        judge = record.judge
        return hash((record.run_id, judge.name, judge.model, judge.rubric_sha256, record.pass_index))
    return hash(encode(record))


def _trial(run: RunRecord) -> int:
    """What two runs must not both stand for."""
    trial = run.trial
    return hash((trial.task_id, trial.arm, trial.repeat, run.attempt))
