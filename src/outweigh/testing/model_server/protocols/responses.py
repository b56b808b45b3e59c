"""OpenAI Responses: `POST /v1/responses`."""

from collections.abc import Iterator, Mapping
from typing import Any

from outweigh.testing.model_server.protocols.openai import ROLES, OpenAIRefusals
from outweigh.testing.model_server.protocols.responses_items import item_events, items
from outweigh.testing.model_server.protocols.speech import (
    EVENT_STREAM,
    NotUnderstoodError,
    event,
    mappings,
    required_text,
    system_entry,
    texts,
)
from outweigh.testing.model_server.reply import Failure, Reply, Stop
from outweigh.testing.model_server.request import Entry, Json, ModelRequest, Post, Role, Tool, ToolKind, Wire

_SAID = frozenset({"reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call"})


class Responses(OpenAIRefusals):
    """Responses, streamed and whole."""

    wire = Wire.RESPONSES
    id_prefix = "resp_"

    def read(self, post: Post) -> ModelRequest:
        """The request behind a body of the Responses API; `previous_response_id` stands for all that came before."""
        body = post.body
        earlier = str(body.get("previous_response_id") or "")
        past = (Entry(role=Role.MODEL, call_ids=(earlier,)),) if earlier else ()
        return ModelRequest(
            wire=self.wire,
            model=required_text(body, "model"),
            stream=body.get("stream") is True,
            history=(system_entry(body.get("instructions")), *past, *map(_entry, _input(body))),
            tools=tuple(_tools(body.get("tools"))),
            session=_session(post),
            api_key=post.api_key,
            output_schema=_output_schema(body),
        )

    def whole(self, request: ModelRequest, reply: Reply) -> Json:  # noqa: ARG002 - the answer alone says all
        """A response that has ended."""
        return _ended(reply)

    def events(self, request: ModelRequest, reply: Reply) -> Iterator[bytes]:  # noqa: ARG002
        """The events of a response, numbered, in the order the service sends them."""
        for number, data in enumerate(_numberless(reply)):
            yield event(data | {"sequence_number": number}, data["type"])

    def stream_type(self, request: ModelRequest) -> str:  # noqa: ARG002
        """Server-sent events."""
        return EVENT_STREAM

    def refusal_event(self, failure: Failure, reply: Reply) -> bytes:
        """`response.failed`, the end of a response that broke down."""
        error = {"code": failure.code or failure.type, "message": failure.message}
        broken = _begun(reply) | {"status": "failed", "error": error}
        number = len(list(_numberless(reply))) // 2
        data = {"type": "response.failed", "response": broken, "sequence_number": number}
        return event(data, "response.failed")


def _input(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    if not isinstance(given, list):
        raise NotUnderstoodError("Missing required parameter: 'input'.")
    return mappings(given)


def _entry(item: Mapping[str, Any]) -> Entry:
    role = ROLES.get(str(item.get("role")), Role.OTHER)
    if item.get("type") in _SAID:
        return Entry(role=Role.MODEL, call_ids=(str(item.get("call_id")),))
    return Entry(role=role, texts=tuple(texts(item.get("content"))))


def _tools(offered: object) -> Iterator[Tool]:
    """Tools that the client runs itself."""
    for tool in mappings(offered):
        name, kind = str(tool.get("name", "")), tool.get("type")
        schema = tool.get("parameters")
        if kind == "function":
            yield Tool(name=name, schema=schema if isinstance(schema, Mapping) else {})
        elif kind == "custom":
            yield Tool(name=name, schema={}, kind=ToolKind.FREEFORM)
        elif kind == "local_shell":
            yield Tool(name="local_shell", schema={}, kind=ToolKind.LOCAL_SHELL)


def _session(post: Post) -> str:
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


def _numberless(reply: Reply) -> Iterator[Json]:
    yield {"type": "response.created", "response": _begun(reply)}
    yield {"type": "response.in_progress", "response": _begun(reply)}
    for index, item in enumerate(items(reply)):
        yield from item_events(index, item)
    ended = _ended(reply)
    yield {"type": f"response.{ended['status']}", "response": ended}


def _begun(reply: Reply) -> Json:
    return {
        "id": reply.id(Responses.id_prefix),
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
        "service_tier": "default",
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


def _ended(reply: Reply) -> Json:
    cut_short = reply.stop is Stop.LENGTH
    return _begun(reply) | {
        "status": "incomplete" if cut_short else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut_short else None,
        "completed_at": None if cut_short else reply.created,
        "output": list(items(reply)),
        "usage": _usage(reply),
    }


def _usage(reply: Reply) -> Json:
    tokens = reply.tokens
    return {
        "input_tokens": tokens.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": tokens.cache_read_tokens,
            "cache_write_tokens": tokens.cache_write_tokens,
        },
        "output_tokens": tokens.output_tokens,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning_tokens},
        "total_tokens": tokens.total_tokens,
    }
