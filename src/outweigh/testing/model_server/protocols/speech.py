"""What every protocol can do, and what they share: reading texts, writing server-sent events."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import msgspec

from outweigh.testing.model_server.reply import Failure, Reply
from outweigh.testing.model_server.request import Entry, Json, ModelRequest, Post, Role, Wire

EVENT_STREAM = "text/event-stream; charset=utf-8"


class NotUnderstoodError(Exception):
    """A request that the real service would answer with 400, and why."""


class Speech(Protocol):
    """One provider's protocol."""

    wire: Wire
    id_prefix: str

    def read(self, post: Post) -> ModelRequest:
        """The request, or NotUnderstoodError."""

    def whole(self, request: ModelRequest, reply: Reply) -> Json:
        """The answer to a request that does not stream."""

    def events(self, request: ModelRequest, reply: Reply) -> Iterator[bytes]:
        """The answer as the events of a stream, each ready to be sent."""

    def stream_type(self, request: ModelRequest) -> str:
        """The content type of such a stream."""

    def refusal(self, failure: Failure, number: int) -> Json:
        """The body of a refusal."""

    def refusal_headers(self, failure: Failure, now: float) -> dict[str, str]:
        """Its headers; `now` is a Unix time."""

    def refusal_event(self, failure: Failure, reply: Reply) -> bytes:
        """A refusal in the middle of a stream."""


def event(data: Json, name: str | None = None) -> bytes:
    """One server-sent event."""
    head = b"" if name is None else f"event: {name}\n".encode()
    return head + b"data: " + msgspec.json.encode(data) + b"\n\n"


def texts(content: object) -> Iterator[str]:
    """All texts in a message's content: a plain string, or parts of many kinds, nested as tool results are."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            yield from texts(part)
    elif isinstance(content, Mapping):
        for key in ("text", "refusal", "content", "parts"):
            yield from texts(content.get(key))


def system_entry(content: object) -> Entry:
    """The system prompt, for protocols that keep it apart."""
    return Entry(role=Role.SYSTEM, texts=tuple(texts(content)))


def required_text(body: Mapping[str, Any], key: str) -> str:
    """A field that every request has."""
    value = body.get(key)
    if not isinstance(value, str) or not value:
        raise NotUnderstoodError(f"{key}: Field required")
    return value


def required_list(body: Mapping[str, Any], key: str) -> list[Any]:
    """A list of objects that every request has."""
    value = body.get(key)
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise NotUnderstoodError(f"{key}: Input should be a valid list")
    return value


def mappings(value: object) -> list[Mapping[str, Any]]:
    """The objects in an optional list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
