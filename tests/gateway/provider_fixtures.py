"""Runs whose requests go to one of a suite's own providers."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
from tests.gateway.gateway_fixtures import PRICES, Way, a_way_through

from outweigh.gateway.model_gateway import ModelGateway, NamedUpstream
from outweigh.gateway.named_providers import read_provider
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.pricing import PriceTables
from outweigh.model.provider import ApiFamily, NamedProviderSpec

NAME = "ours"


@contextmanager
def a_provided_way(
    table: Mapping[str, Any],
    environment: Mapping[str, str] | None = None,
    *,
    prices: PriceTables = PRICES,
    keep_bodies: bool = False,
    budget_usd: float | None = None,
) -> Iterator[Way]:
    """One run of an arm that names a provider with this table; those under [gateway] lead nowhere."""
    spec = msgspec.convert(dict(table), NamedProviderSpec)
    upstream = read_provider(NAME, spec, environment or {})
    nowhere = ModelUpstream(url="http://127.0.0.1:1", variable="", key="")
    named = NamedUpstream(dialect=spec.dialect, upstream=upstream, prices=prices)
    with (
        ModelGateway(dict.fromkeys(ApiFamily, nowhere), PRICES, providers={NAME: named}) as gateway,
        a_way_through(gateway, provider=NAME, keep_bodies=keep_bodies, budget_usd=budget_usd) as way,
    ):
        yield way
