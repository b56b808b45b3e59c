"""The tokens of the minute that all hosts of a lead share, and the pauses that a provider asks one of them for."""

from collections.abc import Collection

from outweigh.cluster.messages import ExchangeReply
from outweigh.engine.token_pace import TokenUse
from outweigh.gateway.token_grants import WINDOW_SECONDS, TokenGrant, TokenGrants


class SharedTokens:
    """Grants tokens to hosts by what they say in their replies. Pure: it is told the time.

    A lead that takes over from another one does not know what was used in the minute before it began.
    """

    def __init__(self, limit: int | None, began: float, *, takes_over: bool) -> None:
        self._grants = TokenGrants(limit, quiet_until=began + WINDOW_SECONDS if takes_over else began)
        self._clocks: dict[str, float] = {}
        # By the name that a gateway gives itself, so that one which is heard again later counts once.
        self._held: dict[str, float] = {}

    def use(self, now: float) -> TokenUse:
        """What all attempts took so far."""
        held = sum(self._held.values())
        return TokenUse(tokens=self._grants.used, held_seconds=held, is_paused=self._grants.is_paused(now))

    def take(self, reply: ExchangeReply, now: float) -> None:
        """Take in what a host says, unless a later reply has come before this one."""
        if not reply.tokens or reply.clock < self._clocks.get(reply.host, reply.clock):
            return
        self._clocks[reply.host] = reply.clock
        self._grants.take(reply.host, reply.tokens, now)
        self._held[reply.tokens[0].sender] = reply.held_seconds

    def keep_only(self, hosts: Collection[str], now: float) -> None:
        """All other hosts are given up."""
        for host in [host for host in self._clocks if host not in hosts]:
            del self._clocks[host]
            self._grants.drop(host, now)

    def distribute(self, now: float) -> frozenset[str]:
        """Grant what there is room for; returns the hosts that are to hear of it."""
        return self._grants.distribute(now)

    def grants(self, host: str, now: float) -> tuple[TokenGrant, ...]:
        """What a host is to hear."""
        return self._grants.grants(host, now)
