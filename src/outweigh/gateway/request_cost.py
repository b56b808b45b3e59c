"""What a request costs: the bill that its response states, its charge, and what counts against the limits of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from msgspec.structs import replace

from outweigh.gateway.dialects.request_and_response import (
    REMOTE_FILES,
    REMOTE_MCP,
    GenerationRequest,
    GenerationResponse,
    Sampling,
)
from outweigh.gateway.usage_estimate import BYTES_PER_TOKEN, MAX_BYTES_PER_TOKEN
from outweigh.model.bill import Charge, charge_at, price_bills, prompt_tokens
from outweigh.model.pricing import HOUR_WRITE_FACTOR, ModelPrices, PriceTables, TierPrices, TokenPrices
from outweigh.model.usage import BilledUsage, Usage, sum_usage

BILLED_BY_TOKENS = frozenset({REMOTE_FILES, REMOTE_MCP})
"""What providers do themselves and bill by its tokens alone."""

AnyPrices = TypeVar("AnyPrices", bound=TokenPrices)

_SEARCH, _SEARCH_PREVIEW = "web_search", "web_search_preview"


@dataclass(frozen=True, slots=True)
class RequestCost:
    """Dollars and tokens that count against a limit."""

    usd: float
    tokens: int


def response_bills(
    request: GenerationRequest, response: GenerationResponse, model: str | None = None
) -> tuple[BilledUsage, ...]:
    """What a response states about its bill: one entry for each time that a model was sampled.

    `model` is the name to price it by, where that is not the one in the response.
    """
    name = model or response.model or request.model
    own = Sampling(name, response.own_usage, response.hour_write_tokens)
    listed = response.samplings
    # Its parts are used only where they are all of it: each has its own size, and may have its own model.
    parts = listed if len(listed) > 1 and sum_usage([part.usage for part in listed]) == own.usage else (own,)
    bills = [_bill(part, name, request, response) for part in (*parts, *response.further_samplings)]
    bills[0] = replace(bills[0], hosted_uses=dict(hosted_uses(request, response)), provider_usd=response.provider_usd)
    return tuple(bills[:1] if response.provider_usd is not None else bills)


def _bill(part: Sampling, name: str | None, request: GenerationRequest, response: GenerationResponse) -> BilledUsage:
    return BilledUsage(
        model=part.model or name,
        usage=part.usage,
        smallest_prompt_tokens=(size := prompt_tokens(part.usage)),
        largest_prompt_tokens=size,
        hour_write_tokens=part.hour_write_tokens,
        service_tier=response.service_tier or request.service_tier,
        speed=response.speed or request.speed,
        region=response.region or request.region,
    )


def hosted_uses(request: GenerationRequest, response: GenerationResponse) -> Mapping[str, int]:
    """What the provider ran itself, by the names under which it is billed.

    Responses call both versions of OpenAI's web search the same. An API that does not count uses is taken to have made
    one of each tool that it was asked for, because a search that it could have made is not free.
    """
    uses = dict(response.hosted_uses)
    if _SEARCH in uses and _SEARCH_PREVIEW in request.hosted:
        uses[_SEARCH_PREVIEW] = uses.pop(_SEARCH)
    if not response.counts_hosted_uses and response.response_bytes:
        uses |= dict.fromkeys(set(request.hosted) - BILLED_BY_TOKENS, 1)
    return uses


def price_response(
    tables: PriceTables, request: GenerationRequest, response: GenerationResponse, at: datetime
) -> Charge:
    """The charge of a response at the prices of the model that responded, else of the requested one."""
    return price_bills(listed_bills(tables, request, response, at), tables, at)


def listed_bills(
    tables: PriceTables, request: GenerationRequest, response: GenerationResponse, at: datetime
) -> tuple[BilledUsage, ...]:
    """The bills of a response by the model that responded, or by the requested one where only that one is listed."""
    models = [model for model in (response.model, request.model) if model]
    listed = next((model for model in models if tables.find(model, at) is not None), None)
    return response_bills(request, response, listed)


def find_prices(tables: PriceTables, at: datetime, *models: str | None) -> ModelPrices | None:
    """The prices of the first of these models that has any."""
    listed = (tables.find(model, at) for model in models if model)
    return next((found.prices for found in listed if found is not None), None)


def requested_bill(request: GenerationRequest, usage: Usage) -> BilledUsage:
    """The bill of a request with these tokens, if the provider serves it as it was asked to."""
    return BilledUsage(
        model=request.model,
        usage=usage,
        service_tier=request.service_tier,
        speed=request.speed,
        region=request.region,
    )


def minimum_request_cost(request: GenerationRequest, prices: ModelPrices | None) -> RequestCost:
    """The least that a request can cost: all of it read from the cache, and almost no response."""
    tokens = request.size_bytes // MAX_BYTES_PER_TOKEN
    if prices is None:
        return RequestCost(0.0, tokens)
    filled = _fill_missing_prices(prices)
    ways = (
        Usage(input_tokens=fresh, output_tokens=0, cache_read_tokens=tokens - fresh, cache_write_tokens=0)
        for fresh in (0, tokens)
    )
    charges = [charge_at(requested_bill(request, usage), filled, "") for usage in ways]
    return RequestCost(min(charge.low_usd or 0.0 for charge in charges), tokens)


def count_request_cost(
    request: GenerationRequest, response: GenerationResponse, prices: ModelPrices | None
) -> RequestCost:
    """What a response counts as, complete or not. What the provider did not report is estimated from the text.

    Hosted tools are not included. What has no exact price counts at the highest that it may have.
    """
    first, *others = response_bills(request, response)
    bills = [replace(first, usage=_filled_usage(request, response, first.usage)), *others]
    total = sum_usage([bill.usage for bill in bills])
    tokens = (prompt_tokens(total) or 0) + (total.output_tokens or 0)
    if response.provider_usd is not None:
        return RequestCost(response.provider_usd, tokens)
    filled = None if prices is None else _fill_missing_prices(prices)
    return RequestCost(0.0 if filled is None else sum(_highest_usd(bill, filled) for bill in bills), tokens)


def _highest_usd(bill: BilledUsage, prices: ModelPrices) -> float:
    charge = charge_at(bill, prices, "")
    if charge.high_usd is not None:
        return charge.high_usd
    standard = charge_at(replace(bill, service_tier=None, speed=None, region=None), prices, "")
    return standard.high_usd or 0.0


def _filled_usage(request: GenerationRequest, response: GenerationResponse, usage: Usage) -> Usage:
    if prompt_tokens(usage) is None:
        usage = Usage(
            input_tokens=request.size_bytes // BYTES_PER_TOKEN,
            cache_read_tokens=0,
            cache_write_tokens=0,
            output_tokens=usage.output_tokens,
        )
    if usage.output_tokens is None:
        usage = replace(usage, output_tokens=response.response_bytes // BYTES_PER_TOKEN)
    return usage


def _fill_missing_prices(prices: ModelPrices) -> ModelPrices:
    """Prices for enforcing limits: what is not listed counts at the highest usual price."""
    return replace(
        _fill(prices),
        long_context=tuple(map(_fill, prices.long_context)),
        tiers={name: _fill_tier(tier) for name, tier in prices.tiers.items()},
    )


def _fill_tier(tier: TierPrices) -> TierPrices:
    return replace(_fill(tier), long_context=tuple(map(_fill, tier.long_context)))


def _fill(prices: AnyPrices) -> AnyPrices:
    fresh, read, write = (
        prices.input_usd_per_million,
        prices.cache_read_usd_per_million,
        prices.cache_write_usd_per_million,
    )
    return replace(
        prices,
        cache_read_usd_per_million=fresh if read is None else read,
        cache_write_usd_per_million=HOUR_WRITE_FACTOR * fresh if write is None else write,
    )
