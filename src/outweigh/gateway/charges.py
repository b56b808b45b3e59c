"""What a request costs, and what it counts as against a cap while, or where, nobody knows."""

from dataclasses import dataclass
from datetime import datetime

from outweigh.gateway.attribution import input_total
from outweigh.gateway.dialects.answer import Answer
from outweigh.gateway.dialects.asked import Asked
from outweigh.record.cost import Cost
from outweigh.record.pricing import PER_MILLION, FirstKnown, ModelPrices, price_usage
from outweigh.record.usage import Usage

BYTES_PER_TOKEN = 4
"""Of ordinary text and code; used only where a provider did not say how many tokens there were."""

MOST_BYTES_PER_TOKEN = 8
"""Hardly any text has so few tokens: a request takes at least its bytes by this many."""

HOUR_WRITE_FACTOR = 2.0
"""Anthropic's price of a token that is kept in the cache for an hour, as a multiple of the price of fresh input."""


@dataclass(frozen=True, slots=True)
class Charge:
    """Dollars and tokens that count against a cap."""

    usd: float
    tokens: int


def cost_of(tables: FirstKnown, asked: Asked, answer: Answer, at: datetime) -> Cost | None:
    """The metered tokens at list prices: of the model that answered, else of the one that was asked for."""
    for model in (answer.model, asked.model):
        cost, _ = tables.cost(model, answer.usage, at)
        if cost is not None and cost.usd is not None:
            dearer = _hour_surcharge_usd(None if model is None else tables.prices(model), answer)
            return Cost(usd=cost.usd + dearer, provenance=cost.provenance, price_table=cost.price_table)
    return None


def prices_of(tables: FirstKnown, *models: str | None) -> ModelPrices | None:
    """The prices of the first of these models that has any."""
    return next((found for model in models if model and (found := tables.prices(model)) is not None), None)


def least_charge(asked: Asked, prices: ModelPrices | None) -> Charge:
    """What a request takes at the very least: all of it read from the cache, and next to no answer."""
    tokens = asked.size_bytes // MOST_BYTES_PER_TOKEN
    if prices is None:
        return Charge(0.0, tokens)
    fresh, cached = prices.input_usd_per_million, prices.cache_read_usd_per_million
    return Charge(tokens * min(fresh, fresh if cached is None else cached) * PER_MILLION, tokens)


def charge_of(asked: Asked, answer: Answer, prices: ModelPrices | None) -> Charge:
    """What an answer, whole or broken off, counts as. What the provider did not say is estimated from the text."""
    usage = answer.usage
    if input_total(usage) is None:
        estimate = asked.size_bytes // BYTES_PER_TOKEN
        usage = Usage(
            input_tokens=estimate, cache_read_tokens=0, cache_write_tokens=0, output_tokens=usage.output_tokens
        )
    output = usage.output_tokens if usage.output_tokens is not None else answer.said_bytes // BYTES_PER_TOKEN
    filled = Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=output,
    )
    usd = 0.0 if prices is None else price_usage(filled, _without_gaps(prices))[0] or 0.0
    surcharge = _hour_surcharge_usd(prices, answer)
    return Charge(usd + surcharge, (input_total(filled) or 0) + output)


def _hour_surcharge_usd(prices: ModelPrices | None, answer: Answer) -> float:
    """Tables have one price for writing to the cache, that of five minutes."""
    if prices is None or not answer.hour_write_tokens or prices.cache_write_usd_per_million is None:
        return 0.0
    dearer = HOUR_WRITE_FACTOR * prices.input_usd_per_million - prices.cache_write_usd_per_million
    return answer.hour_write_tokens * max(0.0, dearer) * PER_MILLION


def _without_gaps(prices: ModelPrices) -> ModelPrices:
    """A cap counts what is not listed at the highest that providers take for it."""
    fresh, read, write = (
        prices.input_usd_per_million,
        prices.cache_read_usd_per_million,
        prices.cache_write_usd_per_million,
    )
    return ModelPrices(
        input_usd_per_million=fresh,
        output_usd_per_million=prices.output_usd_per_million,
        cache_read_usd_per_million=fresh if read is None else read,
        cache_write_usd_per_million=HOUR_WRITE_FACTOR * fresh if write is None else write,
    )
