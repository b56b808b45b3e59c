"""The model gateway of an experiment, and the meter that it opens for each run.

The server behind it is imported when the gateway is entered, because it needs aiohttp.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from socket import socket
from types import TracebackType
from typing import TYPE_CHECKING, Self

from outweigh.gateway.event_loop_thread import EventLoopThread
from outweigh.gateway.request_parsing import Provider
from outweigh.gateway.run_ledger import RunLedger
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.pricing import PriceTables
from outweigh.ports.gateways import MeteredCalls, MeterRequest
from outweigh.ports.sandboxes import ForwardedPort

if TYPE_CHECKING:
    from aiohttp import ClientSession

    from outweigh.gateway.gateway_server import GatewayServer, ReverseProxy

MODEL_PORT_NAME = "model"


class RunMeter:
    """Serves a run's doors, each on a socket that a sandbox listens on, and tells what passed."""

    def __init__(self, ledger: RunLedger, background: EventLoopThread, proxy: "ReverseProxy") -> None:
        self._ledger = ledger
        self._background = background
        self._proxy = proxy
        self._open_doors: set[GatewayServer] = set()
        self._final: MeteredCalls | None = None

    @property
    def door(self) -> ForwardedPort:
        """The door that a sandbox opens to it."""
        return ForwardedPort(name=MODEL_PORT_NAME, serve=self._serve)

    @property
    def key(self) -> str:
        """What the agent must send instead of a real key."""
        return self._ledger.key

    def account(self) -> MeteredCalls:
        """Everything that passed so far; what a client has received is in it."""
        return self._final or self._background.run(self._account())

    async def close(self) -> None:
        """Close what is still open, and the account with it. In the background's own thread."""
        self._ledger.is_open = False
        for door in tuple(self._open_doors):
            await door.close()
        self._final = self._ledger.account()

    async def _account(self) -> MeteredCalls:
        return self._ledger.account()

    @contextmanager
    def _serve(self, listening: socket) -> Iterator[None]:
        from outweigh.gateway.gateway_server import GatewayServer  # noqa: PLC0415 - heavy, and needed only here

        door = GatewayServer(self._ledger, self._proxy)
        self._background.run(door.open(listening))
        self._open_doors.add(door)
        try:
            yield
        finally:
            self._background.run(door.close())
            self._open_doors.discard(door)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ModelGateway:
    """Stands between the agents of an experiment and their models, in a thread of its own.

    `prices` are asked for dollars, and `now` for the moment that prices are of.
    """

    def __init__(
        self, upstreams: Mapping[Provider, ModelUpstream], prices: PriceTables, now: Callable[[], datetime] = _utc_now
    ) -> None:
        self._upstreams = upstreams
        self._prices = prices
        self._now = now
        self._background = EventLoopThread()

    def __enter__(self) -> Self:
        from outweigh.gateway.gateway_server import ReverseProxy  # noqa: PLC0415 - heavy, and needed only here

        self._prices.prices("")  # loads what tables load, before anybody waits for an answer
        self._background.__enter__()
        self._session = self._background.run(_new_session())
        self._proxy = ReverseProxy(self._session, self._upstreams)
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
        """Open the way for one run; leaving the context closes it, also for what is still under way."""
        keys = [secret for upstream in self._upstreams.values() for secret in upstream.secrets]
        meter = RunMeter(RunLedger(request, self._prices, keys, self._now), self._background, self._proxy)
        try:
            yield meter
        finally:
            self._background.run(meter.close())


async def _new_session() -> "ClientSession":
    from aiohttp import ClientSession, DummyCookieJar, TCPConnector  # noqa: PLC0415 - heavy, and needed only here

    # How many requests go out at once is the engine's choice, and a client's name its own.
    return ClientSession(
        connector=TCPConnector(limit=0), cookie_jar=DummyCookieJar(), skip_auto_headers=["User-Agent", "Content-Type"]
    )
