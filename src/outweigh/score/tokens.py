"""Sums of a run's tokens."""

from outweigh.record.usage import Usage
from outweigh.stats.quantity import Quantity, known, unknown


def total_tokens(usage: Usage) -> Quantity:
    """input + output + cache_read + cache_write."""
    return _sum(usage, "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def non_cache_tokens(usage: Usage) -> Quantity:
    """input + output, where input excludes the cache."""
    return _sum(usage, "input_tokens", "output_tokens")


def cache_read_share(usage: Usage) -> Quantity:
    """cache_read / (input + cache_read + cache_write): how much of the prompt came from the cache."""
    prompt = _sum(usage, "input_tokens", "cache_read_tokens", "cache_write_tokens")
    if prompt.value is None:
        return prompt
    return known((usage.cache_read_tokens or 0) / prompt.value) if prompt.value else unknown("nothing was sent")


def _sum(usage: Usage, *fields: str) -> Quantity:
    total = 0
    for field in fields:
        tokens = getattr(usage, field)
        if tokens is None:
            return unknown(f"{field} is not reported")
        total += tokens
    return known(total)
