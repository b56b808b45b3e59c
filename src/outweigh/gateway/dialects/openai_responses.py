"""OpenAI's Responses."""

from collections.abc import Iterator

from outweigh.gateway.dialects.answer import Answer
from outweigh.gateway.dialects.asked import Asked, Part, content_parts, data_part, text_part
from outweigh.gateway.dialects.loose import Json, count, mapping, mappings, sequence, text
from outweigh.gateway.dialects.spoken_error import spoken_error
from outweigh.record.components import Component

_ENDED = ("response.completed", "response.incomplete", "response.failed")


def read_request(body: Json) -> Asked:
    """What a request to `/v1/responses` says."""
    return Asked(
        model=text(body, "model"),
        is_streamed=body.get("stream") is True,
        parts=tuple(_parts(body)),
        tools=tuple(name for tool in mappings(body, "tools") if (name := text(tool, "name") or text(tool, "type"))),
        opening=tuple(_opening(body)),
    )


def is_answered_later(body: Json) -> bool:
    """Whether the answer is to be fetched another time, when nobody can tell what it took."""
    return body.get("background") is True


def _items(body: Json) -> Iterator[Json]:
    given = body.get("input")
    if isinstance(given, str):
        yield {"type": "message", "role": "user", "content": given}
    yield from mappings(given)


def _parts(body: Json) -> Iterator[Part]:
    yield from content_parts(Component.SYSTEM_PROMPT, body.get("instructions"))
    for tool in sequence(body, "tools"):
        yield data_part(Component.TOOL_SCHEMA, tool)
    for item in _items(body):
        yield from _item_parts(item)


def _item_parts(item: Json) -> Iterator[Part]:
    kind = text(item, "type") or "message"
    if kind == "message":
        is_system = item.get("role") in ("system", "developer")
        component = Component.SYSTEM_PROMPT if is_system else Component.ORCHESTRATOR
        yield from content_parts(component, item.get("content"))
    elif kind == "reasoning":
        for thought in (*mappings(item, "summary"), *mappings(item, "content")):
            yield text_part(Component.ORCHESTRATOR, text(thought, "text") or "")
    elif kind.endswith("_output"):
        output = item.get("output")
        is_plain = isinstance(output, str | list)
        yield from content_parts(Component.TOOL_RESPONSE, output if is_plain else ())
        if not is_plain:
            yield data_part(Component.TOOL_RESPONSE, output)
    elif kind.endswith("_call"):
        yield data_part(Component.TOOL_CALL, {key: item[key] for key in item if key not in ("id", "call_id", "status")})


def _opening(body: Json) -> Iterator[str]:
    for item in _items(body):
        if item.get("role") == "user":
            for part in content_parts(Component.ORCHESTRATOR, item.get("content")):
                yield from part.texts
        elif item.get("role") == "assistant" or text(item, "type") not in (None, "message"):
            return


class ResponsesAnswer(Answer):
    """A response, or the events it comes in. Usage is in the last event; input tokens include cached ones."""

    def __init__(self) -> None:
        super().__init__()
        self._piece_bytes = 0
        self._has_items = False

    @property
    def said_bytes(self) -> int:
        """How much the model has said so far: pieces come before the item they belong to is complete."""
        return max(self._piece_bytes, super().said_bytes)

    def hear(self, event: Json) -> None:
        """One event, or a whole response."""
        kind = text(event, "type") or ""
        if kind.endswith(".delta"):
            self._piece_bytes += len((text(event, "delta") or "").encode(errors="surrogatepass"))
        elif kind == "response.output_item.done":
            self._hear_item(mapping(event, "item"))
        elif kind == "response.created":
            self.model = text(event, "response", "model")
        elif kind in _ENDED:
            self._hear_response(mapping(event, "response"))
        elif kind == "error":
            self.error = spoken_error(mapping(event, "error") or event)
        elif "output" in event:
            self._hear_response(event)

    def _hear_response(self, response: Json) -> None:
        self.model = text(response, "model") or self.model
        if not self._has_items:
            for item in mappings(response, "output"):
                self._hear_item(item)
        self._hear_usage(mapping(response, "usage"))
        if error := mapping(response, "error"):
            self.error = spoken_error(error)
        self.is_complete = True

    def _hear_item(self, item: Json) -> None:
        self._has_items = True
        for piece in (*mappings(item, "content"), *mappings(item, "summary")):
            self._hear_text(text(piece, "text") or text(piece, "refusal"))
        if (text(item, "type") or "").endswith("_call"):
            self._hear_tool(text(item, "name"))
            index = text(item, "call_id") or text(item, "id")
            self._hear_arguments(index, text(item, "arguments") or text(item, "input"))
            if action := mapping(item, "action"):
                self._hear_whole_arguments(index, action)

    def _hear_usage(self, usage: Json) -> None:
        details = mapping(usage, "input_tokens_details")
        self._set_input(
            count(usage, "input_tokens"),
            read=count(details, "cached_tokens"),
            written=count(details, "cache_write_tokens"),
        )
        self.output_tokens = count(usage, "output_tokens")
        self.reasoning_tokens = count(usage, "output_tokens_details", "reasoning_tokens")
