"""What models cost: prices per token by tier, speed and size of a request, tables that list them, and tokens times
prices.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

import msgspec

from outweigh.model.base import Amount, Count, Stored
from outweigh.model.usage import Cost, CostProvenance, Usage
from outweigh.stats.estimate import Quantity, known, unknown

PER_MILLION = 1e-6

PRICES_NOT_INSTALLED = "the price list is not installed"
"""In the reason of a cost that is unknown for that alone. A verdict must not leave out the gate on such a cost."""

HOUR_WRITE_FACTOR = 2.0
"""Anthropic's price of a token that is kept in the cache for an hour, as a multiple of the price of fresh input."""


class TokenPrices(Stored, frozen=True):
    """Dollars per million tokens, as written in a price file. A missing cache price is unknown, not 0.

    `cache_write_hour` is for what is kept for an hour; without it, that costs twice the price of input.
    """

    input_usd_per_million: Amount
    output_usd_per_million: Amount
    cache_read_usd_per_million: Amount | None = None
    cache_write_usd_per_million: Amount | None = None
    cache_write_hour_usd_per_million: Amount | None = None

    def times(self, factor: float) -> "TokenPrices":
        """Every price times a factor."""
        read, write, hour = (
            None if usd is None else usd * factor
            for usd in (
                self.cache_read_usd_per_million,
                self.cache_write_usd_per_million,
                self.cache_write_hour_usd_per_million,
            )
        )
        return TokenPrices(
            input_usd_per_million=self.input_usd_per_million * factor,
            output_usd_per_million=self.output_usd_per_million * factor,
            cache_read_usd_per_million=read,
            cache_write_usd_per_million=write,
            cache_write_hour_usd_per_million=hour,
        )


class LongContextPrices(TokenPrices, frozen=True, kw_only=True):
    """The prices of all tokens of a request whose prompt, cached tokens included, has more than so many tokens."""

    above_tokens: Count


class TierPrices(TokenPrices, frozen=True):
    """The prices of one service tier or speed."""

    long_context: tuple[LongContextPrices, ...] = ()

    def at_size(self, prompt_tokens: int) -> TokenPrices:
        """The prices of a request with so large a prompt."""
        exceeded = [tier for tier in self.long_context if prompt_tokens > tier.above_tokens]
        return max(exceeded, key=lambda tier: tier.above_tokens) if exceeded else self


class UsdRange(Stored, frozen=True):
    """The least and the most that something costs."""

    low_usd: Amount
    high_usd: Amount


class ModelPrices(TierPrices, frozen=True):
    """All prices of a model. Its own are those of the standard tier.

    `tiers` are the prices of other service tiers and speeds, such as "flex" or "fast"; `tier_factors` and
    `region_factors` state them as a multiple of the standard prices. `hosted_usd` are dollars for one use of a tool
    that the provider runs itself, `hosted_usd_per_request` for a request with any number of uses, and
    `hosted_usd_range` the least and the most for one use where responses do not say enough.
    """

    tiers: dict[str, TierPrices] = {}  # noqa: RUF012 - msgspec copies defaults
    tier_factors: dict[str, Amount] = {}  # noqa: RUF012
    region_factors: dict[str, Amount] = {}  # noqa: RUF012
    hosted_usd: dict[str, Amount] = {}  # noqa: RUF012
    hosted_usd_per_request: dict[str, Amount] = {}  # noqa: RUF012
    hosted_usd_range: dict[str, UsdRange] = {}  # noqa: RUF012


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
        """Dollars for one use of each tool that a provider runs itself, whichever model asks for it."""

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


class ListedPrices(NamedTuple):
    """The prices of a model, and the name of the table that lists them."""

    prices: ModelPrices
    table: str


class HostedPrice(NamedTuple):
    """The least and the most that uses of a hosted tool cost; equal where the price is known."""

    low_usd: float
    high_usd: float
    table: str


