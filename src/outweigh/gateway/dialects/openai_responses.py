"""OpenAI's Responses API: reads requests to /v1/responses and their responses, whole or as a stream of events."""

import re
from collections.abc import Iterator
from typing import Any

from outweigh.gateway.dialects.api_errors import read_reported_error
from outweigh.gateway.dialects.deferred_tools import named_sources
from outweigh.gateway.dialects.request_and_response import (
    REMOTE_FILES,
    GenerationRequest,
    GenerationResponse,
    RequestPart,
    ToolResult,
    content_parts,
    data_part,
    fetches_files,
    joined_texts,
    text_part,
    unique_names,
)
from outweigh.model.json_text import JsonObject
from outweigh.model.untrusted_json import count_at, dict_at, dicts_at, list_at, name_at, str_at
from outweigh.model.usage import Component
from outweigh.transcript.token_counts import read_provider_cost

_FINAL_EVENTS = ("response.completed", "response.incomplete", "response.failed")


def read_request(body: JsonObject) -> GenerationRequest:
    """Read a request to `/v1/responses`."""
    return GenerationRequest(
        model=str_at(body, "model"),
        is_streamed=body.get("stream") is True,
        parts=tuple(_parts(body)),
        tools=tuple(name for tool in dicts_at(body, "tools") if (name := str_at(tool, "name") or str_at(tool, "type"))),
        first_user_texts=tuple(_first_user_texts(body)),
        hosted=unique_names(_hosted(body)),
        fallback_models=tuple(name for name in list_at(body, "models") if isinstance(name, str)),
        max_output_tokens=count_at(body, "max_output_tokens"),
        tool_results=tuple(_tool_results(body)),
        deferred_tools=unique_names(_deferred_tools(body)),
        service_tier=name_at(body, "service_tier"),
    )


def _deferred_tools(body: JsonObject) -> Iterator[str]:
    for tool in dicts_at(body, "tools"):
        if str_at(tool, "type") == "tool_search":
            yield from named_sources(str_at(tool, "description") or "")


_CLIENT_TOOLS = frozenset(
    {"function", "custom", "namespace", "tool_search", "local_shell", "apply_patch", "computer", "computer_use_preview"}
)
"""Tools that the agent itself runs, and so inside its sandbox; a search of the request's own tools reaches nothing."""


_TOOL_VERSION = re.compile(r"_\d{4}_\d{2}_\d{2}$")

_HOSTED_CALLS = frozenset({"web_search", "file_search", "code_interpreter", "image_generation"})
"""Calls of an answer that the provider has made itself and bills by use; remote tool servers are billed by tokens."""


def _hosted(body: JsonObject) -> Iterator[str]:
    yield from _hosted_tools(list_at(body, "tools"))
    for item in _items(body):
        yield from _hosted_tools(list_at(item, "tools"))  # what a search of tools found
    if fetches_files([body.get("input")]):
        yield REMOTE_FILES
    if dict_at(body, "prompt").get("id"):
        yield "stored_prompt"


def _hosted_tools(tools: list[Any]) -> Iterator[str]:
    for tool in dicts_at(tools):
        kind = _TOOL_VERSION.sub("", str_at(tool, "type") or "function")
        if kind == "namespace":
            yield from _hosted_tools(list_at(tool, "tools"))
        elif kind not in _CLIENT_TOOLS and not (kind == "shell" and str_at(tool, "environment", "type") == "local"):
            yield kind


def is_background_request(body: JsonObject) -> bool:
    """Whether the response is to be fetched later; it could not be metered."""
    return body.get("background") is True


def _items(body: JsonObject) -> Iterator[JsonObject]:
    given = body.get("input")
    if isinstance(given, str):
        yield {"type": "message", "role": "user", "content": given}
    yield from dicts_at(given)


def _parts(body: JsonObject) -> Iterator[RequestPart]:
    yield from content_parts(Component.SYSTEM_PROMPT, body.get("instructions"))
    for tool in list_at(body, "tools"):
        yield data_part(Component.TOOL_SCHEMA, tool)
    for item in _items(body):
        yield from _item_parts(item)


