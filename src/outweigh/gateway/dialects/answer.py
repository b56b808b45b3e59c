"""What an answer says, gathered while it passes."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from outweigh.gateway.dialects.loose import Json, decoded, strings
from outweigh.gateway.dialects.spoken_error import SpokenError
from outweigh.record.usage import Usage

MOST_ARGUMENT_BYTES = 1 << 20
"""Arguments of tools are kept so far, to recognise what was handed to a sub-agent."""


class Answer(ABC):
    """Hears an answer event by event, or whole. What it was not told stays None.

    `text_bytes` and `tool_bytes` measure what the model said and what it asked of tools. `is_complete` is whether the
    answer came to its proper end.
    """

    def __init__(self) -> None:
        self.model: str | None = None
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.cache_read_tokens: int | None = None
        self.cache_write_tokens: int | None = None
        self.hour_write_tokens = 0
        self.reasoning_tokens: int | None = None
        self.text_bytes = 0
        self.tool_bytes = 0
        self.is_complete = False
        self.error: SpokenError | None = None
        self._arguments: dict[object, list[str]] = {}
        self._argument_bytes = 0

    @abstractmethod
    def hear(self, event: Json) -> None:
        """One event of a stream, or the whole of an answer that is not streamed."""

    def hear_end_mark(self) -> None:
        """The mark that some dialects end a stream with; it means nothing in the others."""
        return

    @property
    def usage(self) -> Usage:
        """The tokens, as far as they were told."""
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens,
        )

    @property
    def said_bytes(self) -> int:
        """How much the model has said so far, to the user or to tools."""
        return self.text_bytes + self.tool_bytes

    def handed_over(self) -> Iterator[str]:
        """The strings among the arguments of the tools it called."""
        for pieces in self._arguments.values():
            with suppress(RecursionError):
                yield from strings(decoded("".join(pieces).encode(errors="replace")))

    def _hear_text(self, text: str | None) -> None:
        self.text_bytes += len((text or "").encode(errors="surrogatepass"))

    def _hear_tool(self, name: str | None) -> None:
        self.tool_bytes += len((name or "").encode(errors="surrogatepass"))

    def _hear_arguments(self, call: object, piece: str | None) -> None:
        """A piece of the JSON that a tool is called with."""
        if not piece:
            return
        size = len(piece.encode(errors="surrogatepass"))
        self.tool_bytes += size
        self._argument_bytes += size
        if self._argument_bytes <= MOST_ARGUMENT_BYTES:
            self._arguments.setdefault(call, []).append(piece)

    def _hear_whole_arguments(self, call: object, arguments: Json) -> None:
        """All that a tool is called with, where it comes in one piece."""
        self._hear_arguments(call, msgspec.json.encode(arguments).decode())

    def _set_input(self, total: int | None, *, read: int | None, written: int | None = None) -> None:
        """Input as the dialects count it that include what is cached in it."""
        if total is None:
            return
        self.cache_read_tokens = min(read or 0, total)
        self.cache_write_tokens = min(written or 0, total - self.cache_read_tokens)
        self.input_tokens = total - self.cache_read_tokens - self.cache_write_tokens
