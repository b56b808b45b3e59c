"""OpenAI Chat Completions: `POST /v1/chat/completions`; and the roles and errors that it shares with the Responses
API.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from outweigh.testing.model_server.model_protocol import (
    EVENT_STREAM_TYPE,
    content_texts,
    encode_event,
    only_mappings,
    required_list,
    required_text,
)
from outweigh.testing.model_server.model_reply import ErrorReply, ModelReply, ReplyToolCall, StopReason, split_stream
from outweigh.testing.model_server.model_request import (
    HistoryEntry,
    HistoryRole,
    HttpPost,
    Json,
    ModelRequest,
    OfferedTool,
    WireProtocol,
)

OPENAI_ROLES = {
    "system": HistoryRole.SYSTEM,
    "developer": HistoryRole.SYSTEM,
    "user": HistoryRole.USER,
    "assistant": HistoryRole.MODEL,
}


class OpenAIErrors:
    """The error bodies and headers of OpenAI's protocols."""

    def error_body(self, failure: ErrorReply, number: int) -> Json:  # noqa: ARG002 - the request's number goes into a header
        """An error object."""
        return {
            "error": {"message": failure.message, "type": failure.type, "param": None, "code": failure.code},
        }

    def error_headers(self, failure: ErrorReply, now: float) -> dict[str, str]:  # noqa: ARG002 - waits, not moments
        """How long to wait before retrying, in the three forms that clients look for."""
        if failure.retry_after_seconds is None:
            return {}
        seconds = failure.retry_after_seconds
        headers = {"retry-after": f"{seconds:g}", "retry-after-ms": f"{seconds * 1000:.0f}"}
        for kind in ("requests", "tokens"):
            headers |= {
                f"x-ratelimit-limit-{kind}": "50",
                f"x-ratelimit-remaining-{kind}": "0",
                f"x-ratelimit-reset-{kind}": f"{seconds:g}s",
            }
        return headers


_STOP = {
    StopReason.END: "stop",
    StopReason.TOOL_CALLS: "tool_calls",
    StopReason.LENGTH: "length",
    StopReason.REFUSAL: "stop",
}
_END = b"data: [DONE]\n\n"


class ChatProtocol(OpenAIErrors):
    """Chat completions, streamed or in one piece."""

    name = WireProtocol.CHAT
    id_prefix = "chatcmpl-"

    def read(self, post: HttpPost) -> ModelRequest:
        """Read the body of a Chat Completions request."""
        body = post.body
        messages = required_list(body, "messages")
        options = body.get("stream_options")
        return ModelRequest(
            protocol=self.name,
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

    def whole(self, request: ModelRequest, reply: ModelReply) -> Json:  # noqa: ARG002 - the answer alone says all
        """A complete chat completion."""
        message: Json = {"role": "assistant", "content": _content(reply), "refusal": _refusal(reply), "annotations": []}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        if reply.calls:
            message["tool_calls"] = [_call(call) for call in reply.calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _STOP[reply.stop]}
        return _envelope(reply, "chat.completion") | {"choices": [choice], "usage": _usage(reply)}

    def events(self, request: ModelRequest, reply: ModelReply) -> Iterator[bytes]:
        """The chunks of a chat completion; the usage has a chunk of its own, if the client asked for it."""
        # If usage was asked for, every other chunk has a null usage.
        extra: Json = {"usage": None} if request.wants_usage else {}
        for delta in _deltas(reply):
            yield encode_event(_chunk(reply, [_choice(delta)]) | extra)
        yield encode_event(_chunk(reply, [_choice({}, _STOP[reply.stop])]) | extra)
        if request.wants_usage:
            yield encode_event(_chunk(reply, []) | {"usage": _usage(reply)})
        yield _END

    def stream_type(self, request: ModelRequest) -> str:  # noqa: ARG002
        """Server-sent events."""
        return EVENT_STREAM_TYPE

    def error_event(self, failure: ErrorReply, reply: ModelReply) -> bytes:
        """An error instead of the next chunk."""
        return encode_event(self.error_body(failure, reply.number))


def _entry(message: Mapping[str, Any]) -> HistoryEntry:
    return HistoryEntry(
        role=OPENAI_ROLES.get(str(message.get("role")), HistoryRole.OTHER),
        texts=(*content_texts(message.get("content")), *content_texts(message.get("refusal"))),
        call_ids=tuple(str(call.get("id")) for call in only_mappings(message.get("tool_calls"))),
    )


def _tools(body: Mapping[str, Any]) -> Iterator[OfferedTool]:
    for tool in only_mappings(body.get("tools")):
        function = tool.get("function")
        if isinstance(function, Mapping):
            schema = function.get("parameters")
            yield OfferedTool(name=str(function.get("name", "")), schema=schema if isinstance(schema, Mapping) else {})


def _output_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    form = body.get("response_format")
    if not isinstance(form, Mapping):
        return None
    wrapped = form.get("json_schema")
    schema = wrapped.get("schema") if isinstance(wrapped, Mapping) else None
    if isinstance(schema, Mapping):
        return schema
    return {"type": "object"} if form.get("type") == "json_object" else None


def _envelope(reply: ModelReply, kind: str) -> Json:
    return {
        "id": reply.id(ChatProtocol.id_prefix),
        "object": kind,
        "created": reply.created,
        "model": reply.model,
        "service_tier": reply.billing.service_tier or "default",
        "system_fingerprint": "fp_scripted",
    }


def _chunk(reply: ModelReply, choices: list[Json]) -> Json:
    return _envelope(reply, "chat.completion.chunk") | {"choices": choices}


def _choice(delta: Json, finish: str | None = None) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _deltas(reply: ModelReply) -> Iterator[Json]:
    yield {"role": "assistant", "content": "", "refusal": None}
    yield from ({"reasoning_content": piece} for piece in split_stream(reply.thinking))
    key = "refusal" if reply.stop is StopReason.REFUSAL else "content"
    yield from ({key: piece} for piece in split_stream(reply.text))
    for index, call in enumerate(reply.calls):
        whole = _call(call)
        begun = whole | {"index": index, "function": {"name": call.name, "arguments": ""}}
        yield {"tool_calls": [begun]}
        for piece in split_stream(whole["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _content(reply: ModelReply) -> str | None:
    return None if reply.stop is StopReason.REFUSAL or not reply.text else reply.text


def _refusal(reply: ModelReply) -> str | None:
    return reply.text if reply.stop is StopReason.REFUSAL else None


def _call(call: ReplyToolCall) -> Json:
    arguments = msgspec.json.encode(call.arguments).decode()
    return {"id": f"call_{call.id}", "type": "function", "function": {"name": call.name, "arguments": arguments}}


def router_cost(reply: ModelReply) -> Json:
    """The cost that a router such as OpenRouter adds to the usage."""
    usd = reply.billing.cost_usd
    return {} if usd is None else {"cost": usd, "is_byok": False, "cost_details": {"upstream_inference_cost": None}}


def _usage(reply: ModelReply) -> Json:
    tokens = reply.tokens
    return router_cost(reply) | {
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
