"""The interface of a provider's protocol, and what all of them share: reading texts and writing server-sent events."""

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
    """A request that the real service would answer with status 400, and why."""


class ModelProtocol(Protocol):
    """One provider's protocol."""

    name: WireProtocol
    id_prefix: str

    def read(self, post: HttpPost) -> ModelRequest:
        """Read a request; raise MalformedRequestError if it lacks a required field."""

    def whole(self, request: ModelRequest, reply: ModelReply) -> Json:
        """The response to a request that does not stream."""

    def events(self, request: ModelRequest, reply: ModelReply) -> Iterator[bytes]:
        """The response as the encoded events of a stream."""

    def stream_type(self, request: ModelRequest) -> str:
        """The content type of a stream."""

    def error_body(self, failure: ErrorReply, number: int) -> Json:
        """The body of an error response."""

    def error_headers(self, failure: ErrorReply, now: float) -> dict[str, str]:
        """The headers of an error response; `now` is a Unix time."""

    def error_event(self, failure: ErrorReply, reply: ModelReply) -> bytes:
        """An error in the middle of a stream."""


def encode_event(data: Json, name: str | None = None) -> bytes:
    """Encode one server-sent event."""
    head = b"" if name is None else f"event: {name}\n".encode()
    return head + b"data: " + msgspec.json.encode(data) + b"\n\n"


def content_texts(content: object) -> Iterator[str]:
    """All texts in a message's content, which is a string or nested parts of several kinds."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            yield from content_texts(part)
    elif isinstance(content, Mapping):
        for key in ("text", "refusal", "content", "parts"):
            yield from content_texts(content.get(key))


def system_entry(content: object) -> HistoryEntry:
    """The system prompt as a history entry, for protocols that send it apart from the messages."""
    return HistoryEntry(role=HistoryRole.SYSTEM, texts=tuple(content_texts(content)))


def required_text(body: Mapping[str, Any], key: str) -> str:
    """A required text field of a request."""
    value = body.get(key)
    if not isinstance(value, str) or not value:
        raise MalformedRequestError(f"{key}: Field required")
    return value


def required_list(body: Mapping[str, Any], key: str) -> list[Any]:
    """A required list of objects of a request."""
    value = body.get(key)
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise MalformedRequestError(f"{key}: Input should be a valid list")
    return value


def only_mappings(value: object) -> list[Mapping[str, Any]]:
    """The objects in an optional list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
