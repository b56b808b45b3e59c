"""Which records the store of a lead has, by attempt and by trial, and those that are being stored at this moment."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from threading import RLock

from outweigh.cluster.messages import AttemptKey
from outweigh.engine.experiment import RunLooks
from outweigh.engine.lost_record import late_id
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.run_record import LATE_LABEL, RunRecord, TrialKey
from outweigh.ports.stores import GroupRunStore


class KeptRecords:
    """The records of a lead. `lock` is the lead's own; it is not held while something is written."""

    def __init__(self, store: GroupRunStore, looks: RunLooks | None, lock: RLock) -> None:
        self._store = store
        self._looks = looks
        self._lock = lock
        self._by_attempt: dict[AttemptKey, RunRecord] = {}
        self._settled: set[TrialKey] = set()
        self._last_attempt: dict[TrialKey, int] = {}
        self._late_ids: set[str] = set()
        self._claimed: set[AttemptKey] = set()
        for records in store.finished().values():
            for record in records:
                self._remember(record)

    def __contains__(self, key: AttemptKey) -> bool:
        return key in self._by_attempt

    def of(self, key: AttemptKey) -> RunRecord | None:
        """The record of an attempt."""
        return self._by_attempt.get(key)

    def has(self, record: RunRecord) -> bool:
        """Whether this record is here, as it was offered or as a late one; that of its loss is not it."""
        closed = self._by_attempt.get((record.run_id, record.attempt))
        if closed is None:
            return late_id(record.run_id) in self._late_ids
        return closed == record or LATE_LABEL in closed.extra or late_id(record.run_id) in self._late_ids

    def is_settled(self, trial: TrialKey) -> bool:
        """Whether the trial has a result."""
        return trial in self._settled

    def last_attempt(self, trial: TrialKey) -> int:
        """The number of the last attempt at a trial; 0 where none was begun."""
        return self._last_attempt.get(trial, 0)

    def note_attempt(self, trial: TrialKey, number: int) -> None:
        """An attempt is begun."""
        self._last_attempt[trial] = max(number, self.last_attempt(trial))

    def claim(self, keys: Collection[AttemptKey]) -> set[AttemptKey]:
        """Those of the attempts that nobody else is closing now; let them go when they are closed."""
        with self._lock:
            free = set(keys) - self._claimed
            self._claimed |= free
            return free

    def let_go(self, keys: Iterable[AttemptKey]) -> None:
        """The attempts are closed, or could not be."""
        with self._lock:
            self._claimed.difference_update(keys)

    def is_claimed(self, key: AttemptKey) -> bool:
        """Whether a record of the attempt is being stored."""
        return key in self._claimed

    def keep(self, record: RunRecord, artifacts: Mapping[str, bytes]) -> None:
        """Store the artifacts that a record names, which are given by their hashes."""
        for digest in dict.fromkeys(record.artifacts.values()):
            self._store.keep(artifacts[digest])

    def append(self, record: RunRecord) -> None:
        """Store a record whose artifacts are kept."""
        self.append_all([record])

    def append_all(self, records: Sequence[RunRecord]) -> None:
        """Store records whose artifacts are kept, with one write."""
        self._store.append_all(records)
        with self._lock:
            for record in records:
                self._remember(record)
        if self._looks is not None:
            for record in records:
                self._looks.add(record)

    def _remember(self, record: RunRecord) -> None:
        self._by_attempt[record.run_id, record.attempt] = record
        if LATE_LABEL in record.extra:
            self._late_ids.add(record.run_id)
        self.note_attempt(record.trial.key, record.attempt)
        if record.status not in EXCLUDED_STATUSES:
            self._settled.add(record.trial.key)
