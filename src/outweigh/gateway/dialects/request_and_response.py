"""What a request asks of a model and what the model responds, in one form for all dialects: every dialect module reads
its API into GenerationRequest and GenerationResponse.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from outweigh.gateway.dialects.api_errors import ReportedError
from outweigh.gateway.dialects.json_path import JsonMapping, decode_leniently, strings_in
from outweigh.model.usage import Component, Usage

IMAGE_BYTES = 6_000
"""What a picture or document counts as beside text: about 1,500 tokens, where its own bytes would dwarf everything."""


class RequestPart(NamedTuple):
    """A piece of a request and the part of the set-up it belongs to; `texts` are the strings in it, as people read."""

    component: Component
    texts: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """One request. `opening` are the user's texts before the model first spoke: they tell conversations apart.

    `says_sub_agent` is whether the agent itself marks the request as a sub-agent's; most say nothing about it.
    """

    model: str | None
    is_streamed: bool
    parts: tuple[RequestPart, ...]
    tools: tuple[str, ...]
    opening: tuple[str, ...]
    says_sub_agent: bool = False

    @property
    def size_bytes(self) -> int:
        """All that is said, in bytes of text."""
        return sum(part.size_bytes for part in self.parts)


def utf8_size(text: str) -> int:
    """Bytes of a text; most are plain ASCII, and those need not be encoded to be measured."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def text_part(component: Component, text: str) -> RequestPart:
    """A text as it stands."""
    return RequestPart(component, (text,), utf8_size(text))


def data_part(component: Component, value: object) -> RequestPart:
    """Something structured: it takes as many bytes as its JSON, and says what its strings say."""
    return RequestPart(component, tuple(strings_in(value)), len(msgspec.json.encode(value)))


def content_parts(component: Component, content: object) -> Iterator[RequestPart]:
    """A message's content as most dialects have it: a string, or blocks of text, pictures and data."""
    if isinstance(content, str):
        yield text_part(component, content)
    elif isinstance(content, list):
        for block in content:
            yield from _block_parts(component, block)


def _block_parts(component: Component, block: object) -> Iterator[RequestPart]:
    if isinstance(block, str):
        yield text_part(component, block)
    elif isinstance(block, dict) and isinstance(block.get("text"), str):
        yield text_part(component, block["text"])
    elif isinstance(block, dict):
        yield RequestPart(component, (), IMAGE_BYTES)


MAX_ARGUMENT_BYTES = 1 << 20
"""Arguments of tools are kept so far, to recognise what was handed to a sub-agent."""


class GenerationResponse(ABC):
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
        self.error: ReportedError | None = None
        self._arguments: dict[object, list[str]] = {}
        self._argument_bytes = 0

    @abstractmethod
    def hear(self, event: JsonMapping) -> None:
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
                yield from strings_in(decode_leniently("".join(pieces).encode(errors="replace")))

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
        if self._argument_bytes <= MAX_ARGUMENT_BYTES:
            self._arguments.setdefault(call, []).append(piece)

    def _hear_whole_arguments(self, call: object, arguments: JsonMapping) -> None:
        """All that a tool is called with, where it comes in one piece."""
        self._hear_arguments(call, msgspec.json.encode(arguments).decode())

    def _set_input(self, total: int | None, *, read: int | None, written: int | None = None) -> None:
        """Input as the dialects count it that include what is cached in it."""
        if total is None:
            return
        self.cache_read_tokens = min(read or 0, total)
        self.cache_write_tokens = min(written or 0, total - self.cache_read_tokens)
        self.input_tokens = total - self.cache_read_tokens - self.cache_write_tokens
