"""A provider's own usage, as agents pass it on: chat completions and responses alike."""

from outweigh.record.usage import NO_USAGE, Usage
from outweigh.transcript.fields import at, count_at
from outweigh.transcript.foreign import count
from outweigh.transcript.json_lines import Event
from outweigh.transcript.token_counts import unless_empty, without


def provider_usage(counts: Event) -> Usage:
    """Tokens of one answer; unknown where it has no usage.

    Both APIs count cached tokens within the input and leave out details that are nought, so what they do not mention
    is 0 here, and not unknown; what they mention and is no count is unknown, and the rest of the input with it.
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
    written = _written(counts, details)
    usage = Usage(
        input_tokens=without(total, read, written),
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
    return unless_empty(usage)


def _written(counts: Event, details: str) -> int | None:
    """What was written to the cache; providers that charge for it have several names for it."""
    names = (("cache_creation_input_tokens",), (details, "cache_creation_tokens"), (details, "cache_write_tokens"))
    told = [_detail(counts, *name) for name in names]
    known = [figure for figure in told if figure is not None]
    return max(known) if len(known) == len(told) else None


def _detail(counts: Event, *keys: str) -> int | None:
    """A figure that is left out where it is nought."""
    found = at(counts, *keys)
    return 0 if found is None else count(found)
