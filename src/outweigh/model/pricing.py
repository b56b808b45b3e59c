"""Tokens times prices, for runs whose cost was neither metered nor reported."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

import msgspec

from outweigh.model.base import Amount, Stored
from outweigh.model.usage import Cost, CostProvenance, Usage
from outweigh.stats.estimate import Quantity, known, unknown

PER_MILLION = 1e-6

PRICES_NOT_INSTALLED = "the price list is not installed"
"""In the reason of a cost that is unknown for that alone. A verdict must not leave out the gate on such a cost."""


class ModelPrices(Stored, frozen=True):
    """Dollars per million tokens of one model, as written in a price file. A missing cache price is unknown, not 0."""

    input_usd_per_million: Amount
    output_usd_per_million: Amount
    cache_read_usd_per_million: Amount | None = None
    cache_write_usd_per_million: Amount | None = None


_FREE = ModelPrices(
    input_usd_per_million=0.0,
    output_usd_per_million=0.0,
    cache_read_usd_per_million=0.0,
    cache_write_usd_per_million=0.0,
)


class PriceTable(Protocol):
    """Knows what a model's tokens cost."""

    @property
    def name(self) -> str:
        """Name and version of the table, stored with every cost it priced."""

    @property
    def unavailable(self) -> str | None:
        """Why the table cannot list any model here, and the way out; None where it can."""

    @property
    def hosted_usd(self) -> Mapping[str, float]:
        """Dollars for one use of each tool that a provider runs itself, as far as the table lists them."""

    def prices(self, model: str, at: datetime | None) -> ModelPrices | None:
        """The model's prices, at that moment where they changed over time; None when it is not listed."""


class PriceFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The user's own prices; they win over the price data that comes with outweigh.

    `hosted_usd` are dollars for one use of a tool that the provider runs itself, such as "web_search".
    """

    name: str
    models: dict[str, ModelPrices] = {}
    hosted_usd: dict[str, Amount] = {}


class UserPriceTable:
    """A price table from the user's own file."""

    unavailable = None

    def __init__(
        self, name: str, models: Mapping[str, ModelPrices], hosted_usd: Mapping[str, float] | None = None
    ) -> None:
        self.name = name
        self.hosted_usd = hosted_usd or {}
        self._models = models

    @property
    def names(self) -> tuple[str, ...]:
        """The models that it lists."""
        return tuple(self._models)

    def prices(self, model: str, at: datetime | None) -> ModelPrices | None:  # noqa: ARG002 - a file has one date
        """The prices as listed."""
        return self._models.get(model)


class PriceTables:
    """Asks several tables in order; the first that lists the model wins, even where its list is incomplete."""

    def __init__(self, *tables: PriceTable) -> None:
        self._tables = tables

    def cost(self, model: str | None, usage: Usage, at: datetime | None) -> tuple[Cost | None, str]:
        """The computed cost, or None with the reason why there is none."""
        if model is None:
            return None, "no cost was reported and the model is not recorded, so it cannot be priced"
        for table in self._tables:
            if (prices := table.prices(model, at)) is not None:
                priced = price_usage(usage, prices)
                if priced.value is None:
                    return None, priced.reason or ""
                return Cost(usd=priced.value, provenance=CostProvenance.PRICED, price_table=table.name), ""
        return None, self._why_unpriced(model, usage)

    def _why_unpriced(self, model: str, usage: Usage) -> str:
        """A table that is not installed is to blame only where all tokens are known: else no table could help."""
        missing = next((why for table in self._tables if (why := table.unavailable)), None)
        own_file = "list it in a price file and pass --prices"
        if missing is None:
            return f"no price is known for model {model!r}; {own_file}"
        return price_usage(usage, _FREE).reason or f"no price is known for model {model!r}; {missing}, or {own_file}"

    def hosted_cost(self, uses: Mapping[str, int]) -> Quantity:
        """Dollars for what providers ran themselves; unknown where a price is not listed."""
        total = 0.0
        for name, times in uses.items():
            price = next((table.hosted_usd[name] for table in self._tables if name in table.hosted_usd), None)
            if times and price is None:
                return unknown(
                    f"no price of the provider's {name!r} is known; list it under [hosted_usd] in a price file"
                )
            total += times * (price or 0.0)
        return known(total)

    def prices(self, model: str) -> ModelPrices | None:
        """The newest prices of a model in the first table that lists it."""
        return next((found for table in self._tables if (found := table.prices(model, None)) is not None), None)


def price_usage(usage: Usage, prices: ModelPrices) -> Quantity:
    """input·p_in + output·p_out + cache_write·p_write + cache_read·p_read; any unknown part makes the sum unknown."""
    parts = (
        ("input", usage.input_tokens, prices.input_usd_per_million),
        ("output", usage.output_tokens, prices.output_usd_per_million),
        ("cache_read", usage.cache_read_tokens, prices.cache_read_usd_per_million),
        ("cache_write", usage.cache_write_tokens, prices.cache_write_usd_per_million),
    )
    total = 0.0
    for name, tokens, per_million in parts:
        if tokens is None:
            return unknown(f"{name} tokens are unknown")
        if tokens and per_million is None:
            return unknown(f"no {name} price is listed")
        total += tokens * (per_million or 0.0) * PER_MILLION
    return known(total)
