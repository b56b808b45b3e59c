"""Divides a limit of tokens per minute among those that send requests: the gateway of this process, or those of all
hosts of a cluster. Pure: it is told the time.

Whoever sends requests says how many tokens each one that waits will take, and sends it when they are granted. What it
says are totals, and so are grants, so a message that is lost or repeated changes nothing. In no 60 seconds are more
tokens granted and used than the limit, except by a request that takes more than was expected, or more than the limit.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from outweigh.model.base import Stored

WINDOW_SECONDS = 60.0
"""Limits are stated for a minute. What was used counts for so long."""


class WaitingRequest(Stored, frozen=True):
    """A request that is not sent yet: the tokens that it will probably take, and for how long it has waited."""

    tokens: int
    seconds: float


class TokenReport(Stored, frozen=True):
    """What a sender says of one provider. The totals are those since it began; its name tells that apart.

    `spent` are the tokens that were expected of what was sent, out of those `granted`. `returned` were granted and are
    not needed. `excess` is what responses took beyond what was expected, and `freed` what they took less while that
    still counted. `used` is what all took by the last that is known. For `pause_seconds` its provider asks to send
    nothing more.
    """

    provider: str
    sender: str
    granted: int = 0
    spent: int = 0
    returned: int = 0
    excess: int = 0
    freed: int = 0
    used: int = 0
    waiting: tuple[WaitingRequest, ...] = ()
    pause_seconds: float = 0.0


class TokenGrant(Stored, frozen=True):
    """All tokens that a sender was granted since it began, and how long nothing may be sent to the provider."""

    provider: str
    sender: str
    granted: int
    pause_seconds: float = 0.0


@dataclass(slots=True)
class _Account:
    """What is known of one sender; `waiting` are its requests by the time when they came."""

    last: TokenReport
    granted: int
    waiting: list[tuple[float, int]] = field(default_factory=list)

    @property
    def outstanding(self) -> int:
        """What was granted and is neither spent nor returned: it may be spent at any moment."""
        return max(0, self.granted - self.last.spent - self.last.returned)

    def wants(self) -> Iterator[tuple[float, int]]:
        """What its requests need beyond what was granted already, in their order."""
        credit = self.outstanding
        for came_at, tokens in self.waiting:
            if tokens > credit:
                yield came_at, tokens - credit
            credit = max(0, credit - tokens)


class _Window:
    """What was used in the last minute."""

    def __init__(self) -> None:
        self.total = 0
        self._entries: deque[tuple[float, int]] = deque()

    def add(self, now: float, tokens: int) -> None:
        if tokens > 0:
            self._entries.append((now, tokens))
            self.total += tokens

    def free(self, tokens: int) -> None:
        """Take back what was counted too much; of the oldest, which would not have counted for much longer."""
        while tokens > 0 and self._entries:
            used_at, used = self._entries.popleft()
            taken = min(used, tokens)
            tokens -= taken
            self.total -= taken
            if used > taken:
                self._entries.appendleft((used_at, used - taken))

    def expire(self, now: float) -> None:
        while self._entries and self._entries[0][0] <= now - WINDOW_SECONDS:
            self.total -= self._entries.popleft()[1]


class _ProviderTokens:
    """The limit of one provider, and who uses it."""

    def __init__(self) -> None:
        self.window = _Window()
        self.accounts: dict[str, _Account] = {}
        self.paused_until = 0.0
        self._used: dict[str, int] = {}

    @property
    def used(self) -> int:
        return sum(self._used.values())

    def take(self, member: str, report: TokenReport, now: float) -> None:
        known = self.accounts.get(member)
        if known is not None and known.last.sender != report.sender:
            self.drop(member, now)
            known = None
        if known is None:
            # One that has begun for an earlier lead was granted what it says.
            self.accounts[member] = known = _Account(report, report.granted)
        else:
            last, known.last = known.last, report
            self.window.free(report.freed - last.freed)
            self.window.add(now, report.spent - last.spent + report.excess - last.excess)
        self._used[report.sender] = report.used
        known.waiting = [(now - request.seconds, request.tokens) for request in report.waiting]
        if report.pause_seconds > 0:
            self.paused_until = max(self.paused_until, now + report.pause_seconds)

    def drop(self, member: str, now: float) -> None:
        """A sender is gone; what it was granted may have been used."""
        account = self.accounts.pop(member, None)
        if account is not None:
            self.window.add(now, account.outstanding)

    def distribute(self, limit: int, now: float) -> set[str]:
        self.window.expire(now)
        granted: set[str] = set()
        if now < self.paused_until:
            return granted
        taken = self.window.total + sum(account.outstanding for account in self.accounts.values())
        wanted = [
            (came_at, name, tokens) for name, account in self.accounts.items() for came_at, tokens in account.wants()
        ]
        for _, member, tokens in sorted(wanted):
            # Nothing overtakes the request that came first, or one with a long prompt would wait for ever. One that
            # takes more than the limit is sent alone.
            if taken and taken + tokens > limit:
                break
            self.accounts[member].granted += tokens
            taken += tokens
            granted.add(member)
        return granted


class TokenGrants:
    """Grants tokens of each provider in the order in which requests came, whoever sends them.

    Without a limit, it only tells all senders of pauses that a provider asked one of them for. Before `quiet_until`
    nothing is granted, because nobody knows what was used in the minute before.
    """

    def __init__(self, limit: int | None, *, quiet_until: float = 0.0) -> None:
        self.limit = limit
        self._quiet_until = quiet_until
        self._providers: dict[str, _ProviderTokens] = {}

    @property
    def used(self) -> dict[str, int]:
        """The tokens that all requests took, by provider."""
        return {name: provider.used for name, provider in self._providers.items()}

    def is_paused(self, now: float) -> bool:
        """Whether a provider has asked for a pause that is not over."""
        return any(now < provider.paused_until for provider in self._providers.values())

    def take(self, member: str, reports: Sequence[TokenReport], now: float) -> None:
        """Take in what a sender says of each provider; `member` says which sender it is, or takes the place of."""
        for report in reports:
            self._providers.setdefault(report.provider, _ProviderTokens()).take(member, report, now)

    def drop(self, member: str, now: float) -> None:
        """A sender is gone."""
        for provider in self._providers.values():
            provider.drop(member, now)

    def distribute(self, now: float) -> frozenset[str]:
        """Grant what there is room for; returns who was granted something."""
        if self.limit is None or now < self._quiet_until:
            return frozenset()
        granted = (provider.distribute(self.limit, now) for provider in self._providers.values())
        return frozenset().union(*granted)

    def grants(self, member: str, now: float) -> tuple[TokenGrant, ...]:
        """What a sender is to hear; of providers that it never asked, only that they are paused."""
        told = []
        for name, provider in self._providers.items():
            account, pause = provider.accounts.get(member), max(0.0, provider.paused_until - now)
            if account is not None:
                sender, granted = account.last.sender, account.granted
                told.append(TokenGrant(provider=name, sender=sender, granted=granted, pause_seconds=pause))
            elif pause:
                told.append(TokenGrant(provider=name, sender="", granted=0, pause_seconds=pause))
        return tuple(told)
