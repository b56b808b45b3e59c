"""The host: it makes the attempts that its lead asks for, and keeps their records until the lead has them.

It is an engine without a batch. What it does when nobody asks any more is all that it decides itself: when its lease
has run out it ends its attempts.
"""

import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Condition, Event, Thread
from time import sleep
from typing import Protocol

import msgspec

from outweigh.cluster.lease import Lease, LeaseSignal
from outweigh.cluster.messages import (
    PROTOCOL,
    AttemptKey,
    AttemptOrder,
    ExchangeReply,
    ExchangeRequest,
    HostState,
    OfferedRecord,
    RefusedStart,
    RunningAttempt,
)
from outweigh.cluster.spool import ExperimentSpool, Spool, SpoolFullError
from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.trial_plan import PlannedRun
from outweigh.errors import OutweighError, UsageError
from outweigh.model.usage import UNKNOWN_COST, Cost

MOST_OFFERS = 32
"""So many records are offered in one exchange; the others follow in the next ones."""

MOST_BYTES = 1_000_000
"""Records are offered up to this size together, so that an answer arrives in time over a slow link too."""

GATHER_SECONDS = 0.005

WATCH_SECONDS = 0.2
"""How often a host looks whether its lease has run out."""


class HostEngine(Protocol):
    """What makes the attempts of one experiment on a host."""

    @property
    def arms(self) -> Sequence[str]:
        """The arms that can run here."""

    @property
    def unfit(self) -> str | None:
        """Why no arm, or not every one, can run here; None where all can."""

    def attempt(self, planned: PlannedRun, number: int, cancel: Event) -> FinishedAttempt:
        """Make an attempt; when this returns, its record is in the spool."""

    def spent(self, run_id: str) -> Cost:
        """What a running attempt has cost so far; unknown where nothing meters it."""

    def close(self) -> None:
        """Free everything; no attempt runs any more."""


OpenEngine = Callable[[Path, ExperimentSpool], HostEngine]
"""Opens the engine for a package, with its spool; UsageError where nothing of it can run on this host."""


@dataclass(slots=True)
class _Running:
    """An attempt under way."""

    order: AttemptOrder
    cancel: LeaseSignal


class _Experiment:
    """The experiment that a host works on."""

    def __init__(self, token: str, spool: ExperimentSpool) -> None:
        self.token = token
        self.spool = spool
        self.state = HostState.NEEDS_PACKAGE
        self.detail: str | None = None
        self.package: str | None = None
        self.engine: HostEngine | None = None
        self.last_request = (0, 0)
        self.running: dict[AttemptKey, _Running] = {}
        self.made: dict[AttemptKey, FinishedAttempt] = {}
        self.refused: dict[AttemptKey, RefusedStart] = {}
        self.broken: dict[AttemptKey, RefusedStart] = {}


