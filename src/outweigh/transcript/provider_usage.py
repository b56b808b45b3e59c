"""A provider's own usage, as agents pass it on: chat completions and responses alike."""

from outweigh.record.usage import NO_USAGE, Usage
from outweigh.transcript.fields import count_at
from outweigh.transcript.json_lines import Event
from outweigh.transcript.token_counts import unless_empty, without


def provider_usage(counts: Event) -> Usage:
    """Tokens of one answer; unknown where it has no usage.

    Both APIs count cached tokens within the input and leave out details that are nought, so what they do not mention
    is 0 here, and not unknown.
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
    read = count_at(counts, details, "cached_tokens") or 0
    written = _written(counts, details)
    usage = Usage(
        input_tokens=without(total, read, written),
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
    return unless_empty(usage)


def _written(counts: Event, details: str) -> int:
    """What was written to the cache; providers that charge for it have several names for it."""
    return (
        count_at(counts, "cache_creation_input_tokens")
        or count_at(counts, details, "cache_creation_tokens")
        or count_at(counts, details, "cache_write_tokens")
        or 0
    )
