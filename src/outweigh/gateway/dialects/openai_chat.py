"""OpenAI's Chat Completions, and what speaks the same."""

from collections.abc import Iterator

from outweigh.gateway.dialects.answer import Answer
from outweigh.gateway.dialects.asked import Asked, Part, content_parts, data_part
from outweigh.gateway.dialects.loose import Json, count, mapping, mappings, sequence, text
from outweigh.gateway.dialects.spoken_error import spoken_error
from outweigh.record.components import Component

_COMPONENT_OF_ROLE = {
    "system": Component.SYSTEM_PROMPT,
    "developer": Component.SYSTEM_PROMPT,
    "tool": Component.TOOL_RESPONSE,
    "function": Component.TOOL_RESPONSE,
}


def read_request(body: Json) -> Asked:
    """What a request to `/v1/chat/completions` says."""
    return Asked(
        model=text(body, "model"),
        is_streamed=body.get("stream") is True,
        parts=tuple(_parts(body)),
        tools=tuple(name for tool in mappings(body, "tools") if (name := text(tool, "function", "name"))),
        opening=tuple(_opening(body)),
    )


def wants_usage(body: Json) -> bool:
    """Whether a stream is asked to end in its usage. Without that it has none, and nothing could be metered."""
    return body.get("stream") is not True or mapping(body, "stream_options").get("include_usage") is True


def with_usage_wanted(body: Json) -> Json:
    """The same request, asking for the usage of its stream too."""
    return {**body, "stream_options": {**mapping(body, "stream_options"), "include_usage": True}}


def is_usage_alone(event: Json) -> bool:
    """Whether an event is there only because usage was asked for; clients that did not ask may stumble over it."""
    return event.get("choices") == [] and bool(mapping(event, "usage"))


def _parts(body: Json) -> Iterator[Part]:
    for tool in (*sequence(body, "tools"), *sequence(body, "functions")):
        yield data_part(Component.TOOL_SCHEMA, tool)
    for message in mappings(body, "messages"):
        component = _COMPONENT_OF_ROLE.get(text(message, "role") or "", Component.ORCHESTRATOR)
        yield from content_parts(component, message.get("content"))
        for call in mappings(message, "tool_calls"):
            yield data_part(Component.TOOL_CALL, mapping(call, "function"))


def _opening(body: Json) -> Iterator[str]:
    for message in mappings(body, "messages"):
        if message.get("role") == "assistant":
            return
        if message.get("role") == "user":
            for part in content_parts(Component.ORCHESTRATOR, message.get("content")):
                yield from part.texts


class ChatAnswer(Answer):
    """A completion, or the chunks it comes in. Usage is in the last chunk; prompt tokens include cached ones."""

    def __init__(self) -> None:
        super().__init__()
        self._is_told_why = False
        self._output_so_far: int | None = None

    def hear(self, event: Json) -> None:
        """One chunk, or a whole completion."""
        if error := mapping(event, "error"):
            self.error = spoken_error(error)
        self.model = text(event, "model") or self.model
        for choice in mappings(event, "choices"):
            self._hear_choice(choice)
        if usage := mapping(event, "usage"):
            self._hear_usage(usage)
        if self._is_told_why:  # some servers count aloud before
            self.output_tokens = self._output_so_far
        self.is_complete = self.is_complete or self.output_tokens is not None

    def hear_end_mark(self) -> None:
        """The mark after the last chunk."""
        self.is_complete = self.is_complete or self._is_told_why

    def _hear_choice(self, choice: Json) -> None:
        said = mapping(choice, "delta") or mapping(choice, "message")
        for key in ("content", "reasoning_content", "reasoning", "refusal"):
            self._hear_text(text(said, key))
        for position, call in enumerate(mappings(said, "tool_calls")):
            self._hear_tool(text(call, "function", "name"))
            index = (choice.get("index"), call.get("index", position))
            self._hear_arguments(index, text(call, "function", "arguments"))
        self._is_told_why = self._is_told_why or text(choice, "finish_reason") is not None

    def _hear_usage(self, usage: Json) -> None:
        details = mapping(usage, "prompt_tokens_details")
        self._set_input(
            count(usage, "prompt_tokens"),
            read=count(details, "cached_tokens"),
            written=count(details, "cache_write_tokens"),
        )
        self._output_so_far = count(usage, "completion_tokens")
        self.reasoning_tokens = count(usage, "completion_tokens_details", "reasoning_tokens")
