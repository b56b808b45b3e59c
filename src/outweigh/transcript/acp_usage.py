"""Token counts of the Agent Client Protocol, whose words leave open what is counted within what."""

from itertools import product

from outweigh.record.usage import NO_USAGE, Usage
from outweigh.transcript.fields import count_at
from outweigh.transcript.json_lines import Event
from outweigh.transcript.token_counts import unless_empty, without


def acp_usage(counts: Event) -> Usage:
    """The counts in our units. Cached tokens may stand within input or beside it, and thoughts within output or beside
    it: the total tells which. Where it fits none of them, or the cache is not mentioned, as much is unknown.
    """
    total, given, said = (count_at(counts, key) for key in ("totalTokens", "inputTokens", "outputTokens"))
    if total is None or given is None or said is None:
        return NO_USAGE
    read, written = count_at(counts, "cachedReadTokens"), count_at(counts, "cachedWriteTokens")
    thought, cached = count_at(counts, "thoughtTokens") or 0, (read or 0) + (written or 0)
    for cache_beside, thought_beside in product((True, False), repeat=2):
        if total == given + said + cached * cache_beside + thought * thought_beside:
            new = given if cache_beside else without(given, cached)
            return unless_empty(
                Usage(
                    input_tokens=None if read is None else new,
                    output_tokens=said + thought * thought_beside,
                    cache_read_tokens=read,
                    cache_write_tokens=written,
                )
            )
    return NO_USAGE