def _item_parts(item: JsonObject) -> Iterator[RequestPart]:
    kind = str_at(item, "type") or "message"
    if kind == "message":
        is_system = item.get("role") in ("system", "developer")
        component = Component.SYSTEM_PROMPT if is_system else Component.ORCHESTRATOR
        yield from content_parts(component, item.get("content"))
    elif kind == "reasoning":
        for thought in (*dicts_at(item, "summary"), *dicts_at(item, "content")):
            yield text_part(Component.ORCHESTRATOR, str_at(thought, "text") or "")
    elif kind.endswith("_output"):
        output = item.get("output")
        is_plain = isinstance(output, str | list)
        yield from content_parts(Component.TOOL_RESPONSE, output if is_plain else ())
        if not is_plain:
            yield data_part(Component.TOOL_RESPONSE, output)
    elif kind.endswith("_call"):
        yield data_part(Component.TOOL_CALL, {key: item[key] for key in item if key not in ("id", "call_id", "status")})


def _tool_results(body: JsonObject) -> Iterator[ToolResult]:
    for item in _items(body):
        if (str_at(item, "type") or "").endswith("_output") and (call_id := str_at(item, "call_id")):
            yield ToolResult(call_id, joined_texts(item.get("output")))


def _first_user_texts(body: JsonObject) -> Iterator[str]:
    for item in _items(body):
        if item.get("role") == "user":
            for part in content_parts(Component.ORCHESTRATOR, item.get("content")):
                yield from part.texts
        elif item.get("role") == "assistant" or str_at(item, "type") not in (None, "message"):
            return


class OpenAIResponsesResponse(GenerationResponse):
    """A response, whole or in events. Usage is in the last event; input tokens include cached ones."""

    def __init__(self) -> None:
        super().__init__()
        self._piece_bytes = 0
        self._has_items = False

    @property
    def response_bytes(self) -> int:
        """The size of the response so far; parts arrive before the item that they belong to is complete."""
        return max(self._piece_bytes, super().response_bytes)

    def read_event(self, event: JsonObject) -> None:
        """Read one event, or a whole response."""
        kind = str_at(event, "type") or ""
        if kind.endswith(".delta"):
            self._piece_bytes += len((str_at(event, "delta") or "").encode(errors="surrogatepass"))
        elif kind == "response.output_item.done":
            self._read_item(dict_at(event, "item"))
        elif kind == "response.created":
            self.model = str_at(event, "response", "model")
        elif kind in _FINAL_EVENTS:
            self._read_response(dict_at(event, "response"))
        elif kind == "error":
            self.error = read_reported_error(dict_at(event, "error") or event)
        elif "output" in event:
            self._read_response(event)

    def _read_response(self, response: JsonObject) -> None:
        self.model = str_at(response, "model") or self.model
        self.service_tier = name_at(response, "service_tier") or self.service_tier
        if not self._has_items:
            for item in dicts_at(response, "output"):
                self._read_item(item)
        self._read_usage(dict_at(response, "usage"))
        if error := dict_at(response, "error"):
            self.error = read_reported_error(error)
        self.is_complete = True

    def _read_item(self, item: JsonObject) -> None:
        self._has_items = True
        kind = str_at(item, "type") or ""
        for piece in (*dicts_at(item, "content"), *dicts_at(item, "summary")):
            self._read_text(str_at(piece, "text") or str_at(piece, "refusal"), is_thought=kind == "reasoning")
        if kind.endswith("_call") and (tool := kind.removesuffix("_call")) in _HOSTED_CALLS and _is_billed(item):
            self.hosted_uses[tool] += 1
        if kind.endswith("_call"):
            index = str_at(item, "call_id") or str_at(item, "id")
            self._read_tool(str_at(item, "name"), index, index, kind.removesuffix("_call"))
            self._read_arguments(index, str_at(item, "arguments") or str_at(item, "input"))
            if action := dict_at(item, "action"):
                self._read_whole_arguments(index, action)

    def _read_usage(self, usage: JsonObject) -> None:
        details = dict_at(usage, "input_tokens_details")
        self._set_input(
            count_at(usage, "input_tokens"),
            read=count_at(details, "cached_tokens"),
            written=count_at(details, "cache_write_tokens"),
        )
        self.output_tokens = count_at(usage, "output_tokens")
        self.reasoning_tokens = count_at(usage, "output_tokens_details", "reasoning_tokens")
        self.provider_usd = read_provider_cost(usage)


def _is_billed(item: JsonObject) -> bool:
    """Whether a hosted call has a price: of a web search's actions, only a search has, not opening a page it found."""
    return (str_at(item, "action", "type") or "search") not in ("open_page", "find_in_page", "find")
