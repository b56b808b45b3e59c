"""An executor whose hosts, links and agents are simulated event by event, by a clock of its own.

The protocol is that of hosts which own their attempts: one exchange per host and tick brings starts and takes results,
and renews the host's lease. A host that had no exchange for a lease cancels its agents, and the lead gives up what ran
there at the same moment. What a host has finished waits in its spool until the next exchange.
"""

import random
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import exp, log
from time import thread_time

import msgspec

from benchmarks.cluster.host import SimulatedAttempt, SimulatedHost
from benchmarks.cluster.inputs import ARTIFACT_BYTES, INLINE_BYTES, NEVER, ClusterInputs
from benchmarks.cluster.token_share import TokenShare
from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.executor import DoneFutures
from outweigh.engine.token_pace import TokenUse
from outweigh.engine.trial_plan import PlannedRun
from outweigh.model.failure import FailureKind, Status
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import reported_cost
from outweigh.testing.builders import a_run

_A_RECORD = a_run()


@dataclass(slots=True)
class ClusterTotals:
    """What a simulated cluster counted. `lost_usd` is what was paid for attempts without a result, by reason.

    `unreported_usd` is the part of it that the budget of the lead never hears of.
    """

    begun: int = 0
    last_start: float = 0.0
    completed: int = 0
    timed_out: int = 0
    nodes_lost: int = 0
    cuts: int = 0
    leases_lost: int = 0
    attempts_lost: int = 0
    paid_usd: float = 0.0
    lost_with_nodes_usd: float = 0.0
    lost_by_cuts_usd: float = 0.0
    unreported_usd: float = 0.0
    image_pulls: int = 0
    inline_bytes: int = 0
    shared_bytes: int = 0
    running_seconds: float = 0.0
    slot_seconds: float = 0.0
    held_seconds: float = 0.0
    tokens: float = 0.0
    most_tokens_per_minute: float = 0.0
    most_results_in_a_second: int = 0


