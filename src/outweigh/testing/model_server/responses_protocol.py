"""OpenAI Responses: `POST /v1/responses`, its output items and the events that build them up."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from outweigh.testing.model_server.chat_protocol import OPENAI_ROLES, OpenAIErrors, router_cost
from outweigh.testing.model_server.model_protocol import (
    EVENT_STREAM_TYPE,
    MalformedRequestError,
    content_texts,
    encode_event,
    only_mappings,
    required_text,
    system_entry,
)
from outweigh.testing.model_server.model_reply import ErrorReply, ModelReply, ReplyToolCall, StopReason, split_stream
from outweigh.testing.model_server.model_request import (
    HistoryEntry,
    HistoryRole,
    HttpPost,
    Json,
    ModelRequest,
    OfferedTool,
    OfferedToolKind,
    WireProtocol,
)


def output_items(reply: ModelReply) -> Iterator[Json]:
    """The output items of a response, each complete."""
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        yield {"id": reply.id("rs_"), "type": "reasoning", "summary": summary, "encrypted_content": None}
    for number in range(reply.billing.searches):
        action = {"type": "search", "query": f"search {number}"}
        yield {"id": f"{reply.id('ws_')}_{number}", "type": "web_search_call", "status": "completed", "action": action}
    if reply.text:
        status = "incomplete" if reply.stop is StopReason.LENGTH else "completed"
        message = {"id": reply.id("msg_"), "type": "message", "status": status, "role": "assistant"}
        yield message | {"content": [_content(reply)]}
    for call in reply.calls:
        yield _call(call)


def output_item_events(index: int, item: Json) -> Iterator[Json]:
    """The events of one item, from its announcement to its end; the caller numbers them."""
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


def _content(reply: ModelReply) -> Json:
    if reply.stop is StopReason.REFUSAL:
        return {"type": "refusal", "refusal": reply.text}
    return {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}


def _call(call: ReplyToolCall) -> Json:
    item: Json = {"call_id": f"call_{call.id}", "status": "completed"}
    if call.kind is OfferedToolKind.LOCAL_SHELL:
        action = {"type": "exec", "env": {}, **call.arguments}
        return item | {"id": f"lsh_{call.id}", "type": "local_shell_call", "action": action}
    if call.kind is OfferedToolKind.FREEFORM:
        text = str(call.arguments.get("input", ""))
        return item | {"id": f"ctc_{call.id}", "type": "custom_tool_call", "name": call.name, "input": text}
    encoded = msgspec.json.encode(call.arguments).decode()
    return item | {"id": f"fc_{call.id}", "type": "function_call", "name": call.name, "arguments": encoded}


def _announced(item: Json) -> Json:
    """An item as a stream announces it, before its content."""
    blank: Json = {"summary": [], "content": [], "arguments": "", "input": "", "status": "in_progress"}
    return {key: blank.get(key, value) for key, value in item.items()}


def _growing(kind: str, place: Json, key: str, text: str) -> Iterator[Json]:
    for piece in split_stream(text):
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


_MODEL_ITEM_TYPES = frozenset({"reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call"})


class ResponsesProtocol(OpenAIErrors):
    """Responses, streamed or in one piece."""

    name = WireProtocol.RESPONSES
    id_prefix = "resp_"

    def read(self, post: HttpPost) -> ModelRequest:
        """Read the body of a Responses request; `previous_response_id` stands for the whole history before."""
        body = post.body
        earlier = str(body.get("previous_response_id") or "")
        past = (HistoryEntry(role=HistoryRole.MODEL, call_ids=(earlier,)),) if earlier else ()
        return ModelRequest(
            protocol=self.name,
            model=required_text(body, "model"),
            stream=body.get("stream") is True,
            history=(system_entry(body.get("instructions")), *past, *map(_entry, _input(body))),
            tools=tuple(_tools(body.get("tools"))),
            session=_session(post),
            api_key=post.api_key,
            output_schema=_output_schema(body),
        )

    def whole(self, request: ModelRequest, reply: ModelReply) -> Json:  # noqa: ARG002 - the answer alone says all
        """A complete response."""
        return _ended(reply)

    def events(self, request: ModelRequest, reply: ModelReply) -> Iterator[bytes]:  # noqa: ARG002
        """The events of a response, numbered, in the order in which the service sends them."""
        for number, data in enumerate(_unnumbered_events(reply)):
            yield encode_event(data | {"sequence_number": number}, data["type"])

    def stream_type(self, request: ModelRequest) -> str:  # noqa: ARG002
        """Server-sent events."""
        return EVENT_STREAM_TYPE

    def error_event(self, failure: ErrorReply, reply: ModelReply) -> bytes:
        """`response.failed`, which ends a response that failed."""
        error = {"code": failure.code or failure.type, "message": failure.message}
        broken = _begun(reply) | {"status": "failed", "error": error}
        number = len(list(_unnumbered_events(reply))) // 2
        data = {"type": "response.failed", "response": broken, "sequence_number": number}
        return encode_event(data, "response.failed")


def _input(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    if not isinstance(given, list):
        raise MalformedRequestError("Missing required parameter: 'input'.")
    return only_mappings(given)


def _entry(item: Mapping[str, Any]) -> HistoryEntry:
    role = OPENAI_ROLES.get(str(item.get("role")), HistoryRole.OTHER)
    if item.get("type") in _MODEL_ITEM_TYPES:
        return HistoryEntry(role=HistoryRole.MODEL, call_ids=(str(item.get("call_id")),))
    return HistoryEntry(role=role, texts=tuple(content_texts(item.get("content"))))


def _tools(offered: object) -> Iterator[OfferedTool]:
    """The tools that the client runs itself."""
    for tool in only_mappings(offered):
        name, kind = str(tool.get("name", "")), tool.get("type")
        schema = tool.get("parameters")
        if kind == "function":
            yield OfferedTool(name=name, schema=schema if isinstance(schema, Mapping) else {})
        elif kind == "custom":
            yield OfferedTool(name=name, schema={}, kind=OfferedToolKind.FREEFORM)
        elif kind == "local_shell":
            yield OfferedTool(name="local_shell", schema={}, kind=OfferedToolKind.LOCAL_SHELL)


def _session(post: HttpPost) -> str:
    headers = (post.headers.get(name) for name in ("session_id", "session-id", "conversation_id"))
    return next(filter(None, headers), None) or str(post.body.get("prompt_cache_key") or "")


def _output_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    text = body.get("text")
    form = text.get("format") if isinstance(text, Mapping) else None
    if not isinstance(form, Mapping):
        return None
    schema = form.get("schema")
    if isinstance(schema, Mapping):
        return schema
    return {"type": "object"} if form.get("type") == "json_object" else None


def _unnumbered_events(reply: ModelReply) -> Iterator[Json]:
    yield {"type": "response.created", "response": _begun(reply)}
    yield {"type": "response.in_progress", "response": _begun(reply)}
    for index, item in enumerate(output_items(reply)):
        yield from output_item_events(index, item)
    ended = _ended(reply)
    yield {"type": f"response.{ended['status']}", "response": ended}


def _begun(reply: ModelReply) -> Json:
    return {
        "id": reply.id(ResponsesProtocol.id_prefix),
        "object": "response",
        "created_at": reply.created,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "model": reply.model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "service_tier": reply.billing.service_tier or "default",
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
        "user": None,
    }


def _ended(reply: ModelReply) -> Json:
    cut_short = reply.stop is StopReason.LENGTH
    return _begun(reply) | {
        "status": "incomplete" if cut_short else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut_short else None,
        "completed_at": None if cut_short else reply.created,
        "output": list(output_items(reply)),
        "usage": _usage(reply),
    }


def _usage(reply: ModelReply) -> Json:
    tokens = reply.tokens
    return router_cost(reply) | {
        "input_tokens": tokens.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": tokens.cache_read_tokens,
            "cache_write_tokens": tokens.cache_write_tokens,
        },
        "output_tokens": tokens.output_tokens,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning_tokens},
        "total_tokens": tokens.total_tokens,
    }
