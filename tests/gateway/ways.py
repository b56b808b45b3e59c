"""A gateway with one run's door open, as a sandbox would open it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from socket import create_server

from outweigh.gateway.model_gateway import ModelGateway
from outweigh.gateway.routes import Provider
from outweigh.gateway.run_meter import RunMeter
from outweigh.gateway.upstream import Upstream
from outweigh.ports.gateways import MeterRequest
from outweigh.record.pricing import FirstKnown, ListedPrices, ModelPrices
from outweigh.transcript.model_call import Account, Marker

REAL_KEY = "sk-real-0123456789abcdef"
MODEL = "priced-model"
PRICES = FirstKnown(
    ListedPrices(
        "prices-1",
        {
            MODEL: ModelPrices(
                input_usd_per_million=3.0,
                output_usd_per_million=15.0,
                cache_read_usd_per_million=0.3,
                cache_write_usd_per_million=3.75,
            )
        },
    )
)


@dataclass(frozen=True, slots=True)
class Way:
    """Where a program in a sandbox would connect, and with what."""

    meter: RunMeter
    url: str

    @property
    def key(self) -> str:
        return self.meter.key

    def account(self) -> Account:
        return self.meter.account()


def a_gateway(url: str, key: str | None = REAL_KEY) -> ModelGateway:
    return ModelGateway({provider: Upstream(url=url, variable="REAL_KEY", key=key) for provider in Provider}, PRICES)


@contextmanager
def a_way_through(
    gateway: ModelGateway,
    *,
    budget_usd: float | None = None,
    tokens: int | None = None,
    markers: Sequence[Marker] = (),
    keep_bodies: bool = False,
) -> Iterator[Way]:
    request = MeterRequest(
        label="run", budget_usd=budget_usd, tokens=tokens, markers=tuple(markers), keep_bodies=keep_bodies
    )
    listening = create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    with gateway.meter(request) as meter, meter.door.serve(listening):
        yield Way(meter, f"http://127.0.0.1:{port}")


@contextmanager
def a_way(
    url: str,
    *,
    key: str | None = REAL_KEY,
    budget_usd: float | None = None,
    tokens: int | None = None,
    markers: Sequence[Marker] = (),
    keep_bodies: bool = False,
) -> Iterator[Way]:
    """One run through a gateway of its own, whose every provider is at this address."""
    with (
        a_gateway(url, key) as gateway,
        a_way_through(gateway, budget_usd=budget_usd, tokens=tokens, markers=markers, keep_bodies=keep_bodies) as way,
    ):
        yield way
