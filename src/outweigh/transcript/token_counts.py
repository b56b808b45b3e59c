"""Arithmetic on token counts of which some are unknown, and the usage and cost that OpenAI-style APIs report."""

from collections.abc import Sequence

from outweigh.model.json_text import JsonObject
from outweigh.model.untrusted_json import amount_at, as_count, count_at, value_at
from outweigh.model.usage import NO_USAGE, Usage


def subtract_counts(total: int | None, *parts: int | None) -> int | None:
    """A total minus its parts; unknown where any of them is, or where the parts exceed the total."""
    known = [part for part in parts if part is not None]
    if total is None or len(known) < len(parts) or sum(known) > total:
        return None
    return total - sum(known)


def add_counts(*parts: int | None) -> int | None:
    """The sum; unknown where any part is."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def sum_costs(costs_usd: Sequence[float | None]) -> float | None:
    """The sum of the costs of requests, unknown with any of them; 0 means that no price is known."""
    known = [cost_usd for cost_usd in costs_usd if cost_usd is not None]
    return (sum(known) or None) if len(known) == len(costs_usd) else None


def is_empty_usage(usage: Usage) -> bool:
    """Whether no tokens were counted. No request has an empty prompt, so all zeros mean that figures are missing."""
    return not any((usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens))


def usage_unless_empty(usage: Usage) -> Usage:
    """The usage, or an unknown one where nothing was counted."""
    return NO_USAGE if is_empty_usage(usage) else usage


def storable_usage(usage: Usage) -> Usage:
    """The usage with counts that are too large for a record made unknown, as sums may be."""
    return Usage(
        input_tokens=as_count(usage.input_tokens),
        output_tokens=as_count(usage.output_tokens),
        cache_read_tokens=as_count(usage.cache_read_tokens),
        cache_write_tokens=as_count(usage.cache_write_tokens),
    )


def read_provider_usage(counts: JsonObject) -> Usage:
    """The tokens of one response of OpenAI's APIs; unknown where it has no usage.

    Both APIs include cached tokens in the input and leave out details that are zero, so a missing detail is 0 and not
    unknown. A detail that is not a valid count is unknown, and so is the input.
    """
    total = count_at(counts, "prompt_tokens")
    details = "prompt_tokens_details"
    output = count_at(counts, "completion_tokens")
    if total is None:
        total, details, output = (
            count_at(counts, "input_tokens"),
            "input_tokens_details",
            count_at(counts, "output_tokens"),
        )
    if total is None:
        return NO_USAGE
    read = _detail(counts, details, "cached_tokens")
    written = _cache_writes(counts, details)
    usage = Usage(
        input_tokens=subtract_counts(total, read, written),
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
    return usage_unless_empty(usage)


def _cache_writes(counts: JsonObject, details: str) -> int | None:
    """The tokens written to the cache; providers have several names for them."""
    names = (("cache_creation_input_tokens",), (details, "cache_creation_tokens"), (details, "cache_write_tokens"))
    details_found = [_detail(counts, *name) for name in names]
    known = [figure for figure in details_found if figure is not None]
    return max(known) if len(known) == len(details_found) else None


def _detail(counts: JsonObject, *keys: str) -> int | None:
    """A count that is left out where it is zero."""
    found = value_at(counts, *keys)
    return 0 if found is None else as_count(found)


_TICKS_PER_DOLLAR = 1e10
"""xAI states costs in `cost_in_usd_ticks`."""


def read_provider_cost(usage: JsonObject) -> float | None:
    """The dollars that a provider says a request cost, which routers do and providers of models mostly do not.

    OpenRouter charges only its fee for requests with a key of one's own, and names what the provider charges.
    """
    if (ticks := count_at(usage, "cost_in_usd_ticks")) is not None:
        return ticks / _TICKS_PER_DOLLAR
    if isinstance(usage.get("cost"), dict):
        return amount_at(usage, "cost", "total_cost")
    charged = amount_at(usage, "cost")
    if charged is None or usage.get("is_byok") is not True:
        return charged
    upstream = amount_at(usage, "cost_details", "upstream_inference_cost")
    return None if upstream is None else charged + upstream
