"""OpenAI's Chat Completions API, and servers that are compatible with it: reads requests and their responses, whole or
streamed, and asks for usage in streams that would have none.
"""

from collections.abc import Iterator

from outweigh.gateway.dialects.api_errors import read_reported_error
from outweigh.gateway.dialects.json_path import JsonMapping, count_at, dict_at, dicts_at, list_at, str_at
from outweigh.gateway.dialects.request_and_response import (
    GenerationRequest,
    GenerationResponse,
    RequestPart,
    content_parts,
    data_part,
)
from outweigh.model.usage import Component

_COMPONENT_OF_ROLE = {
    "system": Component.SYSTEM_PROMPT,
    "developer": Component.SYSTEM_PROMPT,
    "tool": Component.TOOL_RESPONSE,
    "function": Component.TOOL_RESPONSE,
}


def read_request(body: JsonMapping) -> GenerationRequest:
    """What a request to `/v1/chat/completions` says."""
    return GenerationRequest(
        model=str_at(body, "model"),
        is_streamed=body.get("stream") is True,
        parts=tuple(_parts(body)),
        tools=tuple(name for tool in dicts_at(body, "tools") if (name := str_at(tool, "function", "name"))),
        opening=tuple(_opening(body)),
    )


def wants_usage(body: JsonMapping) -> bool:
    """Whether a stream is asked to end in its usage. Without that it has none, and nothing could be metered."""
    return body.get("stream") is not True or dict_at(body, "stream_options").get("include_usage") is True


def request_usage(body: JsonMapping) -> JsonMapping:
    """The same request, asking for the usage of its stream too."""
    return {**body, "stream_options": {**dict_at(body, "stream_options"), "include_usage": True}}


def is_usage_only_event(event: JsonMapping) -> bool:
    """Whether an event is there only because usage was asked for; clients that did not ask may stumble over it."""
    return event.get("choices") == [] and bool(dict_at(event, "usage"))


def _parts(body: JsonMapping) -> Iterator[RequestPart]:
    for tool in (*list_at(body, "tools"), *list_at(body, "functions")):
        yield data_part(Component.TOOL_SCHEMA, tool)
    for message in dicts_at(body, "messages"):
        component = _COMPONENT_OF_ROLE.get(str_at(message, "role") or "", Component.ORCHESTRATOR)
        yield from content_parts(component, message.get("content"))
        for call in dicts_at(message, "tool_calls"):
            yield data_part(Component.TOOL_CALL, dict_at(call, "function"))


def _opening(body: JsonMapping) -> Iterator[str]:
    for message in dicts_at(body, "messages"):
        if message.get("role") == "assistant":
            return
        if message.get("role") == "user":
            for part in content_parts(Component.ORCHESTRATOR, message.get("content")):
                yield from part.texts


class OpenAIChatResponse(GenerationResponse):
    """A completion, or the chunks it comes in. Usage is in the last chunk; prompt tokens include cached ones."""

    def __init__(self) -> None:
        super().__init__()
        self._is_told_why = False
        self._output_so_far: int | None = None

    def hear(self, event: JsonMapping) -> None:
        """One chunk, or a whole completion."""
        if error := dict_at(event, "error"):
            self.error = read_reported_error(error)
        self.model = str_at(event, "model") or self.model
        for choice in dicts_at(event, "choices"):
            self._hear_choice(choice)
        if usage := dict_at(event, "usage"):
            self._hear_usage(usage)
        if self._is_told_why:  # some servers count aloud before
            self.output_tokens = self._output_so_far
        self.is_complete = self.is_complete or self.output_tokens is not None

    def hear_end_mark(self) -> None:
        """The mark after the last chunk."""
        self.is_complete = self.is_complete or self._is_told_why

    def _hear_choice(self, choice: JsonMapping) -> None:
        said = dict_at(choice, "delta") or dict_at(choice, "message")
        for key in ("content", "reasoning_content", "reasoning", "refusal"):
            self._hear_text(str_at(said, key))
        for position, call in enumerate(dicts_at(said, "tool_calls")):
            self._hear_tool(str_at(call, "function", "name"))
            index = (choice.get("index"), call.get("index", position))
            self._hear_arguments(index, str_at(call, "function", "arguments"))
        self._is_told_why = self._is_told_why or str_at(choice, "finish_reason") is not None

    def _hear_usage(self, usage: JsonMapping) -> None:
        details = dict_at(usage, "prompt_tokens_details")
        self._set_input(
            count_at(usage, "prompt_tokens"),
            read=count_at(details, "cached_tokens"),
            written=count_at(details, "cache_write_tokens"),
        )
        self._output_so_far = count_at(usage, "completion_tokens")
        self.reasoning_tokens = count_at(usage, "completion_tokens_details", "reasoning_tokens")
