"""An experiment on a host: what makes its attempts, those under way, and what its lead is to hear of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Condition
from time import monotonic, sleep
from typing import Protocol

import msgspec

from outweigh.cluster.artifact_uploads import ArtifactUploads
from outweigh.cluster.attempt_pace import AttemptPace
from outweigh.cluster.lease import LeaseSignal
from outweigh.cluster.messages import (
    AttemptKey,
    AttemptOrder,
    ExchangeReply,
    HostState,
    OfferedRecord,
    RefusedStart,
    RunningAttempt,
)
from outweigh.cluster.spool import ExperimentSpool, SpoolFullError
from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.trial_plan import PlannedRun
from outweigh.errors import OutweighError
from outweigh.gateway.token_queue import TokenQueue
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.usage import UNKNOWN_COST, Cost
from outweigh.store.tried_arms_file import TriedArm

MOST_OFFERS = 32
"""So many records are offered in one exchange; the others follow in the next ones."""

MOST_BYTES = 1_000_000
"""Records are offered up to this size together, so that an answer arrives in time over a slow link too."""

END_SECONDS = 0.2
"""How often it is looked whether attempts that were cancelled have ended."""


class HostEngine(Protocol):
    """What makes the attempts of one experiment on a host."""

    @property
    def arms(self) -> Sequence[str]:
        """The arms that can run here."""

    @property
    def tried(self) -> Sequence[TriedArm]:
        """What trying these arms with the scripted model has shown; nothing of arms that ask no model."""

    @property
    def tokens(self) -> TokenQueue | None:
        """Where requests for models wait; None where no arm asks one."""

    @property
    def unfit(self) -> str | None:
        """Why no arm, or not every one, can run here; None where all can."""

    def attempt(self, planned: PlannedRun, number: int, cancel: LeaseSignal) -> FinishedAttempt:
        """Make an attempt; when this returns, its record is in the spool."""

    def spent(self, run_id: str) -> Cost:
        """What a running attempt has cost so far; unknown where nothing meters it."""

    def close(self) -> None:
        """Free everything; no attempt runs any more."""


OpenEngine = Callable[[Path, ExperimentSpool], HostEngine]
"""Opens the engine for a package, with its spool; UsageError where nothing of it can run on this host."""


@dataclass(slots=True)
class AttemptUnderWay:
    """An attempt that was started, and the signal that ends it."""

    order: AttemptOrder
    cancel: LeaseSignal


class HostExperiment:
    """The experiment that a host works on. All but `make` is called with the host's `lock`, which `make` takes."""

    def __init__(self, token: str, spool: ExperimentSpool, lock: Condition) -> None:
        self.token = token
        self.spool = spool
        self.state = HostState.NEEDS_PACKAGE
        self.detail: str | None = None
        self.package: str | None = None
        self.package_fault: str | None = None
        self.engine: HostEngine | None = None
        self.last_request = (0, 0)
        self.running: dict[AttemptKey, AttemptUnderWay] = {}
        self.is_released = False
        self.uploads: ArtifactUploads | None = None
        self.pace = AttemptPace()
        self.wakes_at: int | None = None
        """While a reply gathers news: with how many attempts left it is sent. None where each is news."""
        self._lock = lock
        self._made: dict[AttemptKey, FinishedAttempt] = {}
        self._refused: dict[AttemptKey, RefusedStart] = {}
        self._broken: dict[AttemptKey, RefusedStart] = {}

    @property
    def has_news(self) -> bool:
        """Whether there is something that the lead does not know."""
        if self._refused or self._broken or self.spool.left_open or (self.tokens is not None and self.tokens.asks):
            return True
        uploading = self._uploading
        return any(key not in self.running and key not in uploading for key in self.spool.records())

    @property
    def tokens(self) -> TokenQueue | None:
        """Where requests for models wait."""
        return None if self.engine is None else self.engine.tokens

    def share_artifacts(self, place: str | None) -> None:
        """Put large artifacts to this place from now on; over the connection where there is none."""
        if place == (None if self.uploads is None else self.uploads.place):
            return
        self.uploads = None
        if place is not None:
            self.uploads = ArtifactUploads(place, self.token, self.spool, self._is_wanted, self._note_upload)

    def _is_wanted(self, key: AttemptKey) -> bool:
        return not self.is_released and key in self.spool.records()

    def _note_upload(self) -> None:
        with self._lock:
            self._lock.notify_all()

    @property
    def _uploading(self) -> frozenset[AttemptKey]:
        return frozenset() if self.uploads is None else self.uploads.pending

    def new_among(self, orders: Sequence[AttemptOrder]) -> list[AttemptOrder]:
        """The orders that were not followed yet."""
        known = self.spool.left_open | self.spool.records().keys()
        known |= self.running.keys() | self._refused.keys() | self._broken.keys()
        return [order for order in orders if order.key not in known]

    def make(self, engine: HostEngine, attempt: AttemptUnderWay) -> None:
        """Make an attempt, in a thread of its own."""
        order = attempt.order
        planned = PlannedRun(trial=order.trial, block=order.block, position=order.position)
        made = refused = broken = None
        began = monotonic()
        try:
            if attempt.cancel.is_set():
                raise SpoolFullError("it was cancelled before it began")
            made = engine.attempt(planned, order.attempt, attempt.cancel)
        except SpoolFullError as fault:
            refused = RefusedStart(run_id=order.run_id, attempt=order.attempt, reason=str(fault))
        except Exception as fault:  # the lead ends the experiment, as an engine of its own would
            said = str(fault) if isinstance(fault, OutweighError) else f"{type(fault).__name__}: {fault}"
            broken = RefusedStart(run_id=order.run_id, attempt=order.attempt, reason=said)
        with self._lock:
            if made is not None:
                self._made[order.key] = made
                if made.record.status not in EXCLUDED_STATUSES:
                    self.pace.note(monotonic() - began)
            if refused is not None:
                self._refused[order.key] = refused
            if broken is not None:
                self._broken[order.key] = broken
            del self.running[order.key]
            if made is not None and self.uploads is not None:
                self.uploads.with_shared(self.spool.offer(order.key, made.record))
            if made is None or self.wakes_at is None or len(self.running) <= self.wakes_at:
                self._lock.notify_all()

    def cancel(self) -> None:
        """End all attempts."""
        for each in self.running.values():
            each.cancel.set()

    def note_lapse(self) -> None:
        """The lease has run out, which ends agents whatever becomes of it; what has ended is still checked."""
        for each in self.running.values():
            each.cancel.is_set()

    def end(self, keys: Sequence[AttemptKey]) -> None:
        """End these attempts, where they run."""
        for key in keys:
            if key in self.running:
                self.running[key].cancel.set()

    def forget(self, keys: Sequence[AttemptKey]) -> None:
        """The lead has their records, or has closed them."""
        for key in keys:
            if key not in self.running:
                self.spool.forget(key)
                if self.uploads is not None:
                    self.uploads.forget(key)
                for known in (self._made, self._refused, self._broken):
                    known.pop(key, None)

    def describe(self, reply: ExchangeReply) -> ExchangeReply:
        """A reply with everything that is to be said of this experiment."""
        engine, tokens = self.engine, self.tokens
        offers = tuple(self._offers())
        return msgspec.structs.replace(
            reply,
            detail=self._detail_with_faults(reply.detail),
            ahead=self.pace.ahead(reply.slots),
            arms=() if engine is None else tuple(engine.arms),
            tried=() if engine is None else tuple(engine.tried),
            running=tuple(self._describe(each.order) for each in self.running.values()),
            offers=offers,
            kept=tuple(self.spool.records().keys() - {offer.key for offer in offers} - self.running.keys()),
            lost=tuple(self.spool.left_open),
            refused=tuple(self._refused.values()),
            broken=tuple(self._broken.values()),
            tokens=() if tokens is None else tokens.reports(),
            held_seconds=0.0 if tokens is None else tokens.held_seconds(),
        )

    def _detail_with_faults(self, detail: str | None) -> str | None:
        """What is said of this host, how many attempts it was making of which it knows nothing more, and why large
        artifacts do not go where they should.
        """
        told = [] if detail is None else [detail]
        if damaged := self.spool.damaged:
            lost = f"so that they are lost: {len(damaged)}, in {damaged[0]}"
            told.append(f"attempts whose markers in its spool are damaged, {lost}")
        if self.uploads is not None and self.uploads.fault is not None:
            told.append(self.uploads.fault)
        return "; ".join(told) or None

    def let_go(self) -> None:
        """Free what makes attempts, when those that were cancelled have ended. Needs no lock."""
        while self.running:
            sleep(END_SECONDS)
        if self.uploads is not None:
            self.uploads.close()
        if self.engine is not None:
            self.engine.close()
        self.spool.remove_if_empty()

    def _describe(self, order: AttemptOrder) -> RunningAttempt:
        spent = UNKNOWN_COST if self.engine is None else self.engine.spent(order.run_id)
        return RunningAttempt(run_id=order.run_id, attempt=order.attempt, cost=spent)

    def _offers(self) -> list[OfferedRecord]:
        offers: list[OfferedRecord] = []
        size = 0
        for key, record in self.spool.records().items():
            if key in self.running or len(offers) == MOST_OFFERS or size >= MOST_BYTES or key in self._uploading:
                continue
            kept = self.spool.offer(key, record)
            offer = kept if self.uploads is None else self.uploads.with_shared(kept)
            if offer is None:
                continue
            size += len(offer.line) + sum(map(len, offer.artifacts.values()))
            offers.append(self._with_details(offer))
        return offers

    def _with_details(self, offer: OfferedRecord) -> OfferedRecord:
        """With what its attempt told beside its record, where this process made it."""
        made = self._made.get(offer.key)
        if made is None:
            return offer
        return msgspec.structs.replace(
            offer,
            retry_after_seconds=made.retry_after_seconds,
            may_retry=made.may_retry,
            failure_kind=None if made.failure_kind is None else made.failure_kind.value,
        )
