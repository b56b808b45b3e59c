"""A request to a model, whichever protocol it came in."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any

Json = dict[str, Any]


class Wire(StrEnum):
    """The protocols, by the names that scripts use."""

    ANTHROPIC = "anthropic"
    CHAT = "chat"
    RESPONSES = "responses"
    GEMINI = "gemini"


class ToolKind(StrEnum):
    """How a tool is called: with arguments by a schema, with one free text, or as a shell that the provider defines."""

    FUNCTION = "function"
    FREEFORM = "freeform"
    LOCAL_SHELL = "local_shell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that the agent offers; the schema is that of its arguments."""

    name: str
    schema: Mapping[str, Any]
    kind: ToolKind = ToolKind.FUNCTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What came over HTTP; header names are in lower case."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def api_key(self) -> str | None:
        """The key, wherever this provider's clients put it."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ").strip()
        return (
            self.headers.get("x-api-key")
            or self.headers.get("x-goog-api-key")
            or self.query.get("key")
            or bearer
            or None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What a script can decide by, and what an answer needs to know.

    `prompt` is everything before the model's first word, `opening` the user's part of it. `step` counts the model's
    turns so far. `session` is whatever the agent says about which of its runs this is. `wants_usage` and `as_events`
    are about how the answer is to be sent.
    """

    wire: Wire
    model: str
    stream: bool
    prompt: str
    opening: str
    step: int
    tools: tuple[Tool, ...]
    session: str
    api_key: str | None
    output_schema: Mapping[str, Any] | None = None
    wants_usage: bool = True
    as_events: bool = True

    @property
    def conversation(self) -> str:
        """The same for all requests of one conversation: who asks, in which of his runs, and how it began.

        The system prompt is left out, because some agents change a line of it with every request.
        """
        parts = "\0".join((self.wire, self.api_key or "", self.session, self.opening))
        return sha256(parts.encode(errors="surrogatepass")).hexdigest()[:12]
