"""Tokens between a trajectory, whose prompt includes the cache, and a record, whose input does not."""

from outweigh.record.usage import Usage
from outweigh.transcript.atif import AtifMetrics
from outweigh.transcript.foreign import count, mapping

CACHE_WRITE = "cache_creation_input_tokens"
"""Where a step's metrics keep the tokens written to the cache: the format has no field of its own for them."""


def metrics_of_usage(usage: Usage) -> AtifMetrics:
    """A step's metrics; its prompt is unknown with any part of it."""
    return AtifMetrics(
        prompt_tokens=prompt_tokens(usage),
        completion_tokens=usage.output_tokens,
        cached_tokens=usage.cache_read_tokens,
        extra=None if usage.cache_write_tokens is None else {CACHE_WRITE: usage.cache_write_tokens},
    )


def usage_of_metrics(metrics: AtifMetrics) -> Usage:
    """The inverse. Where nobody speaks of writing to a cache, all that was not read from it is input."""
    written = count(mapping(metrics.extra).get(CACHE_WRITE))
    return Usage(
        input_tokens=_rest(count(metrics.prompt_tokens), count(metrics.cached_tokens), written),
        output_tokens=count(metrics.completion_tokens),
        cache_read_tokens=count(metrics.cached_tokens),
        cache_write_tokens=written,
    )


def prompt_tokens(usage: Usage) -> int | None:
    """Everything a model was given to read."""
    parts = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _rest(prompt: int | None, cached: int | None, written: int | None) -> int | None:
    if prompt is None or (rest := prompt - (cached or 0) - (written or 0)) < 0:
        return None
    return rest
