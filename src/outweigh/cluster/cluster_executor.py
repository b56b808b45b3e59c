"""The executor of a lead: it gives attempts to hosts, and what hosts answer to those who wait for it.

It knows no transport: whoever has one asks it what to say to a host, and hands it what the host answered.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Event, Lock, RLock
from time import sleep

import msgspec

from outweigh.cluster.host_overview import describe_hosts
from outweigh.cluster.kept_records import KeptRecords
from outweigh.cluster.lead_state import KnownHost, LeadState, LostAttempt
from outweigh.cluster.lease import Clock, boot_clock
from outweigh.cluster.messages import (
    AttemptKey,
    AttemptOrder,
    ExchangeReply,
    ExchangeRequest,
    HostState,
    OfferedRecord,
)
from outweigh.cluster.open_attempts import OpenAttempts
from outweigh.cluster.record_writer import RecordWriter
from outweigh.cluster.shared_tokens import SharedTokens
from outweigh.cluster.tried_on_hosts import ExamineTries, HostTries, ignore_tries
from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.budget import Budget
from outweigh.engine.events import EventKind, EventListener, note_event
from outweigh.engine.executor import DoneFutures
from outweigh.engine.experiment import RunLooks
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.lost_record import LossReason
from outweigh.engine.token_pace import TokenUse
from outweigh.engine.trial_plan import PlannedRun, run_id_of
from outweigh.errors import EvidenceError
from outweigh.model.base import Json
from outweigh.model.codec import Attempt
from outweigh.model.run_record import TrialKey, most_paid
from outweigh.model.usage import UNKNOWN_COST
from outweigh.ports.stores import GroupRunStore
from outweigh.report.formatting import count_of
from outweigh.store.hosts_file import HostsFile

WAIT_SECONDS = 0.1
NO_HOST_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadSetting:
    """What a lead works with; it `takes_over` where an earlier lead has left attempts open."""

    suite: LoadedSuite
    labels: Json
    store: GroupRunStore
    looks: RunLooks | None
    cancel: Event
    listen: EventListener
    waiting_hint: str
    examine_tries: ExamineTries = ignore_tries
    takes_over: bool = False
    clock: Clock = boot_clock


class ClusterExecutor:
    """An AttemptExecutor whose attempts are made by hosts.

    The thread of the batch calls `slots` to `close`; those of the transport call the others. `close` waits until the
    transport has told the hosts that they are free, which `stop_transport` does. `on_work` is called with the address
    of a host that something is to be said to, None for all.
    """

    def __init__(self, state: LeadState, setting: LeadSetting, stop_transport: Callable[[], None]) -> None:
        self._state = state
        self._setting = setting
        self._stop_transport = stop_transport
        self._lock = RLock()
        self._awaited = OpenAttempts()
        self._stored = KeptRecords(setting.store, setting.looks, self._lock)
        self._writer = RecordWriter(
            state, self._stored, self._awaited, self._lock, setting.suite, setting.labels, self.say
        )
        self._tries = HostTries(state, setting.examine_tries)
        self._gone: set[AttemptKey] = set()
        self._open: dict[TrialKey, int] = {}
        self._to_begin: dict[AttemptKey, tuple[AttemptOrder, str | None]] = {}
        self._beginning = Lock()
        self._notes: deque[str] = deque()
        self._said: set[str] = set()
        self._ready_hosts = 0
        self._began = self.now()
        limit = setting.suite.spec.limits.tokens_per_minute
        self._tokens = SharedTokens(limit, self._began, takes_over=setting.takes_over)
        self.on_work: Callable[[str | None], None] = lambda _: None
        self._budgets: Callable[[str], Sequence[Budget]] = lambda _: ()

    # The thread of the batch.

    @property
    def slots(self) -> int:
        """How many attempts all hosts together make at once now, with those that may wait on them."""
        with self._lock:
            return self._state.slots

    def start(self, planned: PlannedRun, attempt: int) -> Future[FinishedAttempt] | None:
        """Give an attempt to a host, or take over what a host still makes or made of it."""
        trial = planned.trial
        with self._lock:
            if (late := self._awaited.take_late(trial.key)) is not None:
                return self._hand_out_late(late)
            order = self._order_for(planned, attempt)
            if (made := self._awaited.take_early(order.key)) is not None:
                self._open.pop(trial.key, None)
                return _done(made)
            if self._stored.is_claimed(order.key):
                return None
            is_made = self._state.adopt(order)
            if not is_made and not self._state.has_place(trial.arm, self.now()):
                return None
            future = self._awaited.add(order.key, planned)
            self._stored.note_attempt(trial.key, order.attempt)
            self._open.pop(trial.key, None)
            if not is_made:
                address = self._state.give(order, self.now())
                self._to_begin[order.key] = order, address
        return future

    def wait(self, done: DoneFutures, timeout: float) -> None:
        """Wait until a record has come, and say what happened meanwhile."""
        self._begin_all()
        with self._lock:
            for words in self._tries.take_notes():
                self._say_once(words)
        done.wait(timeout)
        if self._setting.cancel.is_set():
            self._cancel()
        self._settle_accounts()
        if self._writer.fault is not None:
            raise self._writer.fault

    def now(self) -> float:
        """The time of this machine since it was started."""
        return self._setting.clock()

    def close(self) -> None:
        """Free the hosts, and end the connections."""
        with self._lock:
            # After a fault the hosts go on, and the next lead takes over what they make.
            self._state.released = self._writer.fault is None
        self._stop_transport()
        self._settle_accounts()

    def await_host(self, give_up: Event) -> list[str]:
        """Wait until a host has tried the arms; returns the faults of arms that no host makes because of them."""
        while not give_up.is_set():
            self._settle_accounts()
            if self._writer.fault is not None:
                raise self._writer.fault
            with self._lock:
                if any(host.state is HostState.READY for host in self._state.hosts.values()):
                    return self._tries.refused()
            give_up.wait(WAIT_SECONDS)
        return []

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
            lost = []
            for each in abandoned:
                key = each.run_id, each.attempt
                if key in self._state.running_elsewhere:
                    self._open[each.trial.key] = each.attempt
                elif key not in self._stored:
                    lost.append(each)
            return lost

    def close_lost(self, planned: PlannedRun, attempt: int, detail: str) -> None:
        """Record that an attempt of an earlier lead was lost."""
        self._writer.close_lost(planned, attempt, LossReason(detail, UNKNOWN_COST))

    # The thread that shows the hosts to people.

    def seen_hosts(self, *, draining: bool) -> HostsFile:
        """The hosts as they are now, and what each makes."""
        with self._lock:
            return describe_hosts(self._state, self.now(), draining=draining)

    # The threads of the transport.

    @property
    def has_to_write(self) -> bool:
        """Whether the next request waits for the disk."""
        return bool(self._to_begin)

    def request_for(self, address: str) -> ExchangeRequest:
        """What to say to the host at this address. An attempt that it is to start is written down before."""
        try:
            self._begin_all()
        except EvidenceError as fault:
            self._writer.fault = fault
        with self._lock:
            self._state.place_waiting(self.now())
            request, host = self._state.request_for(address), self._state.host_at(address)
            if self._to_begin:
                starts = tuple(order for order in request.starts if order.key not in self._to_begin)
                request = msgspec.structs.replace(request, starts=starts)
            told = () if host is None else self._tokens.grants(host.name, self.now())
            return msgspec.structs.replace(request, tokens=told) if told else request

    def is_stored(self, offer: OfferedRecord) -> bool:
        """Whether the record is here already, so that its artifacts need not be fetched."""
        return self._writer.is_stored(offer)

    def take_reply(
        self, address: str, request: ExchangeRequest, reply: ExchangeReply, artifacts: Mapping[str, bytes]
    ) -> None:
        """Take in what a host answered to this request; `artifacts` are the large ones that it offers, by hash."""
        with self._lock:
            self._tries.take(reply)
            findings = self._state.take_reply(address, request, reply, self.now())
            claimed = self._stored.claim([offer.key for offer in findings.offers])
            self._describe(reply)
            self._tokens.take(reply, self.now())
            for key in findings.left_open:
                self._gone.add(key)
                if key in self._stored:
                    self._state.acknowledge(reply.host, [key])
        for lost in findings.lost:
            self._writer.lose(lost)
            with self._lock:
                self._state.acknowledge(reply.host, [lost.order.key])
        for key, reason in findings.broken:
            self._writer.fail(key, reason)
        if claimed:
            self._writer.take(reply.host, [each for each in findings.offers if each.key in claimed], artifacts)
        self._grant_tokens()

    def take_offer(self, host: str, offer: OfferedRecord, artifacts: Mapping[str, bytes]) -> None:
        """Store a record whose large artifacts were fetched since it was offered."""
        if self._stored.claim([offer.key]):
            self._writer.take(host, [offer], artifacts)

    def fail(self, fault: Exception) -> None:
        """The transport has ended and does not come back: the run ends, and hosts keep what they have."""
        self._writer.fault = fault

    def tick(self) -> None:
        """Give up what was not heard of for a lease, and say what nobody waits for in silence."""
        with self._lock:
            known = dict(self._state.hosts)
            lost = self._state.take_silence(self.now())
            for name in known.keys() - self._state.hosts.keys():
                self._note_silence(known[name], lost)
            self._tokens.keep_only(self._state.hosts, self.now())
            waits = not self._state.hosts and self.now() - self._began > NO_HOST_SECONDS
        for each in lost:
            self._writer.lose(each)
        self._grant_tokens()
        if waits:
            self._say_once(self._setting.waiting_hint)

    def token_use(self) -> TokenUse:
        """What the attempts on all hosts took so far."""
        with self._lock:
            return self._tokens.use(self.now())

    def _grant_tokens(self) -> None:
        """Let requests be sent that wait on hosts, as far as the limit allows."""
        with self._lock:
            hosts = [self._state.hosts.get(name) for name in self._tokens.distribute(self.now())]
        for host in hosts:
            if host is not None:
                self.on_work(host.address)

    def note_budgets(self, budgets: Callable[[str], Sequence[Budget]]) -> None:
        """From which budgets the runs of an arm are paid, late ones too."""
        self._budgets = budgets

    def say(self, words: str) -> None:
        """Tell who watches the run, once."""
        with self._lock:
            self._say_once(words)

    def _begin_all(self) -> None:
        """Write down what was started, at once for all that was started together; then hosts may hear of it."""
        with self._beginning:
            with self._lock:
                begun = dict(self._to_begin)
            if not begun:
                return
            self._setting.store.begin_all([(order.run_id, order.trial, order.attempt) for order, _ in begun.values()])
            with self._lock:
                for key in begun:
                    del self._to_begin[key]
        for address in {address for _, address in begun.values()} - {None}:
            self.on_work(address)

    def _cancel(self) -> None:
        """End everything: what runs by telling the hosts, what has no host yet at once."""
        with self._lock:
            self._state.cancelled = True
            waiting = self._state.waiting
        self.on_work(None)
        for order in waiting:
            self._writer.lose(
                LostAttempt(order=order, cost=UNKNOWN_COST, reason="the run was cancelled before it began")
            )

    def _hand_out_late(self, made: FinishedAttempt) -> Future[FinishedAttempt]:
        """A result that the batch counts the cost of now, so that it is no longer counted apart."""
        self._settle_accounts()
        for budget in self._budgets(made.record.trial.arm):
            budget.take_back(most_paid(made.record))
        return _done(made)

    def _settle_accounts(self) -> None:
        """In the thread of the batch: count costs that no attempt of its own has, and say what happened."""
        while self._writer.to_charge:
            record = self._writer.to_charge.popleft()
            for budget in self._budgets(record.trial.arm):
                budget.add_cost(most_paid(record))
            self._setting.listen(note_event(f"{record.run_id} came late: {record.status_detail or record.status}"))
        while self._notes:
            self._setting.listen(note_event(self._notes.popleft()))
        with self._lock:
            ready = sum(host.state is HostState.READY for host in self._state.hosts.values())
        if ready != self._ready_hosts:
            self._ready_hosts = ready
            self._setting.listen(note_event(count_of(ready, "host"), EventKind.HOSTS))

    def _order_for(self, planned: PlannedRun, attempt: int) -> AttemptOrder:
        """An attempt of an earlier lead that a host still makes has its number, and a new one what no record has."""
        trial = planned.trial
        number = self._open.get(trial.key) or max(attempt, self._stored.last_attempt(trial.key) + 1)
        return AttemptOrder(
            run_id=run_id_of(trial, number),
            trial=trial,
            block=planned.block,
            position=planned.position,
            attempt=number,
        )

    def _is_answered(self, key: AttemptKey) -> bool:
        return key in self._stored or key in self._state.running_elsewhere or key in self._gone

    def _describe(self, reply: ExchangeReply) -> None:
        """What a person should know of a host, once."""
        if reply.state is HostState.READY:
            self._say_once(f"{reply.node} makes {reply.slots} attempts at once (host {reply.host})")
        if reply.detail is not None and reply.state is not HostState.PREPARING:
            self._say_once(f"{reply.node} (host {reply.host}): {reply.detail}")

    def _note_silence(self, host: KnownHost, lost: Sequence[LostAttempt]) -> None:
        """That a host is given up is said each time."""
        made = sum(each.host == host.name for each in lost)
        silent = f"has not answered for {self.now() - host.heard_at:.0f} s"
        self._notes.append(f"{host.node} (host {host.name}) {silent}; attempts that are lost with it: {made}")

    def _say_once(self, words: str) -> None:
        if words not in self._said:
            self._said.add(words)
            self._notes.append(words)


def _done(made: FinishedAttempt) -> Future[FinishedAttempt]:
    future: Future[FinishedAttempt] = Future()
    future.set_result(made)
    return future
