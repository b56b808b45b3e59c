"""Arithmetic on token counts of which some are unknown."""

from outweigh.record.usage import NO_USAGE, Usage
from outweigh.transcript.foreign import count


def without(total: int | None, *parts: int | None) -> int | None:
    """What is left of a total when its parts are taken out; unknown with any of them, and where they do not fit."""
    known = [part for part in parts if part is not None]
    if total is None or len(known) < len(parts) or sum(known) > total:
        return None
    return total - sum(known)


def together(*parts: int | None) -> int | None:
    """The sum; unknown with any of its parts."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def is_empty(usage: Usage) -> bool:
    """Whether nothing was counted: no request has an empty prompt, so zeros alone say no more than no figures."""
    return not any((usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens))


def unless_empty(usage: Usage) -> Usage:
    """A usage in which something was counted, or an unknown one."""
    return NO_USAGE if is_empty(usage) else usage


def storable(usage: Usage) -> Usage:
    """A usage that a record can hold: each count may have fitted, and their sum not."""
    return Usage(
        input_tokens=count(usage.input_tokens),
        output_tokens=count(usage.output_tokens),
        cache_read_tokens=count(usage.cache_read_tokens),
        cache_write_tokens=count(usage.cache_write_tokens),
    )
