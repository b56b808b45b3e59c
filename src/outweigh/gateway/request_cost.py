"""What a request costs in dollars and tokens, what it counts as while or where that is unknown, and the limits of a
run that it counts against.
"""

from dataclasses import dataclass
from datetime import datetime

from outweigh.gateway.dialects.request_and_response import GenerationRequest, GenerationResponse
from outweigh.gateway.token_attribution import total_input_tokens
from outweigh.model.pricing import PER_MILLION, ModelPrices, PriceTables, price_usage
from outweigh.model.usage import Cost, Usage

BYTES_PER_TOKEN = 4
"""Of ordinary text and code; used only where a provider did not say how many tokens there were."""

MAX_BYTES_PER_TOKEN = 8
"""Hardly any text has so few tokens: a request takes at least its bytes by this many."""

HOUR_WRITE_FACTOR = 2.0
"""Anthropic's price of a token that is kept in the cache for an hour, as a multiple of the price of fresh input."""


@dataclass(frozen=True, slots=True)
class RequestCost:
    """Dollars and tokens that count against a cap."""

    usd: float
    tokens: int


def price_response(
    tables: PriceTables, asked: GenerationRequest, answer: GenerationResponse, at: datetime
) -> Cost | None:
    """The metered tokens at list prices: of the model that answered, else of the one that was asked for."""
    for model in (answer.model, asked.model):
        cost, _ = tables.cost(model, answer.usage, at)
        if cost is not None and cost.usd is not None:
            dearer = _hour_surcharge_usd(None if model is None else tables.prices(model), answer)
            return Cost(usd=cost.usd + dearer, provenance=cost.provenance, price_table=cost.price_table)
    return None


def find_prices(tables: PriceTables, *models: str | None) -> ModelPrices | None:
    """The prices of the first of these models that has any."""
    return next((found for model in models if model and (found := tables.prices(model)) is not None), None)


def minimum_request_cost(asked: GenerationRequest, prices: ModelPrices | None) -> RequestCost:
    """What a request takes at the very least: all of it read from the cache, and next to no answer."""
    tokens = asked.size_bytes // MAX_BYTES_PER_TOKEN
    if prices is None:
        return RequestCost(0.0, tokens)
    fresh, cached = prices.input_usd_per_million, prices.cache_read_usd_per_million
    return RequestCost(tokens * min(fresh, fresh if cached is None else cached) * PER_MILLION, tokens)


def count_request_cost(asked: GenerationRequest, answer: GenerationResponse, prices: ModelPrices | None) -> RequestCost:
    """What an answer, whole or broken off, counts as. What the provider did not say is estimated from the text."""
    usage = answer.usage
    if total_input_tokens(usage) is None:
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
    usd = 0.0 if prices is None else price_usage(filled, _fill_missing_prices(prices))[0] or 0.0
    surcharge = _hour_surcharge_usd(prices, answer)
    return RequestCost(usd + surcharge, (total_input_tokens(filled) or 0) + output)


def _hour_surcharge_usd(prices: ModelPrices | None, answer: GenerationResponse) -> float:
    """Tables have one price for writing to the cache, that of five minutes."""
    if prices is None or not answer.hour_write_tokens or prices.cache_write_usd_per_million is None:
        return 0.0
    dearer = HOUR_WRITE_FACTOR * prices.input_usd_per_million - prices.cache_write_usd_per_million
    return answer.hour_write_tokens * max(0.0, dearer) * PER_MILLION


def _fill_missing_prices(prices: ModelPrices) -> ModelPrices:
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


class RunLimits:
    """The caps of a run and what counts against them: what is spent, and the least that is under way."""

    def __init__(self, budget_usd: float | None, tokens: int | None) -> None:
        self._budget_usd = budget_usd
        self._tokens = tokens
        self._spent = RequestCost(0.0, 0)
        self._held: dict[object, RequestCost] = {}

    @property
    def is_in_dollars(self) -> bool:
        """Whether prices must be known to keep it."""
        return self._budget_usd is not None

    def objection(self, least: RequestCost) -> str | None:
        """Why a request that takes at least so much must not be sent; None where it may."""
        taken = self._taken()
        if self._budget_usd is not None and taken.usd + least.usd >= self._budget_usd:
            return _limit_message(f"${taken.usd:.4f}", f"${self._budget_usd:.4f}", "budget_usd")
        if self._tokens is not None and taken.tokens + least.tokens >= self._tokens:
            return _limit_message(f"{taken.tokens} tokens", f"{self._tokens}", "tokens")
        return None

    def hold(self, request: object, least: RequestCost) -> None:
        """Count a request from the moment that it is sent."""
        self._held[request] = least

    def settle(self, request: object, charge: RequestCost) -> None:
        """Count what it really took."""
        del self._held[request]
        self._spent = RequestCost(self._spent.usd + charge.usd, self._spent.tokens + charge.tokens)

    def _taken(self) -> RequestCost:
        held = self._held.values()
        return RequestCost(
            self._spent.usd + sum(charge.usd for charge in held), self._spent.tokens + sum(one.tokens for one in held)
        )


def _limit_message(taken: str, cap: str, key: str) -> str:
    return (
        f"This run has reached its cap: {taken} of {cap} are taken, and this request would take more than is left. "
        f"It was not sent. The cap is {key} under [limits] in the suite."
    )
