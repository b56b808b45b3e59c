"""What a lead knows of its hosts and of the attempts that it gave them, and what follows from a reply or silence.

Pure: it is told the time, sends nothing and stores nothing. Every call leaves a state from which the next request to
each host can be made.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from outweigh.cluster.messages import (
    PROTOCOL,
    AttemptKey,
    AttemptOrder,
    ExchangeReply,
    ExchangeRequest,
    HostState,
    OfferedRecord,
    SuitePackage,
)
from outweigh.model.usage import UNKNOWN_COST, Cost

CANCEL_GRACE_SECONDS = 2.0
"""An attempt is taken for lost so long after the lease of its host: the host needs a moment to notice."""

REFUSAL_SECONDS = 5.0
"""A host that refused a start gets no other one for so long."""


WAIT_SECONDS = 0.8
"""How long a host may take to answer if it has nothing to say; there is nothing to tell it either."""

HEARD_SECONDS = 3.0
"""A host that was not heard for so long gets no attempt; whether it is lost is decided by its lease."""


@dataclass(slots=True, kw_only=True)
class KnownHost:
    """A host as its last reply described it. `echo` is its clock then, `heard_at` the lead's own.

    `known` are attempts that it has begun to make or made, so that nothing more need be said of them.
    """

    name: str
    address: str
    node: str
    heard_at: float
    echo: float
    state: HostState
    detail: str | None
    slots: int
    arms: frozenset[str]
    ahead: int = 0
    known: frozenset[AttemptKey] = frozenset()
    no_starts_before: float = 0.0
    acknowledged: set[AttemptKey] = field(default_factory=set)
    unwanted: set[AttemptKey] = field(default_factory=set)


@dataclass(slots=True, kw_only=True)
class GivenAttempt:
    """An attempt that is to be made: by which host, None while none has a place, and what it has cost so far."""

    order: AttemptOrder
    host: str | None
    cost: Cost = UNKNOWN_COST


@dataclass(frozen=True, slots=True, kw_only=True)
class LostAttempt:
    """An attempt that took place and has no result, what it had cost when that was last known, and why it is lost.

    `may_come_late` where its `host` is silent: it may have ended there.
    """

    order: AttemptOrder
    host: str | None = None
    cost: Cost
    reason: str
    may_come_late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What follows from a reply: records to store, attempts that are lost, and those that broke the experiment.

    `left_open` are attempts of an earlier lead that are lost.
    """

    offers: tuple[OfferedRecord, ...] = ()
    lost: tuple[LostAttempt, ...] = ()
    broken: tuple[tuple[AttemptKey, str], ...] = ()
    left_open: tuple[AttemptKey, ...] = ()