class SimulatedCluster:
    """An AttemptExecutor. `take_record` is told of every record before the future of its attempt has its result."""

    def __init__(self, inputs: ClusterInputs, take_record: Callable[[RunRecord], None] | None = None) -> None:
        self.inputs = inputs
        self.totals = ClusterTotals()
        self.processor_seconds = 0.0
        """What the simulation itself took of the thread of the batch."""
        self._take_record = take_record
        self._chance = random.Random(inputs.seed)
        self._time = 0.0
        self._numbers = count()
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._share = TokenShare[SimulatedAttempt](inputs)
        self._hosts: dict[SimulatedHost, None] = {}
        self._free: dict[SimulatedHost, None] = {}
        """Hosts that have a free slot, in the order in which they are used."""
        self._host_of_block: dict[int, SimulatedHost] = {}
        self._slots = 0
        self._running = 0
        self._results_at = (0, 0)
        for _ in range(inputs.hosts):
            self._join()

    @property
    def slots(self) -> int:
        """All slots of hosts that have a lease."""
        return self._slots

    def start(self, planned: PlannedRun, attempt: int) -> Future[FinishedAttempt] | None:
        """Tell a host of an attempt at its next tick; None where none has a free slot and can be reached."""
        entered = thread_time()
        host = self._choose_host(planned.block)
        started = None if host is None else self._assign(host, planned, attempt)
        self.processor_seconds += thread_time() - entered
        return started

    def wait(self, done: DoneFutures, timeout: float) -> None:
        """Let events happen until a result is there, or the time is over."""
        entered = thread_time()
        end = self._time + timeout
        while not done and self._happen(end):
            pass
        self.processor_seconds += thread_time() - entered

    def now(self) -> float:
        """The simulated seconds since the start."""
        return self._time

    def token_use(self) -> TokenUse:
        """What all attempts took so far, as gateways would report it."""
        return TokenUse(tokens={"provider": int(self.totals.tokens)}, held_seconds=self.totals.held_seconds)

    def close(self) -> None:
        """A batch closes its executor when nothing runs any more."""

    def cut_all(self, when: float, seconds: float) -> None:
        """Plan that no host has an exchange for a while: the lead or the scheduler is away."""

        def cut_hosts() -> None:
            for host in self._hosts:
                self._cut(host, seconds)

        self._at(when, cut_hosts)

    def _happen(self, end: float) -> bool:
        """Let the next event happen; False where there is none before the end."""
        agent_at = self._time + self._share.seconds_to_next()
        planned_at = self._agenda[0][0] if self._agenda else NEVER
        self._pass_time(min(agent_at, planned_at, end) - self._time)
        if min(agent_at, planned_at) > end:
            return False
        if agent_at < planned_at:
            self._end_agent(*self._share.take_next())
        else:
            heappop(self._agenda)[2]()
        return True

    def _pass_time(self, seconds: float) -> None:
        if seconds > 0:
            self._time += seconds
            self.totals.running_seconds += seconds * self._running
            self.totals.slot_seconds += seconds * self._slots
            self.totals.held_seconds += seconds * self._running * self._share.waiting
            self.totals.tokens += seconds * self._share.tokens_per_minute / 60
            self.totals.most_tokens_per_minute = max(self.totals.most_tokens_per_minute, self._share.tokens_per_minute)
            self._share.pass_seconds(seconds)

    def _at(self, when: float, do: Callable[[], None]) -> None:
        heappush(self._agenda, (when, next(self._numbers), do))

    # Hosts come, are cut off and go.

    def _join(self) -> None:
        """A node has started: a new host, without any image."""
        inputs, chance = self.inputs, self._chance
        host = SimulatedHost(
            slots=inputs.slots_per_host,
            tick=inputs.tick_seconds,
            phase=chance.random() * inputs.tick_seconds,
            most_images=inputs.images_per_host,
        )
        self._hosts[host] = None
        self._free[host] = None
        self._slots += host.slots
        if inputs.node_life_seconds < NEVER:
            self._at(self._time + chance.expovariate(1 / inputs.node_life_seconds), lambda: self._lose_node(host))
        self._plan_cut(host)

    def _plan_cut(self, host: SimulatedHost) -> None:
        inputs, chance = self.inputs, self._chance
        if inputs.seconds_between_cuts == NEVER:
            return
        seconds = inputs.cut_median_seconds * exp(chance.gauss(0.0, inputs.cut_spread))

        def cut() -> None:
            self._cut(host, seconds)
            self._plan_cut(host)

        self._at(self._time + chance.expovariate(1 / inputs.seconds_between_cuts), cut)

    def _cut(self, host: SimulatedHost, seconds: float) -> None:
        """No exchange with a host for a while; one that lasts past the lease costs what runs there."""
        if host.gone or not host.is_reachable(self._time):
            return
        self.totals.cuts += 1
        lease_ends = host.last_tick(self._time) + self.inputs.lease_seconds
        host.cut_since, host.cut_until = self._time, self._time + seconds
        self._free.pop(host, None)
        self._at(host.cut_until, lambda: self._reconnect(host))
        if lease_ends < host.cut_until:
            self._at(lease_ends, lambda: self._end_lease(host))

    def _reconnect(self, host: SimulatedHost) -> None:
        if host.gone:
            return
        if not host.has_lease:
            host.has_lease = True
            self._slots += host.slots
        if host.free:
            self._free[host] = None

    def _lose_node(self, host: SimulatedHost) -> None:
        """A node is gone, its spool with it; the lead notices when the lease is over. Another one starts."""
        self.totals.nodes_lost += 1
        heard = host.last_tick(self._time) if host.is_reachable(self._time) else host.last_tick(host.cut_since)
        had_lease, host.gone = host.has_lease, True
        for attempt in host.attempts:
            self._stop(attempt)
        self._hosts.pop(host)
        self._free.pop(host, None)
        self._at(self._time + self.inputs.node_start_seconds, self._join)
        if had_lease:
            self._at(max(self._time, heard + self.inputs.lease_seconds), lambda: self._end_lease(host))

    def _end_lease(self, host: SimulatedHost) -> None:
        """A lease has passed without an exchange: the host cancels its agents, and the lead gives its attempts up."""
        if not host.has_lease:
            return
        host.has_lease = False
        self.totals.leases_lost += 1
        self._slots -= host.slots
        host.free = host.slots
        attempts, host.attempts = [*host.attempts], {}
        for attempt in attempts:
            self._stop(attempt)
            self._give_up(attempt)

    # Attempts begin, end and are offered to the lead.

    def _choose_host(self, block: int) -> SimulatedHost | None:
        """The host that runs its block, where blocks stay together and it has room, else the next that has."""
        known = self._host_of_block.get(block) if self.inputs.keep_blocks_together else None
        return known if known in self._free else next(iter(self._free), None)

    def _assign(self, host: SimulatedHost, planned: PlannedRun, number: int) -> Future[FinishedAttempt]:
        chance, inputs = random.Random((planned.trial.seed or 0) * 64 + number), self.inputs
        median = log(inputs.trial_seconds) - inputs.trial_spread**2 / 2
        seconds = exp(chance.gauss(median, inputs.trial_spread))
        attempt = SimulatedAttempt(
            planned=planned,
            number=number,
            future=Future(),
            host=host,
            seconds=seconds,
            patience=chance.expovariate(1.0),
            artifact_bytes=chance.choice(ARTIFACT_BYTES),
            fails=chance.random() < inputs.share_that_fails,
        )
        if attempt.fails:
            attempt.seconds *= chance.random()
        host.attempts[attempt] = None
        host.free -= 1
        del self._free[host]
        if host.free:
            self._free[host] = None
        if inputs.keep_blocks_together:
            self._host_of_block[planned.block] = host
        self._at(host.next_tick(self._time), lambda: self._begin(attempt))
        return attempt.future

    def _begin(self, attempt: SimulatedAttempt) -> None:
        """A host hears of an attempt, at the tick at which it can."""
        host = attempt.host
        if attempt.settled or host.gone:
            return
        if not host.is_reachable(self._time):
            self._at(host.next_tick(self._time), lambda: self._begin(attempt))
            return
        attempt.began, attempt.work_at_begin = self._time, self._share.work
        self._running += 1
        self.totals.begun += 1
        self.totals.last_start = self._time
        self.totals.image_pulls += host.pull(attempt.planned.trial.task_id)
        if self.inputs.is_setting:
            self._share.add(attempt, min(attempt.seconds, self.inputs.timeout_seconds), attempt.patience)
            return
        self._share.add(attempt, attempt.seconds, attempt.patience)
        self._at(self._time + self.inputs.timeout_seconds, lambda: self._time_out(attempt))

    def _end_agent(self, attempt: SimulatedAttempt, gave_up: bool) -> None:
        if not attempt.runs:
            return
        if gave_up:
            self._finish(attempt, Status.INFRA_ERROR, "HTTP 429: too many tokens per minute", FailureKind.RATE_LIMITED)
        elif attempt.fails:
            self._finish(attempt, Status.INFRA_ERROR, "SandboxError: the sandbox did not start", None)
        elif self.inputs.is_setting and attempt.seconds > self.inputs.timeout_seconds:
            self._time_out(attempt)
        else:
            self._finish(attempt, Status.COMPLETED, None, None)

    def _time_out(self, attempt: SimulatedAttempt) -> None:
        if attempt.runs:
            self._finish(attempt, Status.TIMEOUT, "the time limit of the run", None)

    def _finish(self, attempt: SimulatedAttempt, status: Status, detail: str | None, kind: FailureKind | None) -> None:
        """The agent has ended; its record waits in the spool of its host for the next exchange."""
        self._stop(attempt)
        self.totals.inline_bytes += attempt.artifact_bytes if attempt.artifact_bytes <= INLINE_BYTES else 0
        self.totals.shared_bytes += attempt.artifact_bytes if attempt.artifact_bytes > INLINE_BYTES else 0
        asks_to_wait = kind is FailureKind.RATE_LIMITED
        attempt.made = FinishedAttempt(
            record=self._record(attempt, status, detail, attempt.usd),
            retry_after_seconds=self.inputs.retry_after_seconds if asks_to_wait else None,
            may_retry=True,
            failure_kind=kind,
        )
        self._offer(attempt)

    def _offer(self, attempt: SimulatedAttempt) -> None:
        """Give a result to the lead at the next exchange that works."""
        self._at(attempt.host.next_tick(self._time), lambda: self._deliver(attempt))

    def _deliver(self, attempt: SimulatedAttempt) -> None:
        """The lead has a result, unless it has given the attempt up: then the record is superseded."""
        host = attempt.host
        if attempt.settled or host.gone or attempt.made is None:
            return
        if not host.is_reachable(self._time):
            self._offer(attempt)
            return
        del host.attempts[attempt]
        host.free += 1
        self._free[host] = None
        self.totals.completed += attempt.made.record.status is Status.COMPLETED
        self.totals.timed_out += attempt.made.record.status is Status.TIMEOUT
        self._settle(attempt, attempt.made)

    def _stop(self, attempt: SimulatedAttempt) -> None:
        """An agent has ended, or was stopped: what it has cost until now is paid."""
        if attempt.runs:
            attempt.stopped = True
            self._running -= 1
            self._share.remove_one()
            attempt.usd = self._usd(self._share.work - attempt.work_at_begin)
            self.totals.paid_usd += attempt.usd

    def _give_up(self, attempt: SimulatedAttempt) -> None:
        """The lead closes an attempt of a host that it has lost, with the dollars that it was last told of."""
        host, last = attempt.host, 0.0
        heard = self._time - self.inputs.lease_seconds
        if attempt.began is not None and attempt.usd:
            last = min(attempt.usd, self._usd(max(0.0, heard - attempt.began)))
        if host.gone:
            self.totals.lost_with_nodes_usd += attempt.usd
        else:
            self.totals.lost_by_cuts_usd += attempt.usd
        self.totals.unreported_usd += attempt.usd - last
        self.totals.attempts_lost += 1
        lost = self._record(attempt, Status.INFRA_ERROR, "the host was lost", last)
        self._settle(attempt, FinishedAttempt(record=lost, retry_after_seconds=None, may_retry=True))

    def _settle(self, attempt: SimulatedAttempt, made: FinishedAttempt) -> None:
        attempt.settled = True
        if self._take_record is not None:
            self._take_record(made.record)
        attempt.future.set_result(made)
        second, results = self._results_at
        self._results_at = (second, results + 1) if second == int(self._time) else (int(self._time), 1)
        self.totals.most_results_in_a_second = max(self.totals.most_results_in_a_second, self._results_at[1])

    def _usd(self, work: float) -> float:
        return self.inputs.usd_per_trial * work / self.inputs.trial_seconds

    def _record(self, attempt: SimulatedAttempt, status: Status, detail: str | None, usd: float) -> RunRecord:
        trial = attempt.planned.trial
        return msgspec.structs.replace(
            _A_RECORD,
            run_id=f"{trial.task_id}/{trial.arm}/{trial.repeat}",
            trial=trial,
            attempt=attempt.number,
            status=status,
            status_detail=detail,
            cost=reported_cost(usd),
        )
