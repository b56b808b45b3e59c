"""The output items of the Responses protocol, and the events that build each of them up."""

from collections.abc import Iterator
from typing import Any

import msgspec

from outweigh.testing.model_server.reply import Reply, Stop, ToolCall, pieces
from outweigh.testing.model_server.request import Json, ToolKind


def items(reply: Reply) -> Iterator[Json]:
    """Everything the model put out, each complete."""
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        yield {"id": reply.id("rs_"), "type": "reasoning", "summary": summary, "encrypted_content": None}
    if reply.text:
        status = "incomplete" if reply.stop is Stop.LENGTH else "completed"
        message = {"id": reply.id("msg_"), "type": "message", "status": status, "role": "assistant"}
        yield message | {"content": [_content(reply)]}
    for call in reply.calls:
        yield _call(call)


def item_events(index: int, item: Json) -> Iterator[Json]:
    """From the announcement of an item to its end; the caller numbers them."""
    place = {"item_id": item["id"], "output_index": index}
    yield {"type": "response.output_item.added", "output_index": index, "item": _announced(item)}
    match item["type"]:
        case "reasoning":
            yield from _reasoning_events(place, item["summary"][0])
        case "message":
            yield from _content_events(place, item["content"][0])
        case "function_call":
            yield from _growing("response.function_call_arguments", place, "arguments", item["arguments"])
        case "custom_tool_call":
            yield from _growing("response.custom_tool_call_input", place, "input", item["input"])
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _content(reply: Reply) -> Json:
    if reply.stop is Stop.REFUSAL:
        return {"type": "refusal", "refusal": reply.text}
    return {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}


def _call(call: ToolCall) -> Json:
    item: Json = {"call_id": f"call_{call.id}", "status": "completed"}
    if call.kind is ToolKind.LOCAL_SHELL:
        action = {"type": "exec", "env": {}, **call.arguments}
        return item | {"id": f"lsh_{call.id}", "type": "local_shell_call", "action": action}
    if call.kind is ToolKind.FREEFORM:
        text = str(call.arguments.get("input", ""))
        return item | {"id": f"ctc_{call.id}", "type": "custom_tool_call", "name": call.name, "input": text}
    encoded = msgspec.json.encode(call.arguments).decode()
    return item | {"id": f"fc_{call.id}", "type": "function_call", "name": call.name, "arguments": encoded}


def _announced(item: Json) -> Json:
    """An item before anything of it has arrived."""
    blank: Json = {"summary": [], "content": [], "arguments": "", "input": "", "status": "in_progress"}
    return {key: blank.get(key, value) for key, value in item.items()}


def _growing(kind: str, place: Json, key: str, text: str) -> Iterator[Json]:
    for piece in pieces(text):
        yield {"type": f"{kind}.delta", **place, "delta": piece}
    yield {"type": f"{kind}.done", **place, key: text}


def _content_events(place: Json, part: Json) -> Iterator[Json]:
    place = {**place, "content_index": 0}
    is_text = part["type"] == "output_text"
    key, extra = ("text", {"logprobs": []}) if is_text else ("refusal", dict[str, Any]())
    kind = "response.output_text" if is_text else "response.refusal"
    yield {"type": "response.content_part.added", **place, "part": part | {key: ""}}
    yield from (step | extra for step in _growing(kind, place, key, part[key]))
    yield {"type": "response.content_part.done", **place, "part": part}


def _reasoning_events(place: Json, part: Json) -> Iterator[Json]:
    place = {**place, "summary_index": 0}
    yield {"type": "response.reasoning_summary_part.added", **place, "part": part | {"text": ""}}
    yield from _growing("response.reasoning_summary_text", place, "text", part["text"])
    yield {"type": "response.reasoning_summary_part.done", **place, "part": part}
