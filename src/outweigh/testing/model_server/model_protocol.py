"""The interface of a provider's protocol, and what all of them share: reading texts, writing server-sent events."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import msgspec

from outweigh.testing.model_server.model_reply import ErrorReply, ModelReply
from outweigh.testing.model_server.model_request import (
    HistoryEntry,
    HistoryRole,
    HttpPost,
    Json,
    ModelRequest,
    WireProtocol,
)

EVENT_STREAM_TYPE = "text/event-stream; charset=utf-8"


class MalformedRequestError(Exception):
    """A request that the real service would answer with 400, and why."""


class ModelProtocol(Protocol):
    """One provider's protocol."""

    name: WireProtocol
    id_prefix: str

    def read(self, post: HttpPost) -> ModelRequest:
        """The request, or NotUnderstoodError."""

    def whole(self, request: ModelRequest, reply: ModelReply) -> Json:
        """The answer to a request that does not stream."""

    def events(self, request: ModelRequest, reply: ModelReply) -> Iterator[bytes]:
        """The answer as the events of a stream, each ready to be sent."""

    def stream_type(self, request: ModelRequest) -> str:
        """The content type of such a stream."""

    def error_body(self, failure: ErrorReply, number: int) -> Json:
        """The body of a refusal."""

    def error_headers(self, failure: ErrorReply, now: float) -> dict[str, str]:
        """Its headers; `now` is a Unix time."""

    def error_event(self, failure: ErrorReply, reply: ModelReply) -> bytes:
        """A refusal in the middle of a stream."""


def encode_event(data: Json, name: str | None = None) -> bytes:
    """One server-sent event."""
    head = b"" if name is None else f"event: {name}\n".encode()
    return head + b"data: " + msgspec.json.encode(data) + b"\n\n"


def content_texts(content: object) -> Iterator[str]:
    """All texts in a message's content: a plain string, or parts of many kinds, nested as tool results are."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            yield from content_texts(part)
    elif isinstance(content, Mapping):
        for key in ("text", "refusal", "content", "parts"):
            yield from content_texts(content.get(key))


def system_entry(content: object) -> HistoryEntry:
    """The system prompt, for protocols that keep it apart."""
    return HistoryEntry(role=HistoryRole.SYSTEM, texts=tuple(content_texts(content)))


def required_text(body: Mapping[str, Any], key: str) -> str:
    """A field that every request has."""
    value = body.get(key)
    if not isinstance(value, str) or not value:
        raise MalformedRequestError(f"{key}: Field required")
    return value


def required_list(body: Mapping[str, Any], key: str) -> list[Any]:
    """A list of objects that every request has."""
    value = body.get(key)
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise MalformedRequestError(f"{key}: Input should be a valid list")
    return value


def only_mappings(value: object) -> list[Mapping[str, Any]]:
    """The objects in an optional list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
