"""What a request asks of a model and what the model responds, in one form for all dialects: every dialect module reads
its API into GenerationRequest and GenerationResponse.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Self
from uuid import uuid4

import msgspec

from outweigh.gateway.dialects.api_errors import ReportedError
from outweigh.model.json_text import JsonObject, try_decode_json
from outweigh.model.untrusted_json import dicts_at, strings_in, value_at
from outweigh.model.usage import Component, Usage, sum_usage

IMAGE_BYTES = 6_000
"""What an image or document counts as beside text: about 1,500 tokens, far less than its bytes."""


class RequestPart(NamedTuple):
    """A part of a request and the component it belongs to; `texts` are the strings in it."""

    component: Component
    texts: tuple[str, ...]
    size_bytes: int


class ToolResult(NamedTuple):
    """What came of a tool call, as a request tells the model; `is_error` is None where the dialect does not say so."""

    call_id: str
    content: str
    is_error: bool | None = None


class CalledTool(NamedTuple):
    """A tool call of a response, with its arguments as JSON."""

    call_id: str
    name: str
    arguments: str

    def parsed_arguments(self) -> dict[str, Any]:
        """The arguments as an object; free text of tools that take some is `input`."""
        if not self.arguments:
            return {}
        decoded = try_decode_json(self.arguments.encode(errors="replace"))
        return decoded if isinstance(decoded, dict) else {"input": self.arguments}


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """One request. `first_user_texts`, before the model's first message, tell conversations apart.

    `is_marked_sub_agent` is whether the agent itself marks the request as a sub-agent's; most agents do not.
    `markers` are those of the arm that were found in it, once it was searched. `hosted` names what the provider itself
    is to run or fetch, such as "web_search"; `fallback_models` may answer too. `max_output_tokens` is the limit that
    the request sets for its response. `deferred_tools` are those that the model can only search for. `service_tier`,
    `speed` and `region` are what it asks for, in the provider's words. `tool_results` are of all calls so far, and once
    they were looked through only those that are new.
    """

    model: str | None
    is_streamed: bool
    parts: tuple[RequestPart, ...]
    tools: tuple[str, ...]
    first_user_texts: tuple[str, ...]
    is_marked_sub_agent: bool = False
    markers: frozenset[str] = frozenset()
    hosted: tuple[str, ...] = ()
    fallback_models: tuple[str, ...] = ()
    max_output_tokens: int | None = None
    deferred_tools: tuple[str, ...] = ()
    service_tier: str | None = None
    speed: str | None = None
    region: str | None = None
    tool_results: tuple[ToolResult, ...] = ()

    @property
    def size_bytes(self) -> int:
        """The size of all parts, in bytes of text."""
        return sum(part.size_bytes for part in self.parts)


REMOTE_MCP = "mcp"
"""Tool servers that the provider connects to."""

REMOTE_FILES = "remote_files"
"""Pictures and documents that the provider fetches from an address."""


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names in the order of their first mention."""
    return tuple(dict.fromkeys(names))


_ADDRESSES = (
    ("image_url",),
    ("video_url",),
    ("file_url",),
    ("file", "file_url"),
    ("source", "url"),
    ("fileData", "fileUri"),
    ("file_data", "file_uri"),
)
"""Where the blocks of a message name an address that the provider fetches from, in all dialects."""


def fetches_files(contents: Iterable[object]) -> bool:
    """Whether the provider would fetch a picture or document for one of these message contents.

    Arguments of tools are no blocks: an address there is text to the provider.
    """
    pending = list(contents)
    while pending:
        for block in dicts_at(pending.pop()):
            if any(_is_remote(value_at(block, *path)) for path in _ADDRESSES):
                return True
            pending += [block.get("content"), block.get("output"), value_at(block, "functionResponse", "parts")]
    return False


def _is_remote(address: object) -> bool:
    """Whether an address leads to another host; data in the request itself does not."""
    if isinstance(address, dict):
        address = address.get("url")
    return isinstance(address, str) and bool(address) and not address.lstrip().lower().startswith("data:")


def utf8_size(text: str) -> int:
    """The UTF-8 size of a text; ASCII text, the usual case, need not be encoded for that."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def text_part(component: Component, text: str) -> RequestPart:
    """A part that is one text."""
    return RequestPart(component, (text,), utf8_size(text))


def data_part(component: Component, value: object) -> RequestPart:
    """A part with structured data: its size is that of its JSON, its texts are the strings in it."""
    return RequestPart(component, tuple(strings_in(value)), len(msgspec.json.encode(value)))


def content_parts(component: Component, content: object) -> Iterator[RequestPart]:
    """A message's content in the form of most dialects: a string, or blocks of text, images and data."""
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


class Sampling(NamedTuple):
    """Tokens that were billed apart from the others of a response, by their own model where they name one."""

    model: str | None
    usage: Usage
    hour_write_tokens: int


def joined_texts(content: object) -> str:
    """The texts of a message's content, one below the other."""
    return "\n".join(text for part in content_parts(Component.TOOL_RESPONSE, content) for text in part.texts)


MAX_ARGUMENT_BYTES = 1 << 20
"""How much of the arguments of tools is kept of a response, and as much of its text."""

MAX_CALLED_TOOLS = 1_000
"""How many tool calls of one response are kept."""


