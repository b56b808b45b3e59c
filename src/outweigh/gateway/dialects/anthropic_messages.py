"""Anthropic's Messages."""

from collections.abc import Iterator

from outweigh.gateway.dialects.answer import Answer
from outweigh.gateway.dialects.asked import Asked, Part, content_parts, data_part, text_part
from outweigh.gateway.dialects.loose import Json, count, mapping, mappings, sequence, strings, text
from outweigh.gateway.dialects.spoken_error import spoken_error
from outweigh.record.components import Component

_SUB_AGENT_MARK = "cc_is_subagent=true"
"""Claude Code says so in a line of its system prompt."""


def read_request(body: Json) -> Asked:
    """What a request to `/v1/messages` says."""
    return Asked(
        model=text(body, "model"),
        is_streamed=body.get("stream") is True,
        parts=tuple(_parts(body)),
        tools=tuple(name for tool in mappings(body, "tools") if (name := text(tool, "name"))),
        opening=tuple(_opening(body)),
        says_sub_agent=any(_SUB_AGENT_MARK in said for said in strings(body.get("system"))),
    )


def _parts(body: Json) -> Iterator[Part]:
    yield from content_parts(Component.SYSTEM_PROMPT, body.get("system"))
    for tool in sequence(body, "tools"):
        yield data_part(Component.TOOL_SCHEMA, tool)
    for message in mappings(body, "messages"):
        for block in _blocks(message):
            yield from _block_parts(block)


def _blocks(message: Json) -> Iterator[Json]:
    content = message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    yield from mappings(content)


def _block_parts(block: Json) -> Iterator[Part]:
    kind = text(block, "type") or ""
    if kind.endswith("tool_use"):
        yield data_part(Component.TOOL_CALL, {"name": block.get("name"), "input": block.get("input")})
    elif kind.endswith("tool_result"):
        yield from content_parts(Component.TOOL_RESPONSE, block.get("content"))
    elif kind == "thinking":
        yield text_part(Component.ORCHESTRATOR, text(block, "thinking") or "")
    elif kind != "redacted_thinking":
        yield from content_parts(Component.ORCHESTRATOR, [block])


def _opening(body: Json) -> Iterator[str]:
    for message in mappings(body, "messages"):
        if message.get("role") == "assistant":
            return
        for block in _blocks(message):
            if block.get("type") == "text":
                yield text(block, "text") or ""


class MessagesAnswer(Answer):
    """A message, or the events it comes in. Usage in events is cumulative; output is known once the last was heard."""

    def hear(self, event: Json) -> None:
        """One event, or a whole message."""
        match event.get("type"):
            case "message_start":
                self._hear_start(mapping(event, "message"))
            case "content_block_start":
                self._hear_block(mapping(event, "content_block"), event.get("index"))
            case "content_block_delta":
                self._hear_delta(mapping(event, "delta"), event.get("index"))
            case "message_delta":
                self._hear_usage(mapping(event, "usage"), is_final=True)
            case "message_stop":
                self.is_complete = True
            case "error":
                self.error = spoken_error(mapping(event, "error"))
            case "message":
                self._hear_message(event)

    def _hear_start(self, message: Json) -> None:
        self.model = text(message, "model")
        self._hear_usage(mapping(message, "usage"), is_final=False)

    def _hear_message(self, message: Json) -> None:
        self.model = text(message, "model")
        self._hear_usage(mapping(message, "usage"), is_final=True)
        for index, block in enumerate(mappings(message, "content")):
            self._hear_block(block, index)
        self.is_complete = True

    def _hear_block(self, block: Json, index: object) -> None:
        self._hear_text(text(block, "text") or text(block, "thinking"))
        if "input" in block:
            self._hear_tool(text(block, "name"))
            if arguments := mapping(block, "input"):  # empty at the start of a stream
                self._hear_whole_arguments(index, arguments)

    def _hear_delta(self, delta: Json, index: object) -> None:
        self._hear_text(text(delta, "text") or text(delta, "thinking"))
        self._hear_arguments(index, text(delta, "partial_json"))

    def _hear_usage(self, usage: Json, *, is_final: bool) -> None:
        """Later figures replace earlier ones. What the provider leaves out of a usage that it gives is 0."""
        if (tokens := count(usage, "input_tokens")) is not None:
            self.input_tokens = tokens
            self.cache_read_tokens = count(usage, "cache_read_input_tokens") or self.cache_read_tokens or 0
            self.cache_write_tokens = count(usage, "cache_creation_input_tokens") or self.cache_write_tokens or 0
        if hour := count(usage, "cache_creation", "ephemeral_1h_input_tokens"):
            self.hour_write_tokens = hour
        if is_final and (tokens := count(usage, "output_tokens")) is not None:
            self.output_tokens = tokens
            self.reasoning_tokens = count(usage, "output_tokens_details", "thinking_tokens")