class LeadState:
    """The hosts and attempts of one lead, which is the so-manyth `session` of its experiment.

    `refused_arms` are those that a host does not get although it could run them. `running_elsewhere` are attempts that
    a host makes and nobody here waits for, with the host and their cost so far. `lost_hosts` were given up because
    nothing was heard of them.
    """

    def __init__(self, experiment: str, session: int, lease_seconds: float) -> None:
        self._experiment = experiment
        self._session = session
        self.lease_seconds = lease_seconds
        self.package: SuitePackage | None = None
        self.artifacts: str | None = None
        self.cancelled = False
        self.released = False
        self.refused_arms: dict[str, frozenset[str]] = {}
        self.hosts: dict[str, KnownHost] = {}
        self.lost_hosts: dict[str, KnownHost] = {}
        self.given: dict[AttemptKey, GivenAttempt] = {}
        self._with: dict[str | None, dict[AttemptKey, GivenAttempt]] = {}
        self.running_elsewhere: dict[AttemptKey, tuple[str, Cost]] = {}
        # One count for all addresses: a host that has lost its scheduler comes back with another address.
        self._requests = 0

    @property
    def slots(self) -> int:
        """How many attempts may be given to all hosts together now, and those that wait for one."""
        return sum(host.slots + host.ahead for host in self.hosts.values()) + len(self._of(None))

    @property
    def waiting(self) -> tuple[AttemptOrder, ...]:
        """What no host has a place for now."""
        return tuple(each.order for each in self._of(None).values())

    def has_place(self, arm: str, now: float) -> bool:
        """Whether a host has a place for an attempt of this arm."""
        return self._place_for(arm, now) is not None

    def give(self, order: AttemptOrder, now: float) -> str | None:
        """Give an attempt to the host with most places left for its arm.

        Returns the address of a host that is to hear of it at once; one whose slots are taken hears of it later.
        """
        name = self._place_for(order.trial.arm, now)
        self._add(GivenAttempt(order=order, host=name))
        if name is None or len(self._of(name)) > self.hosts[name].slots:
            return None
        return self.hosts[name].address

    def adopt(self, order: AttemptOrder) -> bool:
        """Take an attempt over that a host still makes for an earlier lead; whether there is one."""
        host, cost = self.running_elsewhere.pop(order.key, (None, UNKNOWN_COST))
        if host is None:
            return False
        self._add(GivenAttempt(order=order, host=host, cost=cost))
        return True

    def close(self, key: AttemptKey) -> None:
        """The attempt is settled: nobody waits for it."""
        self._remove(key)

    def end(self, key: AttemptKey) -> None:
        """Let the host of an attempt end it: its trial is settled."""
        given = self._remove(key)
        if given is not None and given.host in self.hosts:
            self.hosts[given.host].unwanted.add(key)

    def acknowledge(self, host: str, keys: Iterable[AttemptKey]) -> None:
        """Let a host forget attempts: their records are stored, or they are closed."""
        if host in self.hosts:
            self.hosts[host].acknowledged.update(keys)

    def request_for(self, address: str) -> ExchangeRequest:
        """What to say to the host at this address; the first request to it only asks."""
        host = self.host_at(address)
        self._requests += 1
        starts = () if host is None or self.cancelled else self._starts_for(host)
        return ExchangeRequest(
            protocol=PROTOCOL,
            experiment=self._experiment,
            session=self._session,
            number=self._requests,
            echo=None if host is None else host.echo,
            lease_seconds=self.lease_seconds,
            wait_seconds=0.0 if host is None else WAIT_SECONDS,
            package=self.package,
            starts=starts,
            acknowledged=() if host is None else tuple(host.acknowledged),
            unwanted=() if host is None else tuple(host.unwanted),
            cancel=self.cancelled,
            release=self.released,
            artifacts=self.artifacts,
        )

    def take_reply(self, address: str, request: ExchangeRequest, reply: ExchangeReply, now: float) -> Findings:
        """Take a reply to this request in."""
        known = self.hosts.get(reply.host)
        if known is not None and reply.clock < known.echo:
            return Findings()  # it was overtaken by a later one
        host = self._note_host(address, reply, now)
        host.acknowledged -= set(request.acknowledged)
        # One that was not running yet when it was to end may still be on its way there.
        host.unwanted -= set(request.unwanted) - {running.key for running in reply.running}
        for running in reply.running:
            self._note_running(host, running.key, running.cost)
        self._forget_ended(host, {running.key for running in reply.running})
        reason = f"its host on {host.node} was started again"
        lost = [self._lose(key, reason) if self._is_with(host, key) else None for key in reply.lost]
        for refused in reply.refused:
            self._put_back(host, refused.key, now)
        host.acknowledged.update(each.key for each in (*reply.refused, *reply.broken))
        unbegun: list[LostAttempt | None] = []
        if request.cancel and reply.state is not HostState.BUSY:
            unbegun = self._lose_unbegun(host, reply)
        return Findings(
            offers=reply.offers,
            lost=tuple(each for each in (*lost, *unbegun) if each is not None),
            broken=tuple((each.key, f"{host.node}: {each.reason}") for each in reply.broken),
            left_open=tuple(key for key, found in zip(reply.lost, lost, strict=True) if found is None),
        )

    def take_silence(self, now: float) -> tuple[LostAttempt, ...]:
        """Give up hosts that were not heard for a lease; the attempts that they made are lost."""
        limit = self.lease_seconds + CANCEL_GRACE_SECONDS
        silent = [host for host in self.hosts.values() if now - host.heard_at > limit]
        lost: list[LostAttempt | None] = []
        for host in silent:
            self.lost_hosts[host.name] = self.hosts.pop(host.name)
            reason = f"its host on {host.node} did not answer for {limit:.0f} s"
            lost += [self._lose(key, reason, may_come_late=True) for key in list(self._of(host.name))]
        gone = {host.name for host in silent}
        self.running_elsewhere = {key: each for key, each in self.running_elsewhere.items() if each[0] not in gone}
        return tuple(each for each in lost if each is not None)

    def place_waiting(self, now: float) -> None:
        """Give attempts that were refused to hosts that have a place for them now."""
        for each in list(self._of(None).values()):
            self._move(each, self._place_for(each.order.trial.arm, now))

    def host_at(self, address: str) -> KnownHost | None:
        """The host that was heard from at this address last; None before the first time."""
        return next((host for host in self.hosts.values() if host.address == address), None)

    def _starts_for(self, host: KnownHost) -> tuple[AttemptOrder, ...]:
        return tuple(each.order for key, each in self._of(host.name).items() if key not in host.known)

    def _of(self, host: str | None) -> dict[AttemptKey, GivenAttempt]:
        return self._with.get(host, {})

    def _add(self, given: GivenAttempt) -> None:
        self._remove(given.order.key)
        self.given[given.order.key] = given
        self._with.setdefault(given.host, {})[given.order.key] = given

    def _remove(self, key: AttemptKey) -> GivenAttempt | None:
        given = self.given.pop(key, None)
        if given is not None:
            of_host = self._with[given.host]
            del of_host[key]
            if not of_host:
                del self._with[given.host]
        return given

    def _move(self, given: GivenAttempt, host: str | None) -> None:
        if given.host != host:
            self._remove(given.order.key)
            given.host = host
            self._add(given)

    def _note_host(self, address: str, reply: ExchangeReply, now: float) -> KnownHost:
        known = self.hosts.get(reply.host)
        host = KnownHost(
            name=reply.host,
            address=address,
            node=reply.node,
            heard_at=now if known is None or reply.state is not HostState.BUSY else known.heard_at,
            echo=reply.clock,
            state=reply.state,
            detail=reply.detail,
            slots=reply.slots,
            arms=frozenset(reply.arms) - self.refused_arms.get(reply.host, frozenset()),
            ahead=reply.ahead,
            known=_known_to(reply),
            no_starts_before=0.0 if known is None else known.no_starts_before,
            acknowledged=set() if known is None else known.acknowledged,
            unwanted=set() if known is None else known.unwanted,
        )
        self.hosts[reply.host] = host
        self.lost_hosts.pop(reply.host, None)
        return host

    def _note_running(self, host: KnownHost, key: AttemptKey, cost: Cost) -> None:
        if (given := self.given.get(key)) is not None:
            if given.host == host.name:
                given.cost = cost
        else:
            self.running_elsewhere[key] = host.name, cost

    def _lose(self, key: AttemptKey, reason: str, *, may_come_late: bool = False) -> LostAttempt | None:
        given = self._remove(key)
        if given is None:
            return None
        return LostAttempt(
            order=given.order, host=given.host, cost=given.cost, reason=reason, may_come_late=may_come_late
        )

    def _lose_unbegun(self, host: KnownHost, reply: ExchangeReply) -> list[LostAttempt | None]:
        """What a host that was told to end everything has not begun: it never will."""
        there = {*reply.kept, *(each.key for each in reply.running), *(each.key for each in reply.offers)}
        there.update(each.key for each in (*reply.refused, *reply.broken))
        unbegun = [key for key in self._of(host.name) if key not in there]
        return [self._lose(key, "the run was cancelled before it began") for key in unbegun]

    def _forget_ended(self, host: KnownHost, running: Collection[AttemptKey]) -> None:
        """What the host made for an earlier lead, or for nobody, and makes no more."""
        ended = [key for key, (name, _) in self.running_elsewhere.items() if name == host.name and key not in running]
        for key in ended:
            del self.running_elsewhere[key]

    def _is_with(self, host: KnownHost, key: AttemptKey) -> bool:
        return key in self.given and self.given[key].host == host.name

    def _put_back(self, host: KnownHost, key: AttemptKey, now: float) -> None:
        host.no_starts_before = now + REFUSAL_SECONDS
        if (given := self.given.get(key)) is not None and given.host == host.name:
            self._move(given, None)

    def _place_for(self, arm: str, now: float) -> str | None:
        free = {
            host.name: left
            for host in self.hosts.values()
            if arm in host.arms and now >= host.no_starts_before and now - host.heard_at <= HEARD_SECONDS
            if (left := host.slots - len(self._of(host.name))) + host.ahead > 0
        }
        return max(free, key=lambda name: free[name], default=None)


def _known_to(reply: ExchangeReply) -> frozenset[AttemptKey]:
    running, offered = ({each.key for each in told} for told in (reply.running, reply.offers))
    return frozenset({*reply.kept, *running, *offered})
