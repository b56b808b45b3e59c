"""What a lead and a host say to each other: one request and one reply per exchange, as bytes of MessagePack.

A lead decides what is started; a host makes the attempts and keeps their records until the lead has them. Both sides
repeat themselves until they are answered, so a lost message costs nothing: a start names its attempt, and an attempt
that a host knows already is not started again.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

import msgspec

from outweigh.gateway.token_grants import TokenGrant, TokenReport
from outweigh.model.base import Stored
from outweigh.model.run_record import Trial
from outweigh.model.usage import Cost
from outweigh.store.tried_arms_file import TriedArm

PROTOCOL = 3
"""Raised when a message changes; lead and hosts of different numbers refuse each other."""

INLINE_BYTES = 64 * 1024
"""Artifacts up to this size travel within an exchange, the others beside it or through a place that all share."""

AttemptKey = tuple[str, int]
"""The id of a run and the number of its attempt: what a record is known by."""


class AttemptOrder(Stored, frozen=True):
    """An attempt that a host is to make."""

    run_id: str
    trial: Trial
    block: int
    position: int
    attempt: int

    @property
    def key(self) -> AttemptKey:
        """What its record will be known by."""
        return self.run_id, self.attempt


class SuitePackage(Stored, frozen=True):
    """The package of a suite that attempts are made from, by its hash (cluster/suite_package.py)."""

    sha256: str
    size: int


class ExchangeRequest(Stored, frozen=True):
    """What a lead says. `echo` is the clock of the host in its last reply to this lead; None before the first one.

    `session` counts the leads that there were of the experiment, `number` the requests of this one to the host: a
    request that arrives after a later one is ignored. `starts` are the attempts that the host is to make and has not
    shown to know.
    `acknowledged` are records that the lead has stored, which the host may forget. `unwanted` are attempts to end,
    because their trials are settled. The host may take `wait_seconds` to answer if it has nothing to say before, and
    answers at once when the next request comes. `tokens` are what its gateway may ask providers for. With `cancel` the
    host ends all attempts, with `release` it is free for another lead. `artifacts` is the place that lead and hosts
    share for large artifacts.
    """

    protocol: int
    experiment: str
    session: int
    number: int
    echo: float | None
    lease_seconds: float
    package: SuitePackage | None
    starts: tuple[AttemptOrder, ...] = ()
    acknowledged: tuple[AttemptKey, ...] = ()
    unwanted: tuple[AttemptKey, ...] = ()
    wait_seconds: float = 0.0
    cancel: bool = False
    release: bool = False
    tokens: tuple[TokenGrant, ...] = ()
    artifacts: str | None = None


class HostState(StrEnum):
    """Whether a host can make attempts of the lead's experiment."""

    BUSY = "busy"
    NEEDS_PACKAGE = "needs_package"
    PREPARING = "preparing"
    UNFIT = "unfit"
    READY = "ready"


class RunningAttempt(Stored, frozen=True):
    """An attempt under way, and what it has cost so far: unknown where nothing meters it."""

    run_id: str
    attempt: int
    cost: Cost

    @property
    def key(self) -> AttemptKey:
        """What its record will be known by."""
        return self.run_id, self.attempt


class OfferedRecord(Stored, frozen=True):
    """A finished record as its sealed line, with its small artifacts by hash and the sizes of the large ones. Those of
    `shared` are at the place that lead and hosts share; the host has them, too.

    The other fields are those of `FinishedAttempt`. A host that was started again does not know them any more.
    """

    run_id: str
    attempt: int
    line: bytes
    artifacts: dict[str, bytes]
    large: dict[str, int]
    retry_after_seconds: float | None = None
    may_retry: bool = True
    failure_kind: str | None = None
    shared: dict[str, int] = {}  # noqa: RUF012 - msgspec copies defaults

    @property
    def key(self) -> AttemptKey:
        """What the record is known by."""
        return self.run_id, self.attempt


class RefusedStart(Stored, frozen=True):
    """An attempt that a host could not begin, so that nothing of it took place."""

    run_id: str
    attempt: int
    reason: str

    @property
    def key(self) -> AttemptKey:
        """What its record would have been known by."""
        return self.run_id, self.attempt


class ExchangeReply(Stored, frozen=True):
    """What a host answers. `clock` is its own; the lead sends it back.

    `slots` is how many attempts it makes at once now, `ahead` how many more may wait on it, `arms` those that it can
    run. `tried` is what trying them with the scripted model has shown. `running` and `offers` are everything under way
    and everything finished that is not acknowledged; `lost` has neither. `broken` are attempts that raised an error
    that ends an experiment, with the error. `tokens` are those that its gateway has used and waits for, and
    `held_seconds` is for how long attempts waited for them.
    """

    protocol: int
    host: str
    node: str
    clock: float
    state: HostState
    detail: str | None
    slots: int
    arms: tuple[str, ...]
    ahead: int = 0
    tried: tuple[TriedArm, ...] = ()
    running: tuple[RunningAttempt, ...] = ()
    offers: tuple[OfferedRecord, ...] = ()
    kept: tuple[AttemptKey, ...] = ()
    lost: tuple[AttemptKey, ...] = ()
    refused: tuple[RefusedStart, ...] = ()
    broken: tuple[RefusedStart, ...] = ()
    tokens: tuple[TokenReport, ...] = ()
    held_seconds: float = 0.0


_Message = TypeVar("_Message", ExchangeRequest, ExchangeReply)


def without_offers(reply: ExchangeReply, later: Sequence[OfferedRecord]) -> ExchangeReply:
    """A reply whose host keeps these records for now."""
    offers = tuple(offer for offer in reply.offers if offer not in later)
    return msgspec.structs.replace(reply, offers=offers, kept=(*reply.kept, *(offer.key for offer in later)))


def pack(message: Stored) -> bytes:
    """A message as bytes."""
    return msgspec.msgpack.encode(message)


def unpack(content: bytes, kind: type[_Message]) -> _Message:
    """The inverse; raises ValueError for what is no such message."""
    return msgspec.msgpack.decode(content, type=kind)
