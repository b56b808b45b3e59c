"""A lead and hosts in one process, with a transport that a test cuts, and a clock that it moves."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any

from msgspec.structs import replace
from tests.engine.engine_fixtures import loaded, plan_of

from outweigh.cluster.cluster_executor import ClusterExecutor, LeadSetting
from outweigh.cluster.host import Host
from outweigh.cluster.lead_state import LeadState
from outweigh.cluster.lease import Lease
from outweigh.cluster.messages import (
    ExchangeReply,
    ExchangeRequest,
    HostState,
    OfferedRecord,
    SuitePackage,
    pack,
    unpack,
)
from outweigh.cluster.spool import ExperimentSpool, Spool
from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.budget import Budget
from outweigh.engine.events import EngineEvent
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.trial_plan import PlannedRun, run_id_of
from outweigh.gateway.token_queue import TokenQueue
from outweigh.model.failure import Status
from outweigh.model.usage import Cost, reported_cost
from outweigh.store.run_store import FolderRunStore
from outweigh.store.tried_arms_file import TriedArm
from outweigh.testing.builders import a_run

CONTENT = b"a suite"
PACKAGE = sha256(CONTENT).hexdigest()
LEASE_SECONDS = 10.0


class StepClock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class HeldEngine:
    """A HostEngine whose attempts end when a test lets them: with a result, or without one if they were cancelled."""

    def __init__(self, spool: ExperimentSpool, cost_usd: float = 0.5, *, is_limited: bool = False) -> None:
        self.arms: Sequence[str] = ("a", "b")
        self.unfit: str | None = None
        self.tried: Sequence[TriedArm] = ()
        self.tokens = TokenQueue(is_limited=is_limited)
        self.go = Event()
        self.made: list[str] = []
        self.so_far = 0.25
        self.said = b""
        self.spool = spool
        self._cost = cost_usd

    def attempt(self, planned: PlannedRun, number: int, cancel: Event) -> FinishedAttempt:
        trial, run_id = planned.trial, run_id_of(planned.trial, number)
        self.spool.begin(run_id, trial, number)
        while not self.go.wait(0.005):
            if cancel.is_set():
                break
        status = Status.INFRA_ERROR if cancel.is_set() else Status.COMPLETED
        artifact = self.spool.keep(self.said or f"what {run_id} said".encode())
        record = a_run(trial.task_id, trial.arm, trial.repeat, run_id=run_id, attempt=number, status=status)
        record = replace(record, trial=trial, cost=reported_cost(self._cost), artifacts={"stdout.txt": artifact})
        self.spool.append(record)
        self.made.append(run_id)
        return FinishedAttempt(record=record, retry_after_seconds=None, may_retry=True)

    def spent(self, run_id: str) -> Cost:
        return reported_cost(self.so_far)

    def close(self) -> None:
        """Nothing is held."""


class TestHost:
    """A host at an address, and what it says when it is asked."""

    __test__ = False

    def __init__(self, folder: Path, address: str, slots: int = 2, *, is_limited: bool = False) -> None:
        self.address = address
        self._is_limited = is_limited
        self.clock = StepClock()
        self.is_closed = False
        self.fault: Exception | None = None
        self.engines: list[HeldEngine] = []
        self.spool = Spool.open(folder)
        self.spool.packages.path(PACKAGE).parent.mkdir(exist_ok=True)
        self.spool.packages.path(PACKAGE).write_bytes(CONTENT)
        self.lease = Lease(self.clock)
        self.host = Host(self.spool, slots, self._open, self.lease)

    def _open(self, package: Path, spool: ExperimentSpool) -> HeldEngine:
        if self.fault is not None:
            raise self.fault
        self.engines.append(HeldEngine(spool, is_limited=self._is_limited))
        return self.engines[-1]

    @property
    def engine(self) -> HeldEngine:
        return self.engines[-1]

    def ask(self, request: ExchangeRequest) -> ExchangeReply:
        """As over a wire."""
        reply = self.host.exchange(unpack(pack(request), ExchangeRequest))
        return unpack(pack(reply), ExchangeReply)

    def close(self) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        for engine in self.engines:
            engine.go.set()
        self.host.close()
        self.spool.close()


class Lead:
    """A lead over a store; `talk` is one exchange with a host."""

    def __init__(self, suite: LoadedSuite, folder: Path, session: int = 1, store: FolderRunStore | None = None) -> None:
        self.suite = suite
        self.plan = plan_of(suite)
        self.store = store or FolderRunStore.open(folder)
        self.events: list[EngineEvent] = []
        self.state = LeadState("experiment", session, LEASE_SECONDS)
        self.state.package = SuitePackage(sha256=PACKAGE, size=7)
        self.clock = StepClock()
        self.budget = Budget(None, None)
        setting = LeadSetting(
            suite=suite,
            labels={},
            store=self.store,
            looks=None,
            cancel=Event(),
            listen=self.events.append,
            waiting_hint="no host",
            clock=self.clock,
        )
        self.executor = ClusterExecutor(setting=setting, state=self.state, stop_transport=lambda: None)
        self.executor.note_budgets(lambda _: [self.budget])

    def talk(self, host: TestHost) -> ExchangeReply:
        request = self.executor.request_for(host.address)
        reply = host.ask(request)
        artifacts = {digest: _whole(host, offer, digest) for offer in reply.offers for digest in offer.large}
        self.executor.take_reply(host.address, request, reply, artifacts)
        return reply

    def talk_until(self, host: TestHost, happened: Callable[[ExchangeReply], bool]) -> ExchangeReply:
        for _ in range(2000):
            if happened(reply := self.talk(host)):
                return reply
            Event().wait(0.005)
        raise AssertionError("it did not happen")

    def meet(self, host: TestHost) -> None:
        """Talk until the host has opened the suite."""
        self.talk_until(host, lambda reply: reply.state is HostState.READY)

    def close(self) -> None:
        self.store.close()


def _whole(host: TestHost, offer: OfferedRecord, digest: str) -> bytes:
    return host.host.read_artifact(offer.key, digest, 0, offer.large[digest])


@contextmanager
def in_process(
    folder: Path, hosts: int = 1, *, tokens_per_minute: int | None = None
) -> Iterator[tuple[Lead, list[TestHost]]]:
    """A lead that has met so many hosts."""
    is_limited = tokens_per_minute is not None
    limits = {"limits": {"tokens_per_minute": tokens_per_minute}} if is_limited else {}
    arms: dict[str, dict[str, Any]] = {"a": {"agent": "noop"}, "b": {"agent": "noop", "environment": {"B": "1"}}}
    suite = loaded(folder, arms, tasks=2, **limits)
    started = [
        TestHost(folder / "spool", f"tcp://host-{number}:1", is_limited=is_limited) for number in range(1, hosts + 1)
    ]
    lead = Lead(suite, folder / "store")
    try:
        for host in started:
            lead.meet(host)
        yield lead, started
    finally:
        lead.close()
        for host in started:
            host.close()
