"""Anthropic's Messages API: reads requests to /v1/messages and their responses, whole or as a stream of events."""

import re
from collections.abc import Iterator

from outweigh.gateway.dialects.api_errors import read_reported_error
from outweigh.gateway.dialects.deferred_tools import listed_deferred_tools
from outweigh.gateway.dialects.request_and_response import (
    REMOTE_FILES,
    REMOTE_MCP,
    GenerationRequest,
    GenerationResponse,
    RequestPart,
    Sampling,
    ToolResult,
    content_parts,
    data_part,
    fetches_files,
    joined_texts,
    text_part,
    unique_names,
)
from outweigh.model.json_text import JsonObject
from outweigh.model.untrusted_json import count_at, dict_at, dicts_at, list_at, name_at, str_at, strings_in
from outweigh.model.usage import Component, Usage
from outweigh.transcript.token_counts import read_provider_cost

_SUB_AGENT_MARK = "cc_is_subagent=true"
"""Claude Code marks sub-agents by this text in the system prompt."""


def read_request(body: JsonObject) -> GenerationRequest:
    """Read a request to `/v1/messages`."""
    tools = tuple(name for tool in dicts_at(body, "tools") if (name := str_at(tool, "name")))
    return GenerationRequest(
        model=str_at(body, "model"),
        is_streamed=body.get("stream") is True,
        parts=tuple(_parts(body)),
        tools=tools,
        first_user_texts=tuple(_first_user_texts(body)),
        is_marked_sub_agent=any(_SUB_AGENT_MARK in text for text in strings_in(body.get("system"))),
        hosted=unique_names(_hosted(body)),
        max_output_tokens=count_at(body, "max_tokens"),
        tool_results=tuple(_tool_results(body)),
        deferred_tools=unique_names(_deferred_tools(body, tools)),
        service_tier=name_at(body, "service_tier"),
        speed=name_at(body, "speed"),
        region=name_at(body, "inference_geo"),
    )


def _deferred_tools(body: JsonObject, offered: tuple[str, ...]) -> Iterator[str]:
    """Tools whose schemas are sent only once the model has searched for them, as the API marks them or texts list them.

    What the model itself writes, and what tools return, is not looked at.
    """
    for tool in dicts_at(body, "tools"):
        if tool.get("defer_loading") is True:
            yield str_at(tool, "name") or ""
    messages = (message for message in dicts_at(body, "messages") if message.get("role") in ("user", "system"))
    blocks = (block for message in messages for block in _blocks(message) if block.get("type") == "text")
    yield from listed_deferred_tools(offered, (str_at(block, "text") or "" for block in blocks))


_TOOL_VERSION = re.compile(r"_\d{8}$")
_CLIENT_TOOLS = frozenset({"custom", "bash", "text_editor", "computer", "memory"})
"""Tools that the agent itself runs, and so inside its sandbox."""
_TOOL_SEARCH = "tool_search_tool"
"""Searches the tools of the request itself and reaches nothing else."""


def _hosted(body: JsonObject) -> Iterator[str]:
    for tool in dicts_at(body, "tools"):
        kind = _TOOL_VERSION.sub("", str_at(tool, "type") or "custom")
        if kind == "mcp_toolset":
            yield REMOTE_MCP
        elif kind not in _CLIENT_TOOLS and not kind.startswith(_TOOL_SEARCH):
            yield kind
    if body.get("mcp_servers"):
        yield REMOTE_MCP
    if fetches_files([body.get("system"), *(message.get("content") for message in dicts_at(body, "messages"))]):
        yield REMOTE_FILES


def _parts(body: JsonObject) -> Iterator[RequestPart]:
    yield from content_parts(Component.SYSTEM_PROMPT, body.get("system"))
    for tool in list_at(body, "tools"):
        yield data_part(Component.TOOL_SCHEMA, tool)
    for message in dicts_at(body, "messages"):
        for block in _blocks(message):
            yield from _block_parts(block)


def _blocks(message: JsonObject) -> Iterator[JsonObject]:
    content = message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    yield from dicts_at(content)


def _block_parts(block: JsonObject) -> Iterator[RequestPart]:
    kind = str_at(block, "type") or ""
    if kind.endswith("tool_use"):
        yield data_part(Component.TOOL_CALL, {"name": block.get("name"), "input": block.get("input")})
    elif kind.endswith("tool_result"):
        yield from content_parts(Component.TOOL_RESPONSE, block.get("content"))
    elif kind == "thinking":
        yield text_part(Component.ORCHESTRATOR, str_at(block, "thinking") or "")
    elif kind != "redacted_thinking":
        yield from content_parts(Component.ORCHESTRATOR, [block])


def _tool_results(body: JsonObject) -> Iterator[ToolResult]:
    for message in dicts_at(body, "messages"):
        for block in dicts_at(message.get("content")):
            if str_at(block, "type") == "tool_result" and (call_id := str_at(block, "tool_use_id")):
                yield ToolResult(call_id, joined_texts(block.get("content")), block.get("is_error") is True)