class Host:
    """One host, for one lead at a time. `exchange` may be called by any thread.

    `close` ends all attempts and waits for them; their records stay in the spool.
    """

    def __init__(self, spool: Spool, slots: int, open_engine: OpenEngine, lease: Lease | None = None) -> None:
        self._spool = spool
        self._slots = slots
        self._open_engine = open_engine
        self._lease = lease or Lease()
        self._lock = Condition()
        self._experiment: _Experiment | None = None
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="trial")
        self._preparing = ThreadPoolExecutor(1, thread_name_prefix="prepare")
        self._closed = Event()
        self._released = False
        self._left: dict[str, _Experiment] = {}
        self._watch = Thread(target=self._watch_lease, name="lease", daemon=True)
        self._watch.start()

    @property
    def is_idle(self) -> bool:
        """Whether no lead needs this host: none ever did, or its lease has run out or was ended."""
        with self._lock:
            return not self._lease.holds and not (self._experiment and self._experiment.running)

    @property
    def is_released(self) -> bool:
        """Whether the last lead has said that it is done."""
        with self._lock:
            return self._released

    def exchange(self, request: ExchangeRequest) -> ExchangeReply:
        """Take what a lead says, and say where everything stands."""
        if request.protocol != PROTOCOL:
            return self._reply(None, HostState.UNFIT, "lead and host have different releases of outweigh")
        with self._lock:
            self._cancel_if_lapsed()
            if (why := self._why_busy(request)) is not None:
                return self._reply(None, HostState.BUSY, why)
            experiment = self._take_on(request)
            if (request.session, request.number) <= experiment.last_request:
                return self._reply(experiment, experiment.state, experiment.detail)
            experiment.last_request = request.session, request.number
            if request.echo is not None:
                self._lease.renew(request.echo, request.lease_seconds)
            for key in request.acknowledged:
                self._forget(experiment, key)
            for key in request.unwanted:
                if key in experiment.running:
                    experiment.running[key].cancel.set()
            if request.cancel:
                self._cancel(experiment)
            self._use_package(experiment, request)
            self._start_all(experiment, request)
            self._await_news(experiment, request)
            reply = self._reply(experiment, experiment.state, experiment.detail)
            if request.release:
                self._release(experiment)
        return reply

    def receive_package(self, digest: str, offset: int, content: bytes, size: int) -> bool:
        """Take a part of a package; whether the whole of it is here now."""
        path = self._spool.package(digest)
        if path.is_file():
            return True
        path.parent.mkdir(exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("r+b" if offset else "wb") as stream:
            stream.seek(offset)
            stream.write(content)
        if offset + len(content) < size:
            return False
        if sha256(part.read_bytes()).hexdigest() != digest:
            part.unlink()
            return False
        part.replace(path)
        return True

    def read_artifact(self, key: AttemptKey, digest: str, offset: int, size: int) -> bytes:
        """A part of a large artifact of a record that is offered."""
        with self._lock:
            experiment = self._experiment
        if experiment is None:
            raise UsageError("no lead has taken this host on")
        return experiment.spool.read_part(key, digest, offset, size)

    def close(self) -> None:
        """End all attempts, and wait for them."""
        with self._lock:
            if self._experiment is not None:
                self._cancel(self._experiment)
            self._closed.set()
            self._lock.notify_all()
        self._threads.shutdown(wait=True)
        self._preparing.shutdown(wait=True)
        self._watch.join()
        if self._experiment is not None and self._experiment.engine is not None:
            self._experiment.engine.close()

    def _await_news(self, experiment: _Experiment, request: ExchangeRequest) -> None:
        """Answer when there is something to say, and a moment later, so that what ends together is said together."""
        number, state = experiment.last_request, experiment.state

        def is_due() -> bool:
            is_asked = experiment.last_request != number or experiment.state is not state
            return is_asked or self._has_news(experiment) or self._closed.is_set()

        self._lock.notify_all()
        waits = experiment.state in (HostState.READY, HostState.PREPARING) and not (request.release or request.cancel)
        if request.wait_seconds > 0 and waits and not self._has_news(experiment):
            self._lock.wait_for(is_due, request.wait_seconds)
            self._lock.wait(GATHER_SECONDS)

    def _has_news(self, experiment: _Experiment) -> bool:
        finished = experiment.spool.records().keys() - experiment.running.keys()
        return bool(finished or experiment.refused or experiment.broken or experiment.spool.left_open)

    def _why_busy(self, request: ExchangeRequest) -> str | None:
        held = self._experiment
        left = self._left.get(request.experiment)
        if left is not None and left.running:
            return "it still ends what it made before"
        if left is not None and (request.session, request.number) <= left.last_request:
            return "its lead was done with it"  # a request that the last one of that lead has overtaken
        if held is None or held.token == request.experiment:
            return None
        return "it works for another experiment" if self._lease.holds or held.running else None

    def _take_on(self, request: ExchangeRequest) -> _Experiment:
        held = self._experiment
        if held is not None and held.token != request.experiment:
            self._release(held)
            held = None
        if held is None:
            self._released = False
            held = _Experiment(request.experiment, self._spool.of_experiment(request.experiment))
            self._experiment = held
        return held

    def _release(self, experiment: _Experiment) -> None:
        """The lead is done: nothing of it runs here."""
        self._cancel(experiment)
        self._lease.end()
        self._released = True
        self._experiment = None
        self._left[experiment.token] = experiment
        self._preparing.submit(_let_go, experiment)

    def _forget(self, experiment: _Experiment, key: AttemptKey) -> None:
        if key in experiment.running:
            return
        experiment.spool.forget(key)
        for known in (experiment.made, experiment.refused, experiment.broken):
            known.pop(key, None)

    def _use_package(self, experiment: _Experiment, request: ExchangeRequest) -> None:
        """Prepare the engine for the package, as soon as it is here and no attempt of another one runs."""
        package = request.package
        if package is None or experiment.running:
            return
        if experiment.package == package.sha256 and experiment.state is not HostState.NEEDS_PACKAGE:
            return
        experiment.package = package.sha256
        experiment.state, experiment.detail = HostState.NEEDS_PACKAGE, None
        if self._spool.package(package.sha256).is_file():
            experiment.state = HostState.PREPARING
            self._preparing.submit(self._prepare, experiment, package.sha256)

    def _prepare(self, experiment: _Experiment, digest: str) -> None:
        state, detail, engine = HostState.READY, None, None
        if self._closed.is_set():
            return
        if experiment.engine is not None:
            experiment.engine.close()
            experiment.engine = None
        try:
            self._check_package(digest)
            engine = self._open_engine(self._spool.package(digest), experiment.spool)
            detail = engine.unfit
            if not engine.arms:
                state = HostState.UNFIT
        except _ChangedPackageError:
            state = HostState.NEEDS_PACKAGE
        except (OutweighError, OSError) as fault:
            state, detail = HostState.UNFIT, str(fault)
        except Exception as fault:  # the lead must hear of it: nobody else waits for this thread
            state, detail = HostState.UNFIT, f"the suite cannot be opened: {type(fault).__name__}: {fault}"
        with self._lock:
            experiment.engine, experiment.state, experiment.detail = engine, state, detail
            self._lock.notify_all()

    def _check_package(self, digest: str) -> None:
        """A package runs code, so what is in the spool is opened only if it is what the lead named."""
        path = self._spool.package(digest)
        if sha256(path.read_bytes()).hexdigest() != digest:
            path.unlink()
            raise _ChangedPackageError

    def _start_all(self, experiment: _Experiment, request: ExchangeRequest) -> None:
        fresh = request.echo is not None and self._lease.may_start(request.echo, request.lease_seconds)
        if not fresh or request.cancel or experiment.engine is None or experiment.state is not HostState.READY:
            return
        known = experiment.spool.records()
        for order in request.starts:
            key = order.key
            if key in experiment.running or key in known or key in experiment.refused or key in experiment.broken:
                continue
            running = _Running(order, LeaseSignal(self._lease))
            experiment.running[key] = running
            self._threads.submit(self._make, experiment, experiment.engine, running)

    def _make(self, experiment: _Experiment, engine: HostEngine, running: _Running) -> None:
        """One attempt, in a thread of its own."""
        order = running.order
        planned = PlannedRun(trial=order.trial, block=order.block, position=order.position)
        made = refused = broken = None
        try:
            if running.cancel.is_set():
                raise SpoolFullError("it was cancelled before it began")
            made = engine.attempt(planned, order.attempt, running.cancel)
        except SpoolFullError as fault:
            refused = RefusedStart(run_id=order.run_id, attempt=order.attempt, reason=str(fault))
        except Exception as fault:  # the lead ends the experiment, as an engine of its own would
            said = str(fault) if isinstance(fault, OutweighError) else f"{type(fault).__name__}: {fault}"
            broken = RefusedStart(run_id=order.run_id, attempt=order.attempt, reason=said)
        with self._lock:
            if made is not None:
                experiment.made[order.key] = made
            if refused is not None:
                experiment.refused[order.key] = refused
            if broken is not None:
                experiment.broken[order.key] = broken
            del experiment.running[order.key]
            self._lock.notify_all()

    def _reply(self, experiment: _Experiment | None, state: HostState, detail: str | None) -> ExchangeReply:
        reply = ExchangeReply(
            protocol=PROTOCOL,
            host=self._spool.host,
            node=platform.node(),
            clock=self._lease.now,
            state=state,
            detail=detail,
            slots=self._slots if state is HostState.READY and self._spool.has_space else 0,
            arms=(),
        )
        if experiment is None:
            return reply
        engine = experiment.engine
        return msgspec.structs.replace(
            reply,
            arms=() if engine is None else tuple(engine.arms),
            running=tuple(self._describe(engine, each.order) for each in experiment.running.values()),
            offers=(offers := tuple(self._offers(experiment))),
            kept=tuple(experiment.spool.records().keys() - {offer.key for offer in offers} - experiment.running.keys()),
            lost=tuple(experiment.spool.left_open),
            refused=tuple(experiment.refused.values()),
            broken=tuple(experiment.broken.values()),
        )

    def _describe(self, engine: HostEngine | None, order: AttemptOrder) -> RunningAttempt:
        spent = UNKNOWN_COST if engine is None else engine.spent(order.run_id)
        return RunningAttempt(run_id=order.run_id, attempt=order.attempt, cost=spent)

    def _offers(self, experiment: _Experiment) -> list[OfferedRecord]:
        offers: list[OfferedRecord] = []
        size = 0
        for key, record in experiment.spool.records().items():
            if key in experiment.running or len(offers) == MOST_OFFERS or size >= MOST_BYTES:
                continue
            offer = experiment.spool.offer(key, record)
            size += len(offer.line) + sum(map(len, offer.artifacts.values()))
            if (made := experiment.made.get(key)) is not None:
                kind = made.failure_kind
                offer = msgspec.structs.replace(
                    offer,
                    retry_after_seconds=made.retry_after_seconds,
                    may_retry=made.may_retry,
                    failure_kind=None if kind is None else kind.value,
                )
            offers.append(offer)
        return offers

    def _watch_lease(self) -> None:
        while not self._closed.wait(WATCH_SECONDS):
            with self._lock:
                self._cancel_if_lapsed()

    def _cancel_if_lapsed(self) -> None:
        """Before the lease is renewed, so that what ran when it ran out is ended in any case."""
        if self._experiment is not None and self._lease.has_lapsed:
            self._cancel(self._experiment)

    def _cancel(self, experiment: _Experiment) -> None:
        for each in experiment.running.values():
            each.cancel.set()


class _ChangedPackageError(Exception):
    """A package in the spool is not the one that its name says."""


def _let_go(experiment: _Experiment) -> None:
    while experiment.running:  # they were cancelled
        sleep(WATCH_SECONDS)
    if experiment.engine is not None:
        experiment.engine.close()
    experiment.spool.remove_if_empty()
