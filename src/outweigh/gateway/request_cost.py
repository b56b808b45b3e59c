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
"""Of ordinary text and code; used only where a provider did not report token counts."""

MAX_BYTES_PER_TOKEN = 8
"""Hardly any text has fewer tokens than its bytes divided by this; the lower bound for a request."""

HOUR_WRITE_FACTOR = 2.0
"""Anthropic's price of a token that is kept in the cache for an hour, as a multiple of the price of fresh input."""


@dataclass(frozen=True, slots=True)
class RequestCost:
    """Dollars and tokens that count against a limit."""

    usd: float
    tokens: int


def price_response(
    price_tables: PriceTables, request: GenerationRequest, response: GenerationResponse, at: datetime
) -> Cost | None:
    """The metered tokens at list prices of the model that responded, else of the requested one."""
    for model in (response.model, request.model):
        cost, _ = price_tables.cost(model, response.usage, at)
        if cost is not None and cost.usd is not None:
            dearer = _hour_surcharge_usd(None if model is None else price_tables.prices(model), response)
            return Cost(usd=cost.usd + dearer, provenance=cost.provenance, price_table=cost.price_table)
    return None


def find_prices(price_tables: PriceTables, *models: str | None) -> ModelPrices | None:
    """The prices of the first of these models that has any."""
    return next((found for model in models if model and (found := price_tables.prices(model)) is not None), None)


def minimum_request_cost(request: GenerationRequest, prices: ModelPrices | None) -> RequestCost:
    """The least that a request can cost: all of it read from the cache, and almost no response."""
    tokens = request.size_bytes // MAX_BYTES_PER_TOKEN
    if prices is None:
        return RequestCost(0.0, tokens)
    fresh, cached = prices.input_usd_per_million, prices.cache_read_usd_per_million
    return RequestCost(tokens * min(fresh, fresh if cached is None else cached) * PER_MILLION, tokens)


def count_request_cost(
    request: GenerationRequest, response: GenerationResponse, prices: ModelPrices | None
) -> RequestCost:
    """What a response counts as, complete or not. What the provider did not report is estimated from the text."""
    usage = response.usage
    if total_input_tokens(usage) is None:
        estimate = request.size_bytes // BYTES_PER_TOKEN
        usage = Usage(
            input_tokens=estimate, cache_read_tokens=0, cache_write_tokens=0, output_tokens=usage.output_tokens
        )
    output = usage.output_tokens if usage.output_tokens is not None else response.response_bytes // BYTES_PER_TOKEN
    filled = Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=output,
    )
    usd = 0.0 if prices is None else price_usage(filled, _fill_missing_prices(prices))[0] or 0.0
    surcharge = _hour_surcharge_usd(prices, response)
    return RequestCost(usd + surcharge, (total_input_tokens(filled) or 0) + output)


def _hour_surcharge_usd(prices: ModelPrices | None, response: GenerationResponse) -> float:
    """The extra price of one-hour cache writes: tables list only the price of five-minute ones."""
    if prices is None or not response.hour_write_tokens or prices.cache_write_usd_per_million is None:
        return 0.0
    dearer = HOUR_WRITE_FACTOR * prices.input_usd_per_million - prices.cache_write_usd_per_million
    return response.hour_write_tokens * max(0.0, dearer) * PER_MILLION


def _fill_missing_prices(prices: ModelPrices) -> ModelPrices:
    """Prices for enforcing limits: what is not listed counts at the highest usual price."""
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
    """The limits of a run and what counts against them: what is spent, and the least that pending requests cost."""

    def __init__(self, budget_usd: float | None, tokens: int | None) -> None:
        self._budget_usd = budget_usd
        self._tokens = tokens
        self._spent = RequestCost(0.0, 0)
        self._reserved: dict[object, RequestCost] = {}

    @property
    def is_in_dollars(self) -> bool:
        """Whether there is a limit in dollars, which needs known prices."""
        return self._budget_usd is not None

    def explain_excess(self, least: RequestCost) -> str | None:
        """Why a request with at least this cost must not be sent; None when it may be."""
        total = self._total()
        if self._budget_usd is not None and total.usd + least.usd >= self._budget_usd:
            return _limit_message(f"${total.usd:.4f}", f"${self._budget_usd:.4f}", "budget_usd")
        if self._tokens is not None and total.tokens + least.tokens >= self._tokens:
            return _limit_message(f"{total.tokens} tokens", f"{self._tokens}", "tokens")
        return None

    def reserve(self, request: object, least: RequestCost) -> None:
        """Count the least cost of a request from the moment it is sent."""
        self._reserved[request] = least

    def record(self, request: object, charge: RequestCost) -> None:
        """Replace the reserved cost of a request by its real one."""
        del self._reserved[request]
        self._spent = RequestCost(self._spent.usd + charge.usd, self._spent.tokens + charge.tokens)

    def _total(self) -> RequestCost:
        reserved = self._reserved.values()
        return RequestCost(
            self._spent.usd + sum(charge.usd for charge in reserved),
            self._spent.tokens + sum(one.tokens for one in reserved),
        )


def _limit_message(taken: str, cap: str, key: str) -> str:
    return (
        f"This run has reached its cap: {taken} of {cap} are taken, and this request would take more than is left. "
        f"It was not sent. The cap is {key} under [limits] in the suite."
    )