def _first_user_texts(body: JsonObject) -> Iterator[str]:
    for message in dicts_at(body, "messages"):
        if message.get("role") == "assistant":
            return
        for block in _blocks(message):
            if block.get("type") == "text":
                yield str_at(block, "text") or ""


_CODE_EXECUTION = "code_execution"
"""The end of the names of the tools with which the provider runs code."""

_LISTED_PARTS = frozenset({"message", "fallback_message"})
"""The types of iterations that the counts of a message include; compaction and advisors are billed beside them."""


class AnthropicResponse(GenerationResponse):
    """A message, whole or in events. Usage in events is cumulative; the output count is final in the last one."""

    def read_event(self, event: JsonObject) -> None:
        """Read one event, or a whole message."""
        match event.get("type"):
            case "message_start":
                self._read_start(dict_at(event, "message"))
            case "content_block_start":
                self._read_block(dict_at(event, "content_block"), event.get("index"))
            case "content_block_delta":
                self._read_delta(dict_at(event, "delta"), event.get("index"))
            case "message_delta":
                self._read_usage(dict_at(event, "usage"), is_final=True)
            case "message_stop":
                self.is_complete = True
            case "error":
                self.error = read_reported_error(dict_at(event, "error"))
            case "message":
                self._read_message(event)

    def _read_start(self, message: JsonObject) -> None:
        self.model = str_at(message, "model")
        self._read_usage(dict_at(message, "usage"), is_final=False)

    def _read_message(self, message: JsonObject) -> None:
        self.model = str_at(message, "model")
        for index, block in enumerate(dicts_at(message, "content")):
            self._read_block(block, index)
        self._read_usage(dict_at(message, "usage"), is_final=True)
        self.is_complete = True

    def _read_block(self, block: JsonObject, index: object) -> None:
        self._read_text(str_at(block, "text"))
        self._read_text(str_at(block, "thinking"), is_thought=True)
        if block.get("type") == "server_tool_use" and (str_at(block, "name") or "").endswith(_CODE_EXECUTION):
            self.hosted_uses[_CODE_EXECUTION] += 1  # counts of usage leave it out
        if "input" in block:
            self._read_tool(str_at(block, "name"), index, str_at(block, "id"))
            if arguments := dict_at(block, "input"):  # empty at the start of a stream
                self._read_whole_arguments(index, arguments)

    def _read_delta(self, delta: JsonObject, index: object) -> None:
        self._read_text(str_at(delta, "text"))
        self._read_text(str_at(delta, "thinking"), is_thought=True)
        self._read_arguments(index, str_at(delta, "partial_json"))

    def _read_usage(self, usage: JsonObject, *, is_final: bool) -> None:
        """Read usage figures; later ones replace earlier ones, and kinds that are left out count as 0."""
        if (tokens := count_at(usage, "input_tokens")) is not None:
            self.input_tokens = tokens
            self.cache_read_tokens = count_at(usage, "cache_read_input_tokens") or self.cache_read_tokens or 0
            self.cache_write_tokens = count_at(usage, "cache_creation_input_tokens") or self.cache_write_tokens or 0
        for name in dict_at(usage, "server_tool_use"):
            if times := count_at(usage, "server_tool_use", name):
                self.hosted_uses[name.removesuffix("_requests")] = times
        if hour := count_at(usage, "cache_creation", "ephemeral_1h_input_tokens"):
            self.hour_write_tokens = hour
        if (tokens := count_at(usage, "output_tokens")) is not None:
            self.output_so_far = tokens
            self.output_tokens = tokens if is_final else None
            self.reasoning_tokens = count_at(usage, "output_tokens_details", "thinking_tokens")
        self._read_billing(usage)

    def _read_billing(self, usage: JsonObject) -> None:
        self.service_tier = name_at(usage, "service_tier") or self.service_tier
        self.speed = name_at(usage, "speed") or self.speed
        self.region = name_at(usage, "inference_geo") or self.region
        if (usd := read_provider_cost(usage)) is not None:
            self.provider_usd = usd
        iterations = dicts_at(usage, "iterations")
        if iterations:
            self.further_samplings = tuple(
                _sampling(each) for each in iterations if each.get("type") not in _LISTED_PARTS
            )
            self.samplings = tuple(_sampling(each) for each in iterations if each.get("type") in _LISTED_PARTS)


def _sampling(iteration: JsonObject) -> Sampling:
    return Sampling(
        model=name_at(iteration, "model"),
        usage=Usage(
            input_tokens=count_at(iteration, "input_tokens") or 0,
            output_tokens=count_at(iteration, "output_tokens") or 0,
            cache_read_tokens=count_at(iteration, "cache_read_input_tokens") or 0,
            cache_write_tokens=count_at(iteration, "cache_creation_input_tokens") or 0,
        ),
        hour_write_tokens=count_at(iteration, "cache_creation", "ephemeral_1h_input_tokens") or 0,
    )
