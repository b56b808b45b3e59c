"""What requests cost: every request by its own size, service tier, speed, region, kind of cache and hosted tools.

What cannot be priced is unknown, with the reason and, where prices bound it, a range. It is never taken for a standard
request.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from outweigh.model.pricing import ModelPrices, PriceTables, TierPrices, TokenPrices, price_usage
from outweigh.model.usage import BilledUsage, Usage, sum_usage

STANDARD_TIERS = frozenset({"", "standard", "default", "auto", "standard_only", "on_demand", "unspecified"})
"""What providers call the tier of their list prices."""

STANDARD_SPEEDS = frozenset({"", "standard"})
STANDARD_REGIONS = frozenset({"", "global", "not_available"})


class Charge(Struct, frozen=True, kw_only=True):
    """What was charged. Where `usd` is None, `reason` says why, and `low_usd` and `high_usd` bound it if prices can.

    `tables` name the price tables that were used. `by_provider` is whether the provider itself stated the amount.
    """

    usd: float | None
    reason: str = ""
    low_usd: float | None = None
    high_usd: float | None = None
    tables: tuple[str, ...] = ()
    by_provider: bool = False

    @property
    def explanation(self) -> str:
        """The reason, with the range where there is one."""
        if self.usd is not None or self.low_usd is None or self.high_usd is None:
            return self.reason
        return f"{self.reason} (by the listed prices between ${self.low_usd:.4f} and ${self.high_usd:.4f})"


def price_bill(bill: BilledUsage, tables: PriceTables, at: datetime | None) -> Charge:
    """The charge of one bill: what the provider says, else tokens and hosted tools at the listed prices."""
    if bill.provider_usd is not None:
        return _exact(bill.provider_usd, by_provider=True)
    return sum_charges([price_tokens(bill, tables, at), price_hosted(bill, tables, at)])


def price_tokens(bill: BilledUsage, tables: PriceTables, at: datetime | None) -> Charge:
    """The charge of a bill's tokens, without what the provider ran itself."""
    if bill.model is None:
        return Charge(usd=None, reason="no cost was reported and the model is not recorded, so it cannot be priced")
    found = tables.find(bill.model, at)
    if found is None:
        return Charge(usd=None, reason=tables.why_unlisted(bill.model, bill.usage))
    return charge_at(bill, found.prices, found.table)


def charge_at(bill: BilledUsage, prices: ModelPrices, table: str) -> Charge:
    """The charge of a bill's tokens at these prices of its model."""
    rates = _Rates(bill, prices)
    amounts = [price_usage(bill.usage, rate, bill.hour_write_tokens) for rate in rates.possible]
    for amount in amounts:
        if amount.value is None:
            return Charge(usd=None, reason=amount.reason or "")
    priced = [amount.value or 0.0 for amount in amounts]
    if rates.reason:
        low, high = (min(priced), max(priced)) if len(priced) > 1 else (None, None)
        return Charge(usd=None, reason=rates.reason, low_usd=low, high_usd=high, tables=(table,))
    return _exact(priced[0], tables=(table,))


class _Rates:
    """The prices that may apply to a bill: one where it states enough, else several and the reason."""

    def __init__(self, bill: BilledUsage, prices: ModelPrices) -> None:
        self.reason = ""
        self._bill = bill
        self._model = prices
        is_free = not prices.input_usd_per_million and not prices.output_usd_per_million and not prices.tiers
        # A server of one's own may call its tier anything; it costs nothing.
        self.possible: list[TokenPrices] = [prices] if is_free else self._in_region(self._in_tier())

    def _in_tier(self) -> list[TokenPrices]:
        named = _special_tiers(self._bill)
        if not named:
            return self._at_size(self._model)
        if len(named) == 1:
            (name,) = named.values()
            if name in self._model.tiers:
                return self._at_size(self._model.tiers[name])
            if name in self._model.tier_factors:
                return [rate.times(self._model.tier_factors[name]) for rate in self._at_size(self._model)]
        asked = " with ".join(f"{kind} {name!r}" for kind, name in named.items())
        self.reason = f"no price of {self._bill.model!r} in {asked} is listed; state it in a price file"
        others = [rate for tier in self._model.tiers.values() for rate in self._at_size(tier)]
        standard = self._at_size(self._model)
        scaled = [rate.times(factor) for factor in self._model.tier_factors.values() for rate in standard]
        return [*standard, *others, *scaled]

    def _at_size(self, tier: TierPrices) -> list[TokenPrices]:
        """The prices by the size of the request; of several requests, those of the smallest and of the largest."""
        if self._bill.requests == 1:
            return [tier.at_size(prompt_tokens(self._bill.usage) or self._bill.largest_prompt_tokens or 0)]
        smallest = tier.at_size(self._bill.smallest_prompt_tokens or 0)
        largest = tier.at_size(self._bill.largest_prompt_tokens or 0)
        if smallest == largest:
            return [smallest]
        self.reason = "some requests are long enough for higher prices, and the record does not say how many"
        return [smallest, largest]

    def _in_region(self, rates: list[TokenPrices]) -> list[TokenPrices]:
        region = (self._bill.region or "").lower()
        factors = self._model.region_factors
        if region in STANDARD_REGIONS:
            return rates
        if region in factors:
            return [rate.times(factors[region]) for rate in rates]
        self.reason = f"no price of {self._bill.model!r} in region {region!r} is listed; state it in a price file"
        return [*rates, *(rate.times(factor) for factor in factors.values() for rate in rates)]