class GenerationResponse(ABC):
    """Reads a response event by event, or whole. What the provider does not report stays None.

    `text_bytes` and `tool_bytes` are the sizes of text and of tool calls. `hosted_uses` counts what the provider ran by
    itself, such as searches; `counts_hosted_uses` is whether this API states that. `further_samplings` are billed
    beside the counts of the response, `samplings` are its parts where it lists them. `service_tier`, `speed` and
    `region` are those that it was billed by, and `provider_usd` is what the provider says that it costs.
    `output_so_far` is what the provider has counted of a response that may go on. `is_complete` is whether the response
    ended properly.
    """

    counts_hosted_uses = True

    def __init__(self) -> None:
        self.model: str | None = None
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.output_so_far: int | None = None
        self.cache_read_tokens: int | None = None
        self.cache_write_tokens: int | None = None
        self.hour_write_tokens = 0
        self.reasoning_tokens: int | None = None
        self.hosted_uses: Counter[str] = Counter()
        self.further_samplings: tuple[Sampling, ...] = ()
        self.samplings: tuple[Sampling, ...] = ()
        self.service_tier: str | None = None
        self.speed: str | None = None
        self.region: str | None = None
        self.provider_usd: float | None = None
        self.text_bytes = 0
        self.tool_bytes = 0
        self.is_complete = False
        self.error: ReportedError | None = None
        self._arguments: dict[object, list[str]] = {}
        self._argument_bytes = 0
        self._called: dict[object, tuple[str | None, str]] = {}
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._text_length = 0

    @abstractmethod
    def read_event(self, event: JsonObject) -> None:
        """Read one event of a stream, or a whole response that is not streamed."""

    def read_end_mark(self) -> None:
        """Read the mark that ends a stream in some dialects, or its proper end; the others ignore it."""
        return

    @property
    def usage(self) -> Usage:
        """All tokens that are billed, as far as they were reported."""
        return sum_usage([self.own_usage, *(sampling.usage for sampling in self.further_samplings)])

    @property
    def own_usage(self) -> Usage:
        """The counts of the response itself, as far as they were reported."""
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens,
        )

    def with_usage(self, usage: Usage) -> Self:
        """The same response with other token counts, and without what it says."""
        changed = copy(self)
        changed.input_tokens, changed.output_tokens = usage.input_tokens, usage.output_tokens
        changed.cache_read_tokens, changed.cache_write_tokens = usage.cache_read_tokens, usage.cache_write_tokens
        changed.samplings = changed.further_samplings = ()
        changed._arguments, changed._called, changed._texts, changed._thoughts = {}, {}, [], []
        return changed

    @property
    def response_bytes(self) -> int:
        """The size of the response so far, text and tool calls."""
        return self.text_bytes + self.tool_bytes

    def tool_argument_strings(self) -> Iterator[str]:
        """The strings in the arguments of its tool calls."""
        for pieces in self._arguments.values():
            with suppress(RecursionError):
                yield from strings_in(try_decode_json("".join(pieces).encode(errors="replace")))

    @property
    def text(self) -> str:
        """What the model says, up to a limit."""
        return "".join(self._texts)

    @property
    def thoughts(self) -> str:
        """What the model thinks, where the provider shows it, up to a limit."""
        return "".join(self._thoughts)

    def called_tools(self) -> Iterator[CalledTool]:
        """Its tool calls; one without an id gets one that no other call has."""
        for key, (call_id, name) in self._called.items():
            yield CalledTool(call_id or f"call-{uuid4().hex}", name, "".join(self._arguments.get(key, ())))

    def _read_text(self, text: str | None, *, is_thought: bool = False) -> None:
        if not text:
            return
        self.text_bytes += len(text.encode(errors="surrogatepass"))
        self._text_length += len(text)
        if self._text_length <= MAX_ARGUMENT_BYTES:
            (self._thoughts if is_thought else self._texts).append(text)

    def _read_tool(self, name: str | None, call: object, call_id: str | None, otherwise: str | None = None) -> None:
        """Read the name of a tool that is called, `otherwise` where it has none; pieces of a call have the same key."""
        self.tool_bytes += len((name or "").encode(errors="surrogatepass"))
        shown = name or otherwise
        if shown and len(self._called) < MAX_CALLED_TOOLS:
            self._called.setdefault(call, (call_id, shown))

    def _read_arguments(self, call: object, piece: str | None) -> None:
        """Read a part of the JSON arguments of a tool call."""
        if not piece:
            return
        size = len(piece.encode(errors="surrogatepass"))
        self.tool_bytes += size
        self._argument_bytes += size
        if self._argument_bytes <= MAX_ARGUMENT_BYTES:
            self._arguments.setdefault(call, []).append(piece)

    def _read_whole_arguments(self, call: object, arguments: JsonObject) -> None:
        """Read the arguments of a tool call that arrive in one piece."""
        self._read_arguments(call, msgspec.json.encode(arguments).decode())

    def _set_input(self, total: int | None, *, read: int | None, written: int | None = None) -> None:
        """Set the input of dialects whose count includes cached tokens."""
        if total is None:
            return
        self.cache_read_tokens = min(read or 0, total)
        self.cache_write_tokens = min(written or 0, total - self.cache_read_tokens)
        self.input_tokens = total - self.cache_read_tokens - self.cache_write_tokens
