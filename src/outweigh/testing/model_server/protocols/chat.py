"""OpenAI Chat Completions: `POST /v1/chat/completions`."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from outweigh.testing.model_server.protocols.openai import ROLES, OpenAIRefusals
from outweigh.testing.model_server.protocols.speech import (
    EVENT_STREAM,
    event,
    mappings,
    required_list,
    required_text,
    texts,
)
from outweigh.testing.model_server.reply import Failure, Reply, Stop, ToolCall, pieces
from outweigh.testing.model_server.request import Entry, Json, ModelRequest, Post, Role, Tool, Wire

_STOP = {Stop.END: "stop", Stop.TOOL_CALLS: "tool_calls", Stop.LENGTH: "length", Stop.REFUSAL: "stop"}
_END = b"data: [DONE]\n\n"


class Chat(OpenAIRefusals):
    """Completions, streamed and whole."""

    wire = Wire.CHAT
    id_prefix = "chatcmpl-"

    def read(self, post: Post) -> ModelRequest:
        """The request behind a body of the Chat Completions API."""
        body = post.body
        messages = required_list(body, "messages")
        options = body.get("stream_options")
        return ModelRequest(
            wire=self.wire,
            model=required_text(body, "model"),
            stream=body.get("stream") is True,
            history=tuple(map(_entry, messages)),
            tools=tuple(_tools(body)),
            session=str(body.get("prompt_cache_key") or body.get("user") or ""),
            api_key=post.api_key,
            output_schema=_output_schema(body),
            wants_usage=body.get("stream") is not True
            or (isinstance(options, Mapping) and options.get("include_usage") is True),
        )

    def whole(self, request: ModelRequest, reply: Reply) -> Json:  # noqa: ARG002 - the answer alone says all
        """A complete completion."""
        message: Json = {"role": "assistant", "content": _content(reply), "refusal": _refusal(reply), "annotations": []}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        if reply.calls:
            message["tool_calls"] = [_call(call) for call in reply.calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _STOP[reply.stop]}
        return _envelope(reply, "chat.completion") | {"choices": [choice], "usage": _usage(reply)}

    def events(self, request: ModelRequest, reply: Reply) -> Iterator[bytes]:
        """The chunks of a completion; the usage comes in one of its own, if the client asked for it."""
        # Once it is asked for, every other chunk says that it has none.
        extra: Json = {"usage": None} if request.wants_usage else {}
        for delta in _deltas(reply):
            yield event(_chunk(reply, [_choice(delta)]) | extra)
        yield event(_chunk(reply, [_choice({}, _STOP[reply.stop])]) | extra)
        if request.wants_usage:
            yield event(_chunk(reply, []) | {"usage": _usage(reply)})
        yield _END

    def stream_type(self, request: ModelRequest) -> str:  # noqa: ARG002
        """Server-sent events."""
        return EVENT_STREAM

    def refusal_event(self, failure: Failure, reply: Reply) -> bytes:
        """An error in place of the next chunk."""
        return event(self.refusal(failure, reply.number))


def _entry(message: Mapping[str, Any]) -> Entry:
    return Entry(
        role=ROLES.get(str(message.get("role")), Role.OTHER),
        texts=(*texts(message.get("content")), *texts(message.get("refusal"))),
        call_ids=tuple(str(call.get("id")) for call in mappings(message.get("tool_calls"))),
    )


def _tools(body: Mapping[str, Any]) -> Iterator[Tool]:
    for tool in mappings(body.get("tools")):
        function = tool.get("function")
        if isinstance(function, Mapping):
            schema = function.get("parameters")
            yield Tool(name=str(function.get("name", "")), schema=schema if isinstance(schema, Mapping) else {})


def _output_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    form = body.get("response_format")
    if not isinstance(form, Mapping):
        return None
    wrapped = form.get("json_schema")
    schema = wrapped.get("schema") if isinstance(wrapped, Mapping) else None
    if isinstance(schema, Mapping):
        return schema
    return {"type": "object"} if form.get("type") == "json_object" else None


def _envelope(reply: Reply, kind: str) -> Json:
    return {
        "id": reply.id(Chat.id_prefix),
        "object": kind,
        "created": reply.created,
        "model": reply.model,
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
    }


def _chunk(reply: Reply, choices: list[Json]) -> Json:
    return _envelope(reply, "chat.completion.chunk") | {"choices": choices}


def _choice(delta: Json, finish: str | None = None) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _deltas(reply: Reply) -> Iterator[Json]:
    yield {"role": "assistant", "content": "", "refusal": None}
    yield from ({"reasoning_content": piece} for piece in pieces(reply.thinking))
    key = "refusal" if reply.stop is Stop.REFUSAL else "content"
    yield from ({key: piece} for piece in pieces(reply.text))
    for index, call in enumerate(reply.calls):
        whole = _call(call)
        begun = whole | {"index": index, "function": {"name": call.name, "arguments": ""}}
        yield {"tool_calls": [begun]}
        for piece in pieces(whole["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _content(reply: Reply) -> str | None:
    return None if reply.stop is Stop.REFUSAL or not reply.text else reply.text


def _refusal(reply: Reply) -> str | None:
    return reply.text if reply.stop is Stop.REFUSAL else None


def _call(call: ToolCall) -> Json:
    arguments = msgspec.json.encode(call.arguments).decode()
    return {"id": f"call_{call.id}", "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _usage(reply: Reply) -> Json:
    tokens = reply.tokens
    return {
        "prompt_tokens": tokens.prompt_tokens,
        "completion_tokens": tokens.output_tokens,
        "total_tokens": tokens.total_tokens,
        "prompt_tokens_details": {
            "cached_tokens": tokens.cache_read_tokens,
            "cache_write_tokens": tokens.cache_write_tokens,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": tokens.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
