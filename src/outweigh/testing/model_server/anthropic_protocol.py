"""Anthropic Messages: `POST /v1/messages`."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from outweigh.testing.model_server.ledger import Tokens
from outweigh.testing.model_server.model_protocol import (
    EVENT_STREAM_TYPE,
    content_texts,
    encode_event,
    only_mappings,
    required_list,
    required_text,
    system_entry,
)
from outweigh.testing.model_server.model_reply import ErrorReply, ModelReply, StopReason, split_stream
from outweigh.testing.model_server.model_request import (
    HistoryEntry,
    HistoryRole,
    HttpPost,
    Json,
    ModelRequest,
    OfferedTool,
    WireProtocol,
)

_STOP = {
    StopReason.END: "end_turn",
    StopReason.TOOL_CALLS: "tool_use",
    StopReason.LENGTH: "max_tokens",
    StopReason.REFUSAL: "refusal",
}
_ROLES = {"system": HistoryRole.SYSTEM, "user": HistoryRole.USER, "assistant": HistoryRole.MODEL}
_SIGNATURE = "c2NyaXB0ZWQ="
_LIMIT_KINDS = ("requests", "tokens", "input-tokens", "output-tokens")


class AnthropicProtocol:
    """Messages, streamed or in one piece."""

    name = WireProtocol.ANTHROPIC
    id_prefix = "msg_"

    def read(self, post: HttpPost) -> ModelRequest:
        """Read the body of a Messages request."""
        body = post.body
        messages = required_list(body, "messages")
        return ModelRequest(
            protocol=self.name,
            model=required_text(body, "model"),
            stream=body.get("stream") is True,
            history=(system_entry(body.get("system")), *map(_entry, messages)),
            tools=tuple(_tools(body)),
            session=_session(post),
            api_key=post.api_key,
            output_schema=_output_schema(body),
        )

    def whole(self, request: ModelRequest, reply: ModelReply) -> Json:  # noqa: ARG002 - the answer alone says all
        """A complete message."""
        return _message(reply) | _ending(reply) | {"content": list(_blocks(reply)), "usage": _usage(reply)}

    def events(self, request: ModelRequest, reply: ModelReply) -> Iterator[bytes]:  # noqa: ARG002
        """The events of a message, in the order in which the service sends them."""
        begun = _usage(reply) | {"output_tokens": min(1, reply.tokens.output_tokens)}
        for late in ("output_tokens_details", "iterations", "server_tool_use", "cost"):
            begun.pop(late, None)
        yield _named("message_start", message=_message(reply) | {"usage": begun})
        for index, block in enumerate(_blocks(reply)):
            yield _named("content_block_start", index=index, content_block=_empty(block))
            if index == 0:
                yield _named("ping")
            for delta in _deltas(block):
                yield _named("content_block_delta", index=index, delta=delta)
            yield _named("content_block_stop", index=index)
        yield _named("message_delta", delta=_ending(reply), usage=_usage(reply))
        yield _named("message_stop")

    def stream_type(self, request: ModelRequest) -> str:  # noqa: ARG002
        """Server-sent events."""
        return EVENT_STREAM_TYPE

    def error_body(self, failure: ErrorReply, number: int) -> Json:
        """An error object."""
        return {
            "type": "error",
            "error": {"type": failure.type, "message": failure.message},
            "request_id": f"req_{number:024d}",
        }

    def error_headers(self, failure: ErrorReply, now: float) -> dict[str, str]:
        """When to retry, in seconds and as times."""
        if failure.retry_after_seconds is None:
            return {}
        moment = datetime.fromtimestamp(now, UTC) + timedelta(seconds=failure.retry_after_seconds)
        headers = {"retry-after": f"{failure.retry_after_seconds:g}"}
        for kind in _LIMIT_KINDS:
            headers |= {
                f"anthropic-ratelimit-{kind}-limit": "50",
                f"anthropic-ratelimit-{kind}-remaining": "0",
                f"anthropic-ratelimit-{kind}-reset": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
        return headers

    def error_event(self, failure: ErrorReply, reply: ModelReply) -> bytes:
        """The `error` event of a stream that has begun."""
        return encode_event(self.error_body(failure, reply.number), "error")


def _entry(message: Mapping[str, Any]) -> HistoryEntry:
    content = message.get("content")
    calls = (part.get("id") for part in only_mappings(content) if part.get("type") == "tool_use")
    return HistoryEntry(
        role=_ROLES.get(str(message.get("role")), HistoryRole.OTHER),
        texts=tuple(content_texts(content)),
        call_ids=tuple(str(call) for call in calls),
    )


def _tools(body: Mapping[str, Any]) -> Iterator[OfferedTool]:
    """The tools of a request. A tool that the service defines has no schema, but its shell has a fixed one."""
    for tool in only_mappings(body.get("tools")):
        schema = tool.get("input_schema")
        if str(tool.get("type", "")).startswith("bash_"):
            schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
        if isinstance(schema, Mapping):
            yield OfferedTool(name=str(tool.get("name", "")), schema=schema)


def _session(post: HttpPost) -> str:
    metadata = post.body.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, Mapping) else None
    return post.headers.get("x-claude-code-session-id") or (user if isinstance(user, str) else "")


def _output_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for holder in (body.get("output_config"), body):
        form = holder.get("format", holder.get("output_format")) if isinstance(holder, Mapping) else None
        if isinstance(form, Mapping) and isinstance(form.get("schema"), Mapping):
            schema: Mapping[str, Any] = form["schema"]
            return schema
    return None


def _message(reply: ModelReply) -> Json:
    return {
        "id": reply.id(AnthropicProtocol.id_prefix),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
    }


def _blocks(reply: ModelReply) -> Iterator[Json]:
    if reply.thinking:
        yield {"type": "thinking", "thinking": reply.thinking, "signature": _SIGNATURE}
    if reply.text:
        yield {"type": "text", "text": reply.text}
    for call in reply.calls:
        yield {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.name, "input": dict(call.arguments)}


def _empty(block: Json) -> Json:
    """A content block as a stream announces it, before its content."""
    blank = {"thinking": "", "signature": "", "text": "", "input": {}}
    return {key: blank.get(key, value) for key, value in block.items()}


def _deltas(block: Json) -> Iterator[Json]:
    if block["type"] == "thinking":
        yield from ({"type": "thinking_delta", "thinking": piece} for piece in split_stream(block["thinking"]))
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif block["type"] == "text":
        yield from ({"type": "text_delta", "text": piece} for piece in split_stream(block["text"]))
    else:
        yield {"type": "input_json_delta", "partial_json": ""}
        encoded = msgspec.json.encode(block["input"]).decode()
        yield from ({"type": "input_json_delta", "partial_json": piece} for piece in split_stream(encoded))


def _ending(reply: ModelReply) -> Json:
    details = {"type": "refusal", "category": None, "explanation": None} if reply.stop is StopReason.REFUSAL else None
    return {"stop_reason": _STOP[reply.stop], "stop_sequence": None, "stop_details": details}


def _usage(reply: ModelReply) -> Json:
    tokens, billing = reply.tokens, reply.billing
    usage = _counts(tokens, billing.hour_write_tokens) | {"service_tier": billing.service_tier or "standard"}
    if tokens.reasoning_tokens:
        usage["output_tokens_details"] = {"thinking_tokens": tokens.reasoning_tokens}
    if billing.searches:
        usage["server_tool_use"] = {"web_search_requests": billing.searches, "web_fetch_requests": 0}
    if reply.compaction is not None:
        summary, message = _counts(reply.compaction, 0), _counts(tokens, billing.hour_write_tokens)
        usage["iterations"] = [{"type": "compaction", **summary}, {"type": "message", **message}]
    stated = {"speed": billing.speed, "inference_geo": billing.region, "cost": billing.cost_usd}
    return usage | {name: value for name, value in stated.items() if value is not None}


def _counts(tokens: Tokens, hour_write_tokens: int) -> Json:
    return {
        "input_tokens": tokens.input_tokens,
        "cache_creation_input_tokens": tokens.cache_write_tokens,
        "cache_read_input_tokens": tokens.cache_read_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": tokens.cache_write_tokens - hour_write_tokens,
            "ephemeral_1h_input_tokens": hour_write_tokens,
        },
        "output_tokens": tokens.output_tokens,
    }


def _named(kind: str, **fields: Any) -> bytes:
    return encode_event({"type": kind, **fields}, kind)
