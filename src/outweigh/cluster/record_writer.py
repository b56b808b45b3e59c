"""How a lead takes in what hosts offer: each record is stored before anyone hears of it, late ones beside the record of
their loss, and what has no record is closed.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from threading import RLock

import msgspec

from outweigh.cluster.kept_records import KeptRecords
from outweigh.cluster.lead_state import LeadState, LostAttempt
from outweigh.cluster.messages import AttemptKey, OfferedRecord
from outweigh.cluster.open_attempts import OpenAttempts
from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.lost_record import LossReason, late_record, lost_record
from outweigh.engine.trial_plan import PlannedRun
from outweigh.errors import EvidenceError
from outweigh.model.base import Json
from outweigh.model.codec import decode
from outweigh.model.failure import EXCLUDED_STATUSES, FailureKind, Status
from outweigh.model.run_record import RunRecord


class RecordWriter:
    """Takes records for a lead, whose `lock` it uses. `to_charge` are late ones that no attempt of the batch pays for.

    `fault` is why no record can be stored any more.
    """

    def __init__(
        self,
        state: LeadState,
        stored: KeptRecords,
        awaited: OpenAttempts,
        lock: RLock,
        suite: LoadedSuite,
        labels: Json,
        say: Callable[[str], None],
    ) -> None:
        self.to_charge: deque[RunRecord] = deque()
        self.fault: Exception | None = None
        self._state = state
        self._stored = stored
        self._awaited = awaited
        self._lock = lock
        self._suite = suite
        self._labels = labels
        self._say = say
        self._superseded: set[AttemptKey] = set()

    def is_stored(self, offer: OfferedRecord) -> bool:
        """Whether the record is here already, so that its artifacts need not be fetched."""
        try:
            record = _record_of(offer)
        except ValueError:
            return False
        with self._lock:
            return self._stored.has(record)

    def take(self, host: str, offers: Sequence[OfferedRecord], artifacts: Mapping[str, bytes]) -> None:
        """Store records that their caller has claimed, with one write where they can be, and let their host forget
        them.
        """
        first: list[tuple[OfferedRecord, RunRecord]] = []
        taken: list[AttemptKey] = []
        try:
            for offer in offers:
                try:
                    self._take(offer, _record_of(offer), {**offer.artifacts, **artifacts}, first)
                    taken.append(offer.key)
                except ValueError as fault:
                    self._close_unreadable(offer, fault)
            self._append(first)
            with self._lock:
                self._state.acknowledge(host, taken)
        except EvidenceError as fault:  # the disk of the lead: the host keeps the records
            self.fault = fault
        finally:
            self._stored.let_go(offer.key for offer in offers)

    def lose(self, lost: LostAttempt) -> None:
        """Close an attempt as lost, unless its record is being stored at this moment."""
        key = lost.order.key
        if not self._stored.claim([key]):
            return
        try:
            self._close(lost)
        finally:
            self._stored.let_go([key])

    def close_lost(self, planned: PlannedRun, attempt: int, reason: LossReason) -> FinishedAttempt:
        """Record that an attempt took place and has no result."""
        record = lost_record(planned, attempt, self._suite, self._labels, reason)
        self._stored.append(record)
        return FinishedAttempt(record=record, retry_after_seconds=None, may_retry=True)

    def fail(self, key: AttemptKey, reason: str) -> None:
        """An attempt broke the experiment."""
        with self._lock:
            self._state.close(key)
            future = self._awaited.take(key)
        if future is not None:
            future.set_exception(EvidenceError(reason))

    def _take(
        self,
        offer: OfferedRecord,
        record: RunRecord,
        artifacts: Mapping[str, bytes],
        first: list[tuple[OfferedRecord, RunRecord]],
    ) -> None:
        """Keep a record's artifacts and add it to `first`, or store it at once where its attempt is closed."""
        whole = _without_damaged(record, artifacts)
        with self._lock:
            closed = self._stored.of(offer.key)
            is_late = closed is not None or offer.key in self._superseded
            if self._stored.has(record) or self._stored.has(whole):
                if closed is not None and offer.key in self._awaited:
                    self._resolve(offer.key, _finished(offer, closed))
                return
        self._stored.keep(whole, artifacts)
        if not is_late:
            first.append((offer, whole))
            return
        self._append(first)  # one of them may have settled the trial
        first.clear()
        self._store_late(offer, whole, closed)

    def _append(self, first: Sequence[tuple[OfferedRecord, RunRecord]]) -> None:
        if first:
            self._stored.append_all([record for _, record in first])
        for offer, record in first:
            self._resolve(offer.key, _finished(offer, record))

    def _store_late(self, offer: OfferedRecord, record: RunRecord, closed: RunRecord | None) -> None:
        """Keep a record whose attempt is closed: as the trial's result where it has none, else for what it cost."""
        with self._lock:
            trial = record.trial.key
            number = self._stored.last_attempt(trial) + 1
            late = late_record(record, closed, number, settled=self._stored.is_settled(trial))
            self._stored.append(late)
            made = _finished(offer, late)
            retry = self._awaited.of_trial(trial)
            if late.status not in EXCLUDED_STATUSES and retry is not None:
                self._superseded.add(retry)
                self._state.end(retry)
                self._resolve(retry, made)
                return
            self.to_charge.append(late)
            if late.status not in EXCLUDED_STATUSES:
                self._awaited.keep_late(made)

    def _close_unreadable(self, offer: OfferedRecord, fault: ValueError) -> None:
        """The host keeps the record; the run does not wait for it."""
        self._say(f"a host sent a record of {offer.run_id} that cannot be read: {fault}")
        with self._lock:
            given = self._state.given.get(offer.key)
        if given is not None:
            self._close(LostAttempt(order=given.order, cost=given.cost, reason="its record cannot be read"))

    def _close(self, lost: LostAttempt) -> None:
        key = lost.order.key
        with self._lock:
            planned = self._awaited.plan_of(key)
        if planned is not None:
            reason = LossReason(f"the attempt was lost: {lost.reason}", lost.cost)
            made = self.close_lost(planned, lost.order.attempt, reason)
            self._resolve(key, replace(made, may_come_late=lost.may_come_late))

    def _resolve(self, key: AttemptKey, made: FinishedAttempt) -> None:
        """Tell the batch; a result that it has not asked for yet is kept for when it does."""
        with self._lock:
            self._state.close(key)
            future = self._awaited.take(key)
            if future is None:
                self._awaited.keep_early(key, made)
        if future is not None:
            future.set_result(made)


def _record_of(offer: OfferedRecord) -> RunRecord:
    record = decode(offer.line)
    if not isinstance(record, RunRecord) or (record.run_id, record.attempt) != offer.key:
        raise ValueError("it is of another attempt")
    return record


def _without_damaged(record: RunRecord, artifacts: Mapping[str, bytes]) -> RunRecord:
    """The record as it is where all its artifacts came as they were kept; else it is no result, but has its cost."""
    whole = {digest for digest, content in artifacts.items() if sha256(content).hexdigest() == digest}
    damaged = sorted(name for name, digest in record.artifacts.items() if digest not in whole)
    if not damaged:
        return record
    return msgspec.structs.replace(
        record,
        status=Status.INFRA_ERROR,
        status_detail=f"artifact {damaged[0]} was lost or changed on the host; it had ended as {record.status.value}",
        artifacts={name: digest for name, digest in record.artifacts.items() if digest in whole},
    )


def _finished(offer: OfferedRecord, record: RunRecord) -> FinishedAttempt:
    return FinishedAttempt(
        record=record,
        retry_after_seconds=offer.retry_after_seconds,
        may_retry=offer.may_retry,
        failure_kind=None if offer.failure_kind is None else FailureKind(offer.failure_kind),
    )
