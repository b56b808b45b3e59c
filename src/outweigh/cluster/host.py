"""The host: it makes the attempts that its lead asks for, and keeps their records until the lead has them.

It is an engine without a batch. What it does when nobody asks any more is all that it decides itself: when its lease
has run out it ends its attempts.
"""

import platform
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Condition, Event, Thread

from outweigh.cluster.attempt_pace import AHEAD_SECONDS
from outweigh.cluster.host_experiment import AttemptUnderWay, HostEngine, HostExperiment, OpenEngine
from outweigh.cluster.lease import Lease, LeaseSignal
from outweigh.cluster.messages import PROTOCOL, AttemptKey, ExchangeReply, ExchangeRequest, HostState
from outweigh.cluster.spool import Spool
from outweigh.errors import OutweighError, UsageError
from outweigh.gateway.token_queue import TokenQueue

GATHER_SECONDS = 0.005

WATCH_SECONDS = 0.2
"""How often a host looks whether its lease has run out."""


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
        self._experiment: HostExperiment | None = None
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="trial")
        self._preparing = ThreadPoolExecutor(1, thread_name_prefix="prepare")
        self._news = ThreadPoolExecutor(1, thread_name_prefix="news")
        self._closed = Event()
        self._released = False
        self._left: dict[str, HostExperiment] = {}
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
            self._note_lapse()
            if (why := self._why_busy(request)) is not None:
                return self._reply(None, HostState.BUSY, why)
            experiment = self._take_on(request)
            if (request.session, request.number) <= experiment.last_request:
                return self._reply(experiment, experiment.state, experiment.detail)
            experiment.last_request = request.session, request.number
            if request.echo is not None:
                self._lease.renew(request.echo, request.lease_seconds)
            experiment.spool.note_known(order.key for order in request.starts)
            experiment.forget(request.acknowledged)
            experiment.end(request.unwanted)
            if request.cancel:
                experiment.cancel()
            if experiment.tokens is not None:
                experiment.tokens.take(request.tokens)
            experiment.share_artifacts(request.artifacts)
            self._use_package(experiment, request)
            self._start_all(experiment, request)
            self._await_news(experiment, request)
            reply = self._reply(experiment, experiment.state, experiment.detail)
            if request.release:
                self._release(experiment)
        return reply

    def receive_package(self, digest: str, offset: int, content: bytes, size: int) -> bool:
        """Take a part of a package; whether the whole of it is here now. A reply says why it could not be kept."""
        try:
            is_whole, fault = self._spool.packages.take_part(digest, offset, content, size), None
        except OSError as error:
            is_whole, fault = False, f"the suite could not be kept in {self._spool.folder}: {error.strerror or error}"
        with self._lock:
            if self._experiment is not None:
                self._experiment.package_fault = fault
        return is_whole

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
                self._experiment.cancel()
            self._closed.set()
            self._lock.notify_all()
        self._threads.shutdown(wait=True)
        self._preparing.shutdown(wait=True)
        self._news.shutdown(wait=True)
        self._watch.join()
        if self._experiment is not None and self._experiment.uploads is not None:
            self._experiment.uploads.close()
        if self._experiment is not None and self._experiment.engine is not None:
            self._experiment.engine.close()

    def _await_news(self, experiment: HostExperiment, request: ExchangeRequest) -> None:
        """Answer when there is something to say, and a moment later, so that what ends together is said together."""
        number, state = experiment.last_request, experiment.state

        def is_due() -> bool:
            is_asked = experiment.last_request != number or experiment.state is not state
            return is_asked or experiment.has_news or self._closed.is_set()

        self._lock.notify_all()
        waits = experiment.state in (HostState.READY, HostState.PREPARING) and not (request.release or request.cancel)
        if request.wait_seconds <= 0 or not waits:
            return
        if not (is_told := experiment.has_news):
            self._lock.wait_for(is_due, request.wait_seconds)
        if len(experiment.running) > self._slots:
            self._gather(experiment, number)
        elif not is_told:
            self._lock.wait(GATHER_SECONDS)

    def _gather(self, experiment: HostExperiment, number: tuple[int, int]) -> None:
        """Wait while attempts that wait here keep the slots busy: more of them end, and are told of together."""
        experiment.wakes_at = self._slots + experiment.pace.ahead(self._slots) // 4

        def is_due() -> bool:
            runs_short = experiment.wakes_at is None or len(experiment.running) <= experiment.wakes_at
            return runs_short or experiment.last_request != number or self._closed.is_set()

        try:
            self._lock.wait_for(is_due, AHEAD_SECONDS)
        finally:
            experiment.wakes_at = None

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

    def _take_on(self, request: ExchangeRequest) -> HostExperiment:
        held = self._experiment
        if held is not None and held.token != request.experiment:
            self._release(held)
            held = None
        if held is None:
            self._released = False
            held = HostExperiment(request.experiment, self._spool.of_experiment(request.experiment), self._lock)
            self._experiment = held
        return held

    def _release(self, experiment: HostExperiment) -> None:
        """The lead is done: nothing of it runs here."""
        experiment.cancel()
        experiment.is_released = True
        self._lease.end()
        self._released = True
        self._experiment = None
        self._left[experiment.token] = experiment
        self._preparing.submit(experiment.let_go)

    def _use_package(self, experiment: HostExperiment, request: ExchangeRequest) -> None:
        """Prepare the engine for the package, as soon as it is here and no attempt of another one runs."""
        package = request.package
        if package is None or experiment.running:
            return
        if experiment.package == package.sha256 and experiment.state is not HostState.NEEDS_PACKAGE:
            return
        experiment.package = package.sha256
        experiment.state, experiment.detail = HostState.NEEDS_PACKAGE, experiment.package_fault
        if self._spool.packages.has(package):
            experiment.state = HostState.PREPARING
            self._preparing.submit(self._prepare, experiment, package.sha256)

    def _prepare(self, experiment: HostExperiment, digest: str) -> None:
        state, detail = HostState.READY, None
        engine: HostEngine | None = None
        if self._closed.is_set():
            return
        if experiment.engine is not None:
            experiment.engine.close()
            experiment.engine = None
        try:
            if self._spool.packages.remove_if_changed(digest):
                state = HostState.NEEDS_PACKAGE
            else:
                engine = self._open_engine(self._spool.packages.path(digest), experiment.spool)
                state, detail = HostState.READY if engine.arms else HostState.UNFIT, engine.unfit
        except (OutweighError, OSError) as fault:
            state, detail = HostState.UNFIT, str(fault)
        except Exception as fault:  # the lead must hear of it: nobody else waits for this thread
            state, detail = HostState.UNFIT, f"the suite cannot be opened: {type(fault).__name__}: {fault}"
        if engine is not None and engine.tokens is not None:
            engine.tokens.on_change = partial(self._tell_of, engine.tokens)
        with self._lock:
            experiment.engine, experiment.state, experiment.detail = engine, state, detail
            self._lock.notify_all()

    def _tell_of(self, tokens: TokenQueue) -> None:
        """In the gateway's thread, which must not wait for what an exchange holds: a request may wait for tokens."""
        if tokens.asks and not self._closed.is_set():
            self._news.submit(self._notify)

    def _notify(self) -> None:
        with self._lock:
            self._lock.notify_all()

    def _start_all(self, experiment: HostExperiment, request: ExchangeRequest) -> None:
        fresh = request.echo is not None and self._lease.may_start(request.echo, request.lease_seconds)
        if not fresh or request.cancel or experiment.engine is None or experiment.state is not HostState.READY:
            return
        for order in experiment.new_among(request.starts):
            attempt = AttemptUnderWay(order, LeaseSignal(self._lease))
            experiment.running[order.key] = attempt
            self._threads.submit(experiment.make, experiment.engine, attempt)

    def _reply(self, experiment: HostExperiment | None, state: HostState, detail: str | None) -> ExchangeReply:
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
        return reply if experiment is None else experiment.describe(reply)

    def _watch_lease(self) -> None:
        while not self._closed.wait(WATCH_SECONDS):
            with self._lock:
                self._note_lapse()

    def _note_lapse(self) -> None:
        """Before the lease is renewed, so that what ran when it ran out is ended in any case."""
        if self._experiment is not None and self._lease.has_lapsed:
            self._experiment.note_lapse()
