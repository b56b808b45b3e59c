"""The model gateway of an experiment: one way to the models for each of its runs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self

from outweigh.gateway.background import Background
from outweigh.gateway.routes import Provider
from outweigh.gateway.run_ledger import RunLedger
from outweigh.gateway.run_meter import RunMeter
from outweigh.gateway.upstream import Upstream
from outweigh.ports.gateways import MeterRequest
from outweigh.record.pricing import FirstKnown

if TYPE_CHECKING:
    from aiohttp import ClientSession


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ModelGateway:
    """Stands between the agents of an experiment and their models, in a thread of its own.

    `prices` are asked for dollars, and `now` for the moment that prices are of.
    """

    def __init__(
        self, upstreams: Mapping[Provider, Upstream], prices: FirstKnown, now: Callable[[], datetime] = _utc_now
    ) -> None:
        self._upstreams = upstreams
        self._prices = prices
        self._now = now
        self._background = Background()

    def __enter__(self) -> Self:
        from outweigh.gateway.reverse_proxy import ReverseProxy  # noqa: PLC0415 - heavy, and needed only here

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
