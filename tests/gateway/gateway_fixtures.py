"""A gateway with one run's port served, as a sandbox would serve it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from socket import create_server

from outweigh.gateway.model_gateway import ModelGateway, RunMeter
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.pricing import ModelPrices, PriceTables, UserPriceTable
from outweigh.model.provider import ApiFamily
from outweigh.ports.gateways import ArmMarker, MeteredCalls, MeterRequest

REAL_KEY = "sk-real-0123456789abcdef"
MODEL = "priced-model"
MODEL_PRICES = ModelPrices(
    input_usd_per_million=3.0,
    output_usd_per_million=15.0,
    cache_read_usd_per_million=0.3,
    cache_write_usd_per_million=3.75,
)
PRICES = PriceTables(UserPriceTable("prices-1", {MODEL: MODEL_PRICES}))


@dataclass(frozen=True, slots=True)
class Way:
    """Where a program in a sandbox would connect, and with what."""

    meter: RunMeter
    url: str

    @property
    def key(self) -> str:
        return self.meter.key

    def account(self) -> MeteredCalls:
        return self.meter.account()


def a_gateway(url: str, key: str | None = REAL_KEY) -> ModelGateway:
    return ModelGateway(
        {provider: ModelUpstream(url=url, variable="REAL_KEY", key=key) for provider in ApiFamily}, PRICES
    )


@contextmanager
def a_way_through(
    gateway: ModelGateway,
    *,
    budget_usd: float | None = None,
    tokens: int | None = None,
    markers: Sequence[ArmMarker] = (),
    keep_bodies: bool = False,
    models: tuple[str, ...] | None = None,
    allow: tuple[str, ...] = (),
    provider: str | None = None,
) -> Iterator[Way]:
    request = MeterRequest(
        label="run",
        budget_usd=budget_usd,
        tokens=tokens,
        markers=tuple(markers),
        keep_bodies=keep_bodies,
        models=models,
        allow=allow,
        provider=provider,
    )
    listening = create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    with gateway.meter(request) as meter, meter.port.serve(listening):
        yield Way(meter, f"http://127.0.0.1:{port}")


@contextmanager
def a_way(
    url: str,
    *,
    key: str | None = REAL_KEY,
    budget_usd: float | None = None,
    tokens: int | None = None,
    markers: Sequence[ArmMarker] = (),
    keep_bodies: bool = False,
) -> Iterator[Way]:
    """One run through a gateway of its own, whose every provider is at this address."""
    with (
        a_gateway(url, key) as gateway,
        a_way_through(gateway, budget_usd=budget_usd, tokens=tokens, markers=markers, keep_bodies=keep_bodies) as way,
    ):
        yield way
