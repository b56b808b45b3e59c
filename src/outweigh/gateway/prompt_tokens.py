"""Tokens of a prompt, counted on this machine by a public tokenizer. Providers' own counts are in `token_count.py`.

Only what a model reads is counted: not the ids, times and settings of a request, which differ from one to the next,
and not the schemas of tools that are loaded when the model searches for them.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from outweigh.errors import requires_extra
from outweigh.gateway.request_parsing import REQUEST_READERS, find_route
from outweigh.model.json_text import JsonObject, try_decode_json
from outweigh.model.untrusted_json import as_dict, as_list, count_at, str_at
from outweigh.ports.gateways import Dialect

TOKENIZER_NAME = "o200k_base"
_PROMPT_KEYS: Mapping[Dialect, tuple[str, ...]] = {
    Dialect.ANTHROPIC_MESSAGES: ("system", "tools", "messages"),
    Dialect.OPENAI_RESPONSES: ("instructions", "tools", "input"),
    Dialect.OPENAI_CHAT: ("tools", "messages"),
    Dialect.GEMINI: ("systemInstruction", "tools", "contents"),
}
_CONTENT_KEYS = ("content", "parts")
_UNREAD_KEYS = frozenset({"id", "call_id", "status", "role", "cache_control"})
"""Keys of messages and tools that are no part of what the model reads as text."""


class PromptTokenizer:
    """Counts with the vocabulary that OpenAI publishes for its models; those of other makers are not public."""

    def __init__(self) -> None:
        with requires_extra("counting tokens without a provider", "tokens"), warnings.catch_warnings():
            # bpe_openai reads its vocabularies, already while it is imported, by a call that importlib deprecates.
            warnings.simplefilter("ignore", DeprecationWarning)
            from bpe_openai import get_encoding  # noqa: PLC0415 - heavy, and an extra

            self._encoding = get_encoding(TOKENIZER_NAME)

    def count(self, text: str) -> int:
        """The tokens of a text; names of special tokens in it are ordinary text."""
        return len(self._encoding.encode_ordinary(text))

    def count_all(self, texts: Iterable[str]) -> int:
        """The tokens of several texts, each counted on its own."""
        return sum(map(self.count, texts))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedPrompt:
    """What the gateway logged of a request: every text that the model reads, and its tools.

    `deferred_tools` are those that the model can only search for. `counted_tokens` is the count of a provider that was
    asked for it.
    """

    model: str | None
    texts: tuple[str, ...]
    tools: tuple[str, ...]
    deferred_tools: tuple[str, ...]
    counted_tokens: int | None


def read_logged_prompts(bodies: bytes) -> Iterator[LoggedPrompt]:
    """Every request of a run whose bodies were kept, in the order in which they ended; those cut short are left out."""
    for each in bodies.splitlines():
        line = as_dict(try_decode_json(each))
        route = find_route("POST", str_at(line, "path") or "", {})
        body = try_decode_json((str_at(line, "request") or "").encode())
        if route is None or not isinstance(body, dict) or line.get("is_truncated"):
            continue
        request = REQUEST_READERS[route.dialect](body)
        yield LoggedPrompt(
            model=request.model or route.model,
            texts=tuple(prompt_texts(route.dialect, body)),
            tools=request.tools,
            deferred_tools=request.deferred_tools,
            counted_tokens=count_at(line, "counted_input_tokens"),
        )


def prompt_texts(dialect: Dialect, body: JsonObject) -> Iterator[str]:
    """Every text of a request that the model reads; tools and other data as JSON."""
    for key in _PROMPT_KEYS[dialect]:
        value = body.get(key)
        for item in value if isinstance(value, list) else [value]:
            yield from _item_texts(item)


def _item_texts(item: object) -> Iterator[str]:
    if isinstance(item, str):
        yield item
        return
    table = as_dict(item)
    content = next((table[key] for key in _CONTENT_KEYS if key in table), None)
    if isinstance(content, str):
        yield content
    elif content is not None:
        for block in as_list(content):
            yield from _item_texts(block)
    elif isinstance(table.get("text"), str):
        yield table["text"]
    elif table and table.get("defer_loading") is not True:
        yield _as_json(table)


def _as_json(table: JsonObject) -> str:
    read: dict[str, Any] = {key: value for key, value in table.items() if key not in _UNREAD_KEYS}
    return msgspec.json.encode(read).decode()
