"""What an answer costs in tokens, counted as the rest of outweigh counts: input without the prompt cache."""

from dataclasses import dataclass, replace

from outweigh.record.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The tokens of one answer, or of many. Output includes reasoning, input excludes what the cache read or wrote."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def prompt_tokens(self) -> int:
        """Everything that went in, as the providers count who put cached tokens into the prompt."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        """Everything that went in and came out."""
        return self.prompt_tokens + self.output_tokens

    @property
    def usage(self) -> Usage:
        """The same as a record keeps it."""
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens,
        )

    def with_writes_as_input(self) -> "Tokens":
        """As a protocol tells it that has no word for what is written to the cache."""
        return replace(self, input_tokens=self.input_tokens + self.cache_write_tokens, cache_write_tokens=0)

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


NO_TOKENS = Tokens(input_tokens=0, output_tokens=0)
"""What a sum starts from."""
