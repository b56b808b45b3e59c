"""Requests that wait at the gateway for tokens of the minute, in the order in which they came."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from uuid import uuid4

from outweigh.gateway.token_grants import WINDOW_SECONDS, TokenGrant, TokenGrants, TokenReport, WaitingRequest

LOOK_SECONDS = 0.1
"""How often a request that waits looks whether it may be sent."""

LONGEST_PAUSE_SECONDS = 60.0
"""Then a request is sent, to see whether the provider still refuses: clients do not wait for ever."""

_STILL_COUNTS_SECONDS = WINDOW_SECONDS - 5.0
"""What was sent longer ago may no longer count, so that nothing can be taken back of it."""


class HeldTime:
    """For how long requests of one run have waited. Where several wait at once, the time counts once."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._waiting = 0
        self._since = 0.0
        self._total = 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A request waits while the context is open."""
        with self._lock:
            if not self._waiting:
                self._since = self._clock()
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                if not self._waiting:
                    self._total += self._clock() - self._since

    def seconds(self) -> float:
        """The time until now. May be asked by any thread."""
        with self._lock:
            return self._total + (self._clock() - self._since if self._waiting else 0.0)


@dataclass(slots=True, eq=False)
class Admission:
    """A request that was sent, or waits to be: the tokens that it is expected to take, and when it came or was sent."""

    provider: str
    tokens: int
    at: float
    is_admitted: bool = False


@dataclass(slots=True)
class _ProviderLine:
    """The requests that wait for one provider, and the totals of what was sent to it."""

    waiting: deque[Admission] = field(default_factory=deque)
    granted: int = 0
    spent: int = 0
    returned: int = 0
    excess: int = 0
    freed: int = 0
    used: int = 0
    own_pause_until: float = 0.0
    told_pause_until: float = 0.0


class TokenQueue:
    """Where the requests of all runs of a gateway wait. Without `is_limited`, they do so only in pauses.

    `admit` and `settle` are called in the gateway's thread, the others by any thread. `on_change` is called in the
    gateway's thread, also while nothing changes and a request waits; it must not block.
    """

    def __init__(
        self, *, is_limited: bool, clock: Callable[[], float] = monotonic, look_seconds: float = LOOK_SECONDS
    ) -> None:
        self.on_change: Callable[[], None] = lambda: None
        self._is_limited = is_limited
        self._clock = clock
        self._look_seconds = look_seconds
        self._sender = uuid4().hex
        self._lock = Lock()
        self._lines: dict[str, _ProviderLine] = {}
        self._held: set[HeldTime] = set()
        self._held_before = 0.0
        self._asks = False

    def hold(self) -> HeldTime:
        """The time that requests of a new run wait."""
        held = HeldTime(self._clock)
        with self._lock:
            self._held.add(held)
        return held

    def end_hold(self, held: HeldTime) -> None:
        """A run is over."""
        with self._lock:
            self._held.discard(held)
            self._held_before += held.seconds()

    def held_seconds(self) -> float:
        """The time that all runs have waited."""
        with self._lock:
            return self._held_before + sum(held.seconds() for held in self._held)

    @property
    def asks(self) -> bool:
        """Whether a request waits that no report has told of yet, or a pause is new."""
        with self._lock:
            return self._asks

    async def admit(self, provider: str, tokens: int, held: HeldTime) -> Admission:
        """Wait until a request may be sent. Cancelling gives up its place."""
        admission = Admission(provider, tokens, self._clock())
        with self._lock:
            self._line(provider).waiting.append(admission)
            self._release(provider)
            self._asks |= not admission.is_admitted
        if admission.is_admitted:
            return admission
        try:
            with held.waiting():
                self.on_change()
                while not self._look(admission):
                    await asyncio.sleep(self._look_seconds)
                    self.on_change()
        except BaseException:
            self._give_up(admission)
            raise
        return admission

    def settle(self, admission: Admission, tokens: int | None) -> None:
        """A response has ended, and took so many tokens; None where nobody knows."""
        difference = 0 if tokens is None else tokens - admission.tokens
        with self._lock:
            line = self._line(admission.provider)
            line.used += difference
            if difference > 0:
                line.excess += difference
            elif difference < 0 and self._clock() - admission.at < _STILL_COUNTS_SECONDS:
                line.freed -= difference
        self.on_change()

    def pause(self, provider: str, seconds: float) -> None:
        """The provider asks to send nothing for a while."""
        with self._lock:
            line = self._line(provider)
            line.own_pause_until = max(line.own_pause_until, self._clock() + min(seconds, LONGEST_PAUSE_SECONDS))
            self._asks = True
        self.on_change()

    def reports(self) -> tuple[TokenReport, ...]:
        """What is to be said to who grants tokens. What was granted and is not needed is given back."""
        with self._lock:
            self._asks = False
            return tuple(self._report(name, line) for name, line in self._lines.items())

    def take(self, grants: Sequence[TokenGrant]) -> None:
        """Take in what was granted."""
        now = self._clock()
        with self._lock:
            for grant in grants:
                line = self._line(grant.provider)
                line.told_pause_until = now + grant.pause_seconds
                if grant.sender == self._sender:
                    line.granted = max(line.granted, grant.granted)
                self._release(grant.provider)

    def _line(self, provider: str) -> _ProviderLine:
        return self._lines.setdefault(provider, _ProviderLine())

    def _look(self, admission: Admission) -> bool:
        """Whether a request may be sent now, perhaps because a pause is over."""
        with self._lock:
            self._release(admission.provider)
            return admission.is_admitted

    def _release(self, provider: str) -> None:
        """Admit the first requests, as far as was granted."""
        line, now = self._line(provider), self._clock()
        if now < max(line.own_pause_until, line.told_pause_until):
            return
        while line.waiting:
            first = line.waiting[0]
            if self._is_limited and line.granted - line.spent - line.returned < first.tokens:
                return
            line.waiting.popleft()
            line.spent += first.tokens if self._is_limited else 0
            line.used += first.tokens
            first.is_admitted, first.at = True, now

    def _give_up(self, admission: Admission) -> None:
        """Its client is gone: nothing was sent."""
        with self._lock:
            line = self._line(admission.provider)
            if admission in line.waiting:
                line.waiting.remove(admission)
                return
        self.settle(admission, 0)

    def _report(self, name: str, line: _ProviderLine) -> TokenReport:
        now = self._clock()
        if not line.waiting:
            line.returned = line.granted - line.spent
        return TokenReport(
            provider=name,
            sender=self._sender,
            granted=line.granted,
            spent=line.spent,
            returned=line.returned,
            excess=line.excess,
            freed=line.freed,
            used=line.used,
            waiting=tuple(WaitingRequest(tokens=one.tokens, seconds=now - one.at) for one in line.waiting),
            pause_seconds=max(0.0, line.own_pause_until - now),
        )


class LocalTokens:
    """The limit of a run whose requests all pass one gateway."""

    def __init__(self, limit: int, clock: Callable[[], float] = monotonic) -> None:
        self.queue = TokenQueue(is_limited=True, clock=clock)
        self._grants = TokenGrants(limit)
        self._clock = clock
        self._lock = Lock()
        self.queue.on_change = self._pass_on

    @property
    def used(self) -> dict[str, int]:
        """The tokens that all requests took, by provider."""
        self._pass_on()
        with self._lock:
            return self._grants.used

    @property
    def is_paused(self) -> bool:
        """Whether a provider has asked for a pause that is not over."""
        with self._lock:
            return self._grants.is_paused(self._clock())

    def _pass_on(self) -> None:
        now = self._clock()
        with self._lock:
            self._grants.take("", self.queue.reports(), now)
            self._grants.distribute(now)
            self.queue.take(self._grants.grants("", now))
