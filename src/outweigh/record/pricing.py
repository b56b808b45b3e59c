"""Tokens times prices, for runs whose cost nobody metered or reported."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

import msgspec

from outweigh.record.cost import Cost, CostProvenance
from outweigh.record.stored import Amount, Stored
from outweigh.record.usage import Usage
from outweigh.stats.quantity import Quantity, known, unknown

PER_MILLION = 1e-6


class PriceTable(Protocol):
    """Knows what a model's tokens cost; says `unknown` for a model it does not list, never 0."""

    @property
    def name(self) -> str:
        """Name and version of the table, stored with every cost it priced."""

    def price(self, model: str, usage: Usage, at: datetime | None) -> Quantity:
        """Price one run's tokens in dollars, at the prices of that moment where they changed over time."""


class ModelPrices(Stored, frozen=True):
    """Dollars per million tokens of one model, as written in a price file. A missing cache price is unknown, not 0."""

    input_usd_per_million: Amount
    output_usd_per_million: Amount
    cache_read_usd_per_million: Amount | None = None
    cache_write_usd_per_million: Amount | None = None


class PriceFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The user's own prices; they win over the price data that comes with outweigh."""

    name: str
    models: dict[str, ModelPrices]


class ListedPrices:
    """A price table that a user wrote down."""

    def __init__(self, name: str, models: Mapping[str, ModelPrices]) -> None:
        self.name = name
        self._models = models

    def price(self, model: str, usage: Usage, at: datetime | None) -> Quantity:  # noqa: ARG002 - a file has one date
        """Price with the listed figures."""
        prices = self._models.get(model)
        return unknown(f"no price is listed for model {model!r}") if prices is None else price_usage(usage, prices)


class FirstKnown:
    """Asks several tables in order; the first that knows the model wins."""

    def __init__(self, *tables: PriceTable) -> None:
        self._tables = tables

    @property
    def name(self) -> str:
        """All names, in the order asked."""
        return ", ".join(table.name for table in self._tables)

    def cost(self, model: str | None, usage: Usage, at: datetime | None) -> tuple[Cost | None, str]:
        """The priced cost, or None with the reason why no table could say."""
        if model is None:
            return None, "no cost was reported and the model is not recorded, so it cannot be priced"
        reason = "no price table was given"
        for table in self._tables:
            priced = table.price(model, usage, at)
            if priced.value is not None:
                return Cost(usd=priced.value, provenance=CostProvenance.PRICED, price_table=table.name), ""
            reason = priced.reason or reason
        return None, reason


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