class PriceTables:
    """Asks several tables in order; the first that lists the model wins, even where its list is incomplete."""

    def __init__(self, *tables: PriceTable) -> None:
        self._tables = tables
        self._newest: dict[str, ModelPrices | None] = {}

    @property
    def names(self) -> str:
        """The names and versions of all tables that can list a model here."""
        return " and ".join(table.name for table in self._tables if table.unavailable is None)

    def find(self, model: str, at: datetime | None) -> ListedPrices | None:
        """The prices of a model at that moment, in the first table that lists it."""
        return next(self._listed(model, at), None)

    def cost(self, model: str | None, usage: Usage, at: datetime | None) -> tuple[Cost | None, str]:
        """The computed cost of tokens at standard prices, or None with the reason why there is none."""
        if model is None:
            return None, "no cost was reported and the model is not recorded, so it cannot be priced"
        if (found := self.find(model, at)) is None:
            return None, self.why_unlisted(model, usage)
        priced = price_usage(usage, found.prices)
        if priced.value is None:
            return None, priced.reason or ""
        return Cost(usd=priced.value, provenance=CostProvenance.PRICED, price_table=found.table), ""

    def why_unlisted(self, model: str, usage: Usage) -> str:
        """Why no table lists a model.

        A table that is not installed is the reason only where all tokens are known: otherwise no table could help.
        """
        missing = next((why for table in self._tables if (why := table.unavailable)), None)
        own_file = "list it in a price file and pass --prices"
        if missing is None:
            return f"no price is known for model {model!r}; {own_file}"
        return price_usage(usage, _FREE).reason or f"no price is known for model {model!r}; {missing}, or {own_file}"

    def hosted_price(
        self, tool: str, times: int, requests: int | None, model: str | None, at: datetime | None
    ) -> HostedPrice | None:
        """What so many uses of a hosted tool in so many requests cost; None where no table lists it."""
        for table in self._tables:
            if tool in table.hosted_usd:
                return _same(times * table.hosted_usd[tool], table.name)
            listed = None if model is None else table.prices(model, at)
            if listed is None:
                continue
            if tool in listed.hosted_usd_per_request:
                usd = listed.hosted_usd_per_request[tool]
                return HostedPrice(min(times, 1) * usd, min(times, requests or times) * usd, table.name)
            if tool in listed.hosted_usd:
                return _same(times * listed.hosted_usd[tool], table.name)
            if tool in listed.hosted_usd_range:
                bounds = listed.hosted_usd_range[tool]
                return HostedPrice(times * bounds.low_usd, times * bounds.high_usd, table.name)
        return None

    def prices(self, model: str) -> ModelPrices | None:
        """The newest prices of a model in the first table that lists it."""
        if model not in self._newest:
            found = self.find(model, None)
            self._newest[model] = None if found is None else found.prices
        return self._newest[model]

    def _listed(self, model: str, at: datetime | None) -> Iterator[ListedPrices]:
        for table in self._tables:
            if (found := table.prices(model, at)) is not None:
                yield ListedPrices(found, table.name)


def _same(usd: float, table: str) -> HostedPrice:
    return HostedPrice(usd, usd, table)


def price_usage(usage: Usage, prices: TokenPrices, hour_write_tokens: int = 0) -> Quantity:
    """input·p_in + output·p_out + cache_write·p_write + cache_read·p_read; any unknown part makes the sum unknown.

    Of the tokens written to the cache, `hour_write_tokens` are kept for an hour and have a price of their own.
    """
    hour = min(hour_write_tokens, usage.cache_write_tokens or 0)
    parts = (
        ("input", usage.input_tokens, prices.input_usd_per_million),
        ("output", usage.output_tokens, prices.output_usd_per_million),
        ("cache_read", usage.cache_read_tokens, prices.cache_read_usd_per_million),
        (
            "cache_write",
            None if usage.cache_write_tokens is None else usage.cache_write_tokens - hour,
            prices.cache_write_usd_per_million,
        ),
        ("cache_write", hour, _hour_price(prices)),
    )
    total = 0.0
    for name, tokens, per_million in parts:
        if tokens is None:
            return unknown(f"{name} tokens are unknown")
        if tokens and per_million is None:
            return unknown(f"no {name} price is listed")
        total += tokens * (per_million or 0.0) * PER_MILLION
    return known(total)


def _hour_price(prices: TokenPrices) -> float:
    listed = prices.cache_write_hour_usd_per_million
    return HOUR_WRITE_FACTOR * prices.input_usd_per_million if listed is None else listed
