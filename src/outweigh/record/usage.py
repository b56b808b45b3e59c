"""Tokens of one run."""

from outweigh.record.stored import Count, Stored


class Usage(Stored, frozen=True):
    """Token counts by kind. `input_tokens` excludes what was read from or written to the prompt cache."""

    input_tokens: Count | None
    output_tokens: Count | None
    cache_read_tokens: Count | None
    cache_write_tokens: Count | None


NO_USAGE = Usage(input_tokens=None, output_tokens=None, cache_read_tokens=None, cache_write_tokens=None)
"""Nothing is known about the tokens of a run."""
