"""The model gateway of an experiment, and the meter that it opens for each run.

The server behind it is imported when the gateway is entered, because it needs aiohttp.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from socket import socket
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Self

from outweigh.errors import requires_extra
from outweigh.gateway.event_loop_thread import EventLoopThread
from outweigh.gateway.run_ledger import RunLedger
from outweigh.gateway.token_queue import HeldTime, TokenQueue
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.pricing import PriceTables
from outweigh.model.provider import ApiFamily
from outweigh.ports.gateways import MeteredCalls, MeterRequest
from outweigh.ports.sandboxes import ForwardedPort

if TYPE_CHECKING:
    from aiohttp import ClientSession

    from outweigh.gateway.gateway_server import GatewayServer, ReverseProxy

MODEL_PORT_NAME = "model"


class RunMeter:
    """Serves a run's requests on the sockets that its sandboxes listen on, and reports its model calls."""

    def __init__(
        self, ledger: RunLedger, background: EventLoopThread, proxy: "ReverseProxy", tokens: TokenQueue | None
    ) -> None:
        self._ledger = ledger
        self._background = background
        self._proxy = proxy
        self._servers: set[GatewayServer] = set()
        self._held = HeldTime() if tokens is None else tokens.hold()
        self._tokens = tokens
        self._final: MeteredCalls | None = None

    @property
    def port(self) -> ForwardedPort:
        """The port that a sandbox forwards to it."""
        return ForwardedPort(name=MODEL_PORT_NAME, serve=self._serve)

    @property
    def key(self) -> str:
        """The key that the agent sends instead of a real one."""
        return self._ledger.key

    def account(self) -> MeteredCalls:
        """All calls so far, including everything that a client has received."""
        return self._final or self._background.run(self._account())

    def held_seconds(self) -> float:
        """For how long requests have waited so far for tokens of the minute."""
        return self._held.seconds()

    async def close(self) -> None:
        """Stop the servers and fix the final account. Runs in the event loop's thread."""
        self._ledger.is_open = False
        for server in tuple(self._servers):
            await server.stop()
        if self._tokens is not None:
            self._tokens.end_hold(self._held)
        await self._ledger.estimates.finish_counting()
        self._final = self._ledger.account()

    async def _account(self) -> MeteredCalls:
        return self._ledger.account()

    @contextmanager
    def _serve(self, listening: socket) -> Iterator[None]:
        from outweigh.gateway.gateway_server import GatewayServer  # noqa: PLC0415 - heavy, and needed only here

        server = GatewayServer(self._ledger, self._proxy, self._held)
        self._background.run(server.start(listening))
        self._servers.add(server)
        try:
            yield
        finally:
            self._background.run(server.stop())
            self._servers.discard(server)


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedUpstream:
    """One of a suite's own providers: the API that it has, where it is, and what it costs."""

    dialect: ApiFamily
    upstream: ModelUpstream
    prices: PriceTables


_NO_PROVIDERS: Mapping[str, NamedUpstream] = MappingProxyType({})
_NO_COUNTERS: Mapping[ApiFamily, ModelUpstream] = MappingProxyType({})


class ModelGateway:
    """Forwards the requests of an experiment's agents to their models, in its own thread.

    `prices` turns tokens into dollars as of the time that `now` returns. `providers` are those that runs name instead
    of using `upstreams`; such a run reaches its provider and no other. `counters` count the tokens of every request,
    free of charge, where another model answers it. Requests wait in `tokens` until they may be sent, None where they
    need not.
    """

    def __init__(
        self,
        upstreams: Mapping[ApiFamily, ModelUpstream],
        prices: PriceTables,
        now: Callable[[], datetime] = _utc_now,
        *,
        providers: Mapping[str, NamedUpstream] = _NO_PROVIDERS,
        counters: Mapping[ApiFamily, ModelUpstream] = _NO_COUNTERS,
        tokens: TokenQueue | None = None,
    ) -> None:
        self._upstreams = upstreams
        self._prices = prices
        self._now = now
        self._providers = providers
        self._counters = counters
        self._tokens = tokens
        self._background = EventLoopThread()

    def __enter__(self) -> Self:
        with requires_extra("the model gateway", "run"):
            from outweigh.gateway.gateway_server import ReverseProxy  # noqa: PLC0415 - heavy, and needed only here

        for prices in (self._prices, *(provider.prices for provider in self._providers.values())):
            prices.prices("")  # loads the price tables before a client waits for a response
        self._background.__enter__()
        self._session = self._background.run(_new_session())
        self._proxy = ReverseProxy(self._session, self._counters, self._tokens)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._background.run(self._session.close())
        finally:
            self._background.__exit__(kind, fault, trace)

    @contextmanager
    def meter(self, request: MeterRequest) -> Iterator[RunMeter]:
        """Open access for one run; leaving the context ends it and aborts requests that are still running."""
        upstreams, prices = self._upstreams, self._prices
        if request.provider is not None:
            named = self._providers[request.provider]
            upstreams, prices = {named.dialect: named.upstream}, named.prices
        ledger = RunLedger(request, prices, upstreams, self._now)
        meter = RunMeter(ledger, self._background, self._proxy, self._tokens)
        try:
            yield meter
        finally:
            self._background.run(meter.close())


async def _new_session() -> "ClientSession":
    from aiohttp import ClientSession, DummyCookieJar, TCPConnector  # noqa: PLC0415 - heavy, and needed only here

    # The engine limits concurrency, and clients send their own User-Agent.
    return ClientSession(
        connector=TCPConnector(limit=0), cookie_jar=DummyCookieJar(), skip_auto_headers=["User-Agent", "Content-Type"]
    )
