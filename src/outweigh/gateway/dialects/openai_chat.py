"""OpenAI's Chat Completions API, and servers that are compatible with it: reads requests and their responses, whole or
streamed, and asks for usage in streams that would have none.
"""

from collections.abc import Iterator

from outweigh.gateway.dialects.api_errors import read_reported_error
from outweigh.gateway.dialects.deferred_tools import listed_deferred_tools
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
    unique_names,
)
from outweigh.model.json_text import JsonObject
from outweigh.model.untrusted_json import count_at, dict_at, dicts_at, list_at, name_at, str_at
from outweigh.model.usage import Component
from outweigh.transcript.token_counts import read_provider_cost

_COMPONENT_OF_ROLE = {
    "system": Component.SYSTEM_PROMPT,
    "developer": Component.SYSTEM_PROMPT,
    "tool": Component.TOOL_RESPONSE,
    "function": Component.TOOL_RESPONSE,
}


def read_request(body: JsonObject) -> GenerationRequest:
    """Read a request to `/v1/chat/completions`."""
    tools = tuple(name for tool in dicts_at(body, "tools") if (name := str_at(tool, "function", "name")))
    return GenerationRequest(
        model=str_at(body, "model"),
        is_streamed=body.get("stream") is True,
        parts=tuple(_parts(body)),
        tools=tools,
        deferred_tools=unique_names(listed_deferred_tools(tools, _system_texts(body))),
        first_user_texts=tuple(_first_user_texts(body)),
        hosted=unique_names(_hosted(body)),
        fallback_models=tuple(name for name in list_at(body, "models") if isinstance(name, str)),
        max_output_tokens=count_at(body, "max_completion_tokens") or count_at(body, "max_tokens"),
        service_tier=name_at(body, "service_tier"),
        tool_results=tuple(_tool_results(body)),
    )


_CLIENT_TOOLS = frozenset({"function", "custom"})
"""Tools that the agent itself runs, and so inside its sandbox."""


def _hosted(body: JsonObject) -> Iterator[str]:
    """What the provider is to do; servers that are compatible with this API add switches of their own."""
    for tool in dicts_at(body, "tools"):
        if (kind := str_at(tool, "type") or "function") not in _CLIENT_TOOLS:
            yield kind
    for key in ("web_search_options", "plugins", "enable_search"):
        if body.get(key) not in (None, False, []):
            yield "web_search" if key == "web_search_options" else key
    if fetches_files(message.get("content") for message in dicts_at(body, "messages")):
        yield REMOTE_FILES


def wants_usage(body: JsonObject) -> bool:
    """Whether the client requests usage; a stream has none otherwise, and could not be metered."""
    return body.get("stream") is not True or dict_at(body, "stream_options").get("include_usage") is True


def request_usage(body: JsonObject) -> JsonObject:
    """The same request, with usage requested for its stream."""
    return {**body, "stream_options": {**dict_at(body, "stream_options"), "include_usage": True}}


def is_usage_only_event(event: JsonObject) -> bool:
    """Whether an event only carries usage; clients that did not request it may not expect such an event."""
    return event.get("choices") == [] and bool(dict_at(event, "usage"))


def _parts(body: JsonObject) -> Iterator[RequestPart]:
    for tool in (*list_at(body, "tools"), *list_at(body, "functions")):
        yield data_part(Component.TOOL_SCHEMA, tool)
    for message in dicts_at(body, "messages"):
        component = _COMPONENT_OF_ROLE.get(str_at(message, "role") or "", Component.ORCHESTRATOR)
        yield from content_parts(component, message.get("content"))
        for call in dicts_at(message, "tool_calls"):
            yield data_part(Component.TOOL_CALL, dict_at(call, "function"))


def _system_texts(body: JsonObject) -> Iterator[str]:
    for message in dicts_at(body, "messages"):
        if message.get("role") in ("system", "developer"):
            for part in content_parts(Component.SYSTEM_PROMPT, message.get("content")):
                yield from part.texts


def _tool_results(body: JsonObject) -> Iterator[ToolResult]:
    for message in dicts_at(body, "messages"):
        if message.get("role") == "tool" and (call_id := str_at(message, "tool_call_id")):
            yield ToolResult(call_id, joined_texts(message.get("content")))


def _first_user_texts(body: JsonObject) -> Iterator[str]:
    for message in dicts_at(body, "messages"):
        if message.get("role") == "assistant":
            return
        if message.get("role") == "user":
            for part in content_parts(Component.ORCHESTRATOR, message.get("content")):
                yield from part.texts


class OpenAIChatResponse(GenerationResponse):
    """A completion, whole or in chunks. Usage is in the last chunk; prompt tokens include cached ones."""

    counts_hosted_uses = False

    def __init__(self) -> None:
        super().__init__()
        self._has_finish_reason = False

    def read_event(self, event: JsonObject) -> None:
        """Read one chunk, or a whole completion."""
        if error := dict_at(event, "error"):
            self.error = read_reported_error(error)
        self.model = str_at(event, "model") or self.model
        self.service_tier = name_at(event, "service_tier") or self.service_tier
        for choice in dicts_at(event, "choices"):
            self._read_choice(choice)
        if usage := dict_at(event, "usage"):
            self._read_usage(usage)
        if self._has_finish_reason:  # some servers also report counts before the end
            self.output_tokens = self.output_so_far
        self.is_complete = self.is_complete or self.output_tokens is not None

    def read_end_mark(self) -> None:
        """Read the mark after the last chunk, or the proper end of a stream without one."""
        self.is_complete = self.is_complete or self._has_finish_reason

    def _read_choice(self, choice: JsonObject) -> None:
        message = dict_at(choice, "delta") or dict_at(choice, "message")
        for key in ("content", "reasoning_content", "reasoning", "refusal"):
            self._read_text(str_at(message, key), is_thought=key.startswith("reasoning"))
        for position, call in enumerate(dicts_at(message, "tool_calls")):
            index = (choice.get("index"), call.get("index", position))
            self._read_tool(str_at(call, "function", "name"), index, str_at(call, "id"))
            self._read_arguments(index, str_at(call, "function", "arguments"))
        self._has_finish_reason = self._has_finish_reason or str_at(choice, "finish_reason") is not None
        # A message that is not streamed arrives whole, whether or not the server counts its tokens.
        self.is_complete = self.is_complete or ("delta" not in choice and bool(dict_at(choice, "message")))

    def _read_usage(self, usage: JsonObject) -> None:
        details = dict_at(usage, "prompt_tokens_details")
        self._set_input(
            count_at(usage, "prompt_tokens"),
            read=count_at(details, "cached_tokens"),
            written=count_at(details, "cache_write_tokens"),
        )
        self.output_so_far = count_at(usage, "completion_tokens")
        self.reasoning_tokens = count_at(usage, "completion_tokens_details", "reasoning_tokens")
        self.provider_usd = read_provider_cost(usage)
