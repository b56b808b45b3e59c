"""The executor of a lead: attempts are given to hosts, and their records stored here before anyone hears of them.

It knows no transport: whoever has one asks it what to say to a host, and hands it what the host answered.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from hashlib import sha256
from threading import Event, RLock
from time import sleep

import msgspec

from outweigh.cluster.lead_state import LeadState, LostAttempt
from outweigh.cluster.lease import Clock, boot_clock
from outweigh.cluster.messages import (
    AttemptKey,
    AttemptOrder,
    ExchangeReply,
    ExchangeRequest,
    HostState,
    OfferedRecord,
)
from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.budget import Budget
from outweigh.engine.events import EventListener, note_event
from outweigh.engine.executor import DoneFutures
from outweigh.engine.experiment import RunLooks
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.lost_record import LossReason, late_id, late_record, lost_record
from outweigh.engine.trial_plan import PlannedRun, run_id_of
from outweigh.errors import EvidenceError
from outweigh.model.base import Json
from outweigh.model.codec import Attempt, decode
from outweigh.model.failure import EXCLUDED_STATUSES, FailureKind, Status
from outweigh.model.run_record import LATE_LABEL, RunRecord, TrialKey, most_paid
from outweigh.model.usage import UNKNOWN_COST
from outweigh.ports.stores import RunStore

WAIT_SECONDS = 0.1
NO_HOST_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadSetting:
    """What a lead works with."""

    suite: LoadedSuite
    labels: Json
    store: RunStore
    looks: RunLooks | None
    cancel: Event
    listen: EventListener
    waiting_hint: str
    clock: Clock = boot_clock


class ClusterExecutor:
    """An AttemptExecutor whose attempts are made by hosts.

    The thread of the batch calls `slots` to `close`; those of the transport call the others. `close` waits until the
    transport has told the hosts that they are free, which `stop_transport` does. `on_work` is called with the address
    of a host that something is to be said to, None for all. `budgets` are what late records of an arm are paid from.
    """

    def __init__(self, state: LeadState, setting: LeadSetting, stop_transport: Callable[[], None]) -> None:
        self._state = state
        self._setting = setting
        self._stop_transport = stop_transport
        self._lock = RLock()
        self._futures: dict[AttemptKey, Future[FinishedAttempt]] = {}
        self._plans: dict[AttemptKey, PlannedRun] = {}
        self._stored: dict[AttemptKey, RunRecord] = {}
        self._storing: set[AttemptKey] = set()
        self._counted: dict[TrialKey, RunRecord] = {}
        self._last_attempt: dict[TrialKey, int] = {}
        self._late_ids: set[str] = set()
        # Results that came before the batch asked for them: of an attempt that it will start, and late ones of a trial.
        self._arrived: dict[AttemptKey, FinishedAttempt] = {}
        self._came_late: dict[TrialKey, FinishedAttempt] = {}
        self._superseded: set[AttemptKey] = set()
        self._gone: set[AttemptKey] = set()
        self._to_charge: deque[RunRecord] = deque()
        self._notes: deque[str] = deque()
        self._said: set[str] = set()
        self._fault: Exception | None = None
        self._began = self.now()
        self.on_work: Callable[[str | None], None] = lambda _: None
        self.budgets: Callable[[str], Sequence[Budget]] = lambda _: ()
        for records in setting.store.finished().values():
            for record in records:
                self._remember(record)

    # The thread of the batch.

    @property
    def slots(self) -> int:
        """How many attempts all hosts together make at once now."""
        with self._lock:
            return self._state.slots

    def start(self, planned: PlannedRun, attempt: int) -> Future[FinishedAttempt] | None:
        """Give an attempt to a host, or take over what a host still makes or made of it."""
        trial = planned.trial
        order = AttemptOrder(
            run_id=run_id_of(trial, attempt),
            trial=trial,
            block=planned.block,
            position=planned.position,
            attempt=attempt,
        )
        with self._lock:
            if (late := self._came_late.pop(trial.key, None)) is not None:
                return self._hand_out_late(late)
            if (made := self._arrived.pop(order.key, None)) is not None:
                return _done(made)
            if order.key in self._storing:
                return None
            is_made = self._state.adopt(order)
            if not is_made and not self._state.has_place(trial.arm, self.now()):
                return None
            future: Future[FinishedAttempt] = Future()
            self._futures[order.key], self._plans[order.key] = future, planned
            self._last_attempt[trial.key] = max(attempt, self._last_attempt.get(trial.key, 0))
        if not is_made:
            self._setting.store.begin(order.run_id, trial, attempt)
            with self._lock:
                address = self._state.give(order, self.now())
            self.on_work(address)
        return future

    def wait(self, done: DoneFutures, timeout: float) -> None:
        """Wait until a record has come, and say what happened meanwhile."""
        done.wait(timeout)
        if self._setting.cancel.is_set():
            self._cancel()
        self._settle_accounts()
        if self._fault is not None:
            raise self._fault

    def now(self) -> float:
        """The time of this machine since it was started."""
        return self._setting.clock()

    def close(self) -> None:
        """Free the hosts, and end the connections."""
        with self._lock:
            # After a fault the hosts go on, and the next lead takes over what they make.
            self._state.released = self._fault is None
        self._stop_transport()
        self._settle_accounts()

    def recover(self, abandoned: Sequence[Attempt]) -> list[Attempt]:
        """Ask the hosts, for a lease, what became of attempts that an earlier lead left open.

        Their records are stored, what is still running is taken over when the batch starts it, and the others are
        returned: nobody has them.
        """
        deadline = self.now() + self._state.lease_seconds
        left = list(abandoned)
        while left and self.now() < deadline and not self._setting.cancel.is_set():
            with self._lock:
                left = [each for each in abandoned if not self._is_answered((each.run_id, each.attempt))]
            sleep(WAIT_SECONDS)
        with self._lock:
            keys = {(each.run_id, each.attempt): each for each in abandoned}
            return [
                each
                for key, each in keys.items()
                if key not in self._stored and key not in self._state.running_elsewhere
            ]

    def close_lost(self, planned: PlannedRun, attempt: int, detail: str) -> None:
        """Record that an attempt of an earlier lead was lost."""
        self._append(lost_record(planned, attempt, self._setting.suite, self._setting.labels, _unknown(detail)))

    # The threads of the transport.

    def request_for(self, address: str) -> ExchangeRequest:
        """What to say to the host at this address."""
        with self._lock:
            self._state.place_waiting(self.now())
            return self._state.request_for(address)

    def is_stored(self, offer: OfferedRecord) -> bool:
        """Whether the record is here already, so that its artifacts need not be fetched.

        A record of the loss of its attempt is not it.
        """
        try:
            record = _record_of(offer)
        except ValueError:
            return False
        with self._lock:
            return self._is_here(offer, record)

    def take_reply(
        self, address: str, request: ExchangeRequest, reply: ExchangeReply, artifacts: Mapping[str, bytes]
    ) -> None:
        """Take in what a host answered to this request; `artifacts` are the large ones that it offers, by hash."""
        with self._lock:
            findings = self._state.take_reply(address, request, reply, self.now())
            offers = [offer for offer in findings.offers if offer.key not in self._storing]
            self._storing.update(offer.key for offer in offers)
            self._describe(reply)
            for key in findings.left_open:
                self._gone.add(key)
                if key in self._stored:
                    self._state.acknowledge(reply.host, [key])
        for lost in findings.lost:
            self._lose(lost)
            with self._lock:
                self._state.acknowledge(reply.host, [lost.order.key])
        for key, reason in findings.broken:
            self._break(key, reason)
        for offer in offers:
            self._take_offer(reply.host, offer, artifacts)

    def take_offer(self, host: str, offer: OfferedRecord, artifacts: Mapping[str, bytes]) -> None:
        """Store a record whose large artifacts were fetched since it was offered."""
        with self._lock:
            if offer.key in self._storing:
                return
            self._storing.add(offer.key)
        self._take_offer(host, offer, artifacts)

    def fail(self, fault: Exception) -> None:
        """The transport has ended and does not come back: the run ends, and hosts keep what they have."""
        self._fault = fault

    def tick(self) -> None:
        """Give up what was not heard of for a lease, and say what nobody waits for in silence."""
        with self._lock:
            lost = self._state.take_silence(self.now())
            waits = not self._state.hosts and self.now() - self._began > NO_HOST_SECONDS
        for each in lost:
            self._lose(each)
        if waits:
            self._say_once(self._setting.waiting_hint)

    def say(self, words: str) -> None:
        """Tell who watches the run, once."""
        with self._lock:
            self._say_once(words)

    # Both.

    def _take_offer(self, host: str, offer: OfferedRecord, artifacts: Mapping[str, bytes]) -> None:
        try:
            self._store_offer(offer, _record_of(offer), {**offer.artifacts, **artifacts})
            with self._lock:
                self._state.acknowledge(host, [offer.key])
        except EvidenceError as fault:  # the disk of the lead: the host keeps the record
            self._fault = fault
        except ValueError as fault:
            self._close_unreadable(offer, fault)
        finally:
            with self._lock:
                self._storing.discard(offer.key)

    def _store_offer(self, offer: OfferedRecord, record: RunRecord, artifacts: Mapping[str, bytes]) -> None:
        with self._lock:
            closed = self._stored.get(offer.key)
            is_late = closed is not None or offer.key in self._superseded
            whole = _without_damaged(record, artifacts)
            if self._is_here(offer, record) or self._is_here(offer, whole):
                if closed is not None and offer.key in self._futures:
                    self._resolve(offer.key, _finished(offer, closed))
                return
        record = whole
        for digest in dict.fromkeys(record.artifacts.values()):
            self._setting.store.keep(artifacts[digest])
        if is_late:
            self._store_late(offer, record, closed)
            return
        self._append(record)
        self._resolve(offer.key, _finished(offer, record))

    def _is_here(self, offer: OfferedRecord, record: RunRecord) -> bool:
        closed = self._stored.get(offer.key)
        return late_id(record.run_id) in self._late_ids or (closed is not None and _is_same(closed, record))

    def _close_unreadable(self, offer: OfferedRecord, fault: ValueError) -> None:
        """The host keeps the record; the run does not wait for it."""
        self.say(f"a host sent a record of {offer.run_id} that cannot be read: {fault}")
        with self._lock:
            given = self._state.given.get(offer.key)
        if given is not None:
            self._close_lost(LostAttempt(order=given.order, cost=given.cost, reason="its record cannot be read"))

    def _store_late(self, offer: OfferedRecord, record: RunRecord, closed: RunRecord | None) -> None:
        """Keep a record whose attempt is closed: as the trial's result where it has none, else for what it cost."""
        with self._lock:
            trial = record.trial.key
            settled = trial in self._counted
            late = late_record(record, closed, self._last_attempt.get(trial, record.attempt), settled=settled)
            self._append(late)
            made = _finished(offer, late)
            retry = next((key for key, each in self._plans.items() if each.trial.key == trial), None)
            if late.status not in EXCLUDED_STATUSES and retry is not None:
                self._superseded.add(retry)
                self._state.end(retry)
                self._resolve(retry, made)
                return
            self._to_charge.append(late)
            if late.status not in EXCLUDED_STATUSES:
                self._came_late[trial] = made

    def _append(self, record: RunRecord) -> None:
        self._setting.store.append(record)
        with self._lock:
            self._remember(record)
        if self._setting.looks is not None:
            self._setting.looks.add(record)

    def _remember(self, record: RunRecord) -> None:
        self._stored[record.run_id, record.attempt] = record
        if LATE_LABEL in record.extra:
            self._late_ids.add(record.run_id)
        trial = record.trial.key
        self._last_attempt[trial] = max(record.attempt, self._last_attempt.get(trial, 0))
        if record.status not in EXCLUDED_STATUSES:
            self._counted[trial] = record

    def _resolve(self, key: AttemptKey, made: FinishedAttempt) -> None:
        """Tell the batch; a result that it has not asked for yet is kept for when it does."""
        with self._lock:
            self._state.close(key)
            future = self._futures.pop(key, None)
            self._plans.pop(key, None)
            if future is None:
                self._arrived[key] = made
        if future is not None:
            future.set_result(made)

    def _lose(self, lost: LostAttempt) -> None:
        """Close an attempt as lost, unless its record is being stored at this moment."""
        key = lost.order.key
        with self._lock:
            if key in self._storing:
                return
            self._storing.add(key)
        try:
            self._close_lost(lost)
        finally:
            with self._lock:
                self._storing.discard(key)

    def _close_lost(self, lost: LostAttempt) -> None:
        key = lost.order.key
        with self._lock:
            planned = self._plans.get(key)
        if planned is None:
            return
        record = lost_record(
            planned,
            lost.order.attempt,
            self._setting.suite,
            self._setting.labels,
            LossReason(f"the attempt was lost: {lost.reason}", lost.cost),
        )
        self._append(record)
        self._resolve(key, FinishedAttempt(record=record, retry_after_seconds=None, may_retry=True))

    def _break(self, key: AttemptKey, reason: str) -> None:
        with self._lock:
            self._state.close(key)
            future = self._futures.pop(key, None)
            self._plans.pop(key, None)
        if future is not None:
            future.set_exception(EvidenceError(reason))

    def _cancel(self) -> None:
        """End everything: what runs by telling the hosts, what has no host yet at once."""
        with self._lock:
            self._state.cancelled = True
            waiting = self._state.waiting
        self.on_work(None)
        for order in waiting:
            self._lose(LostAttempt(order=order, cost=UNKNOWN_COST, reason="the run was cancelled before it began"))

    def _hand_out_late(self, made: FinishedAttempt) -> Future[FinishedAttempt]:
        """A result that the batch counts the cost of now, so that it is no longer counted apart."""
        self._settle_accounts()
        for budget in self.budgets(made.record.trial.arm):
            budget.take_back(most_paid(made.record))
        return _done(made)

    def _settle_accounts(self) -> None:
        """In the thread of the batch: count costs that no attempt of its own has, and say what happened."""
        while self._to_charge:
            record = self._to_charge.popleft()
            for budget in self.budgets(record.trial.arm):
                budget.add_cost(most_paid(record))
            self._setting.listen(note_event(f"{record.run_id} came late: {record.status_detail or record.status}"))
        while self._notes:
            self._setting.listen(note_event(self._notes.popleft()))

    def _is_answered(self, key: AttemptKey) -> bool:
        return key in self._stored or key in self._state.running_elsewhere or key in self._gone

    def _describe(self, reply: ExchangeReply) -> None:
        """What a person should know of a host, once."""
        if reply.state is HostState.READY:
            self._say_once(f"{reply.node} makes {reply.slots} attempts at once (host {reply.host})")
        if reply.detail is not None and reply.state is not HostState.PREPARING:
            self._say_once(f"{reply.node} (host {reply.host}): {reply.detail}")

    def _say_once(self, words: str) -> None:
        if words not in self._said:
            self._said.add(words)
            self._notes.append(words)


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


def _is_same(stored: RunRecord, offered: RunRecord) -> bool:
    """Whether the record is stored already, as it was offered or as a late one."""
    return stored == offered or LATE_LABEL in stored.extra


def _done(made: FinishedAttempt) -> Future[FinishedAttempt]:
    future: Future[FinishedAttempt] = Future()
    future.set_result(made)
    return future


def _finished(offer: OfferedRecord, record: RunRecord) -> FinishedAttempt:
    return FinishedAttempt(
        record=record,
        retry_after_seconds=offer.retry_after_seconds,
        may_retry=offer.may_retry,
        failure_kind=None if offer.failure_kind is None else FailureKind(offer.failure_kind),
    )


def _unknown(detail: str) -> LossReason:
    return LossReason(detail, UNKNOWN_COST)