def _special_tiers(bill: BilledUsage) -> dict[str, str]:
    """The service tier and the speed of a bill, where they are not the standard ones."""
    tier, speed = (bill.service_tier or "").lower(), (bill.speed or "").lower()
    named = {} if tier in STANDARD_TIERS else {"service tier": tier}
    return named if speed in STANDARD_SPEEDS else {**named, "speed": speed}


def price_hosted(bill: BilledUsage, tables: PriceTables, at: datetime | None) -> Charge:
    """The charge of what the provider ran itself; unknown where a price is not listed."""
    low = high = 0.0
    reason = ""
    used: dict[str, None] = {}
    for tool, times in bill.hosted_uses.items():
        price = tables.hosted_price(tool, times, bill.requests, bill.model, at) if times else None
        if times and price is None:
            return Charge(usd=None, reason=unpriced_tool(tool))
        if price is not None:
            low, high = low + price.low_usd, high + price.high_usd
            used[price.table] = None
            if price.low_usd != price.high_usd:
                reason = f"responses do not say enough to price the provider's {tool!r}"
    if reason:
        return Charge(usd=None, reason=reason, low_usd=low, high_usd=high, tables=tuple(used))
    return _exact(low, tables=tuple(used))


def unpriced_tool(tool: str) -> str:
    """The reason of an unknown cost where a hosted tool has no price."""
    return f"no price of the provider's {tool!r} is known; list it under [hosted_usd] in a price file"


def _exact(usd: float, *, tables: tuple[str, ...] = (), by_provider: bool = False) -> Charge:
    return Charge(usd=usd, low_usd=usd, high_usd=usd, tables=tables, by_provider=by_provider)


def sum_charges(charges: Iterable[Charge]) -> Charge:
    """The sum; one unknown part makes it unknown, with the first reason and the sum of the bounds."""
    parts = list(charges)
    lows, highs = [part.low_usd for part in parts], [part.high_usd for part in parts]
    return Charge(
        usd=None if any(part.usd is None for part in parts) else sum(part.usd or 0.0 for part in parts),
        reason=next((part.reason for part in parts if part.usd is None), ""),
        low_usd=None if None in lows else sum(low or 0.0 for low in lows),
        high_usd=None if None in highs else sum(high or 0.0 for high in highs),
        tables=tuple(dict.fromkeys(table for part in parts for table in part.tables)),
        by_provider=bool(parts) and all(part.by_provider for part in parts),
    )


def price_bills(bills: Iterable[BilledUsage], tables: PriceTables, at: datetime | None) -> Charge:
    """The charge of all bills."""
    return sum_charges([price_bill(bill, tables, at) for bill in bills])


_SIZES_OF_PRICES = (100_000, 128_000, 200_000, 272_000)
"""The sizes of a prompt above which models are known to cost more. Requests on both sides of one are not joined."""


def request_bill(model: str | None, usage: Usage) -> BilledUsage:
    """The bill of one standard request."""
    size = prompt_tokens(usage)
    return BilledUsage(model=model, usage=usage, smallest_prompt_tokens=size, largest_prompt_tokens=size)


def group_bills(bills: Iterable[BilledUsage]) -> tuple[BilledUsage, ...]:
    """The bills of a run, one for all requests that have the same prices."""
    groups: dict[tuple[object, ...], list[BilledUsage]] = {}
    for bill in bills:
        size = bisect_left(_SIZES_OF_PRICES, bill.largest_prompt_tokens or 0)
        kind = (bill.model, bill.service_tier, bill.speed, bill.region, bill.provider_usd is None, size)
        groups.setdefault(kind, []).append(bill)
    return tuple(_join(group) for group in groups.values())


def _join(group: list[BilledUsage]) -> BilledUsage:
    first = group[0]
    smallest, largest = (
        [size for bill in group if (size := getattr(bill, f"{end}_prompt_tokens")) is not None]
        for end in ("smallest", "largest")
    )
    requests = [bill.requests for bill in group]
    paid = [bill.provider_usd for bill in group if bill.provider_usd is not None]
    return BilledUsage(
        model=first.model,
        usage=sum_usage([bill.usage for bill in group]),
        requests=None if None in requests else sum(count or 0 for count in requests),
        smallest_prompt_tokens=min(smallest) if len(smallest) == len(group) else None,
        largest_prompt_tokens=max(largest, default=None),
        hour_write_tokens=sum(bill.hour_write_tokens for bill in group),
        service_tier=first.service_tier,
        speed=first.speed,
        region=first.region,
        hosted_uses=_add_uses(bill.hosted_uses for bill in group),
        provider_usd=sum(paid) if paid else None,
    )


def _add_uses(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for uses in counts:
        for tool, times in uses.items():
            total[tool] = total.get(tool, 0) + times
    return total


def prompt_tokens(usage: Usage) -> int | None:
    """All tokens of a prompt, cached ones included; None where a kind is unknown."""
    sent = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return None if None in sent else sum(tokens or 0 for tokens in sent)
