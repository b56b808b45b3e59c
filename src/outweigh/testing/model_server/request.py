"""A request to a model, whichever protocol it came in."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
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


class Role(StrEnum):
    """Who said something; tool results and everything else that is none of the others are `OTHER`."""

    SYSTEM = "system"
    USER = "user"
    MODEL = "model"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that the agent offers; the schema is that of its arguments."""

    name: str
    schema: Mapping[str, Any]
    kind: ToolKind = ToolKind.FUNCTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a history, with the ids of the calls that the model made in it."""

    role: Role
    texts: tuple[str, ...] = ()
    call_ids: tuple[str, ...] = ()


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
        named = (self.headers.get("x-api-key"), self.headers.get("x-goog-api-key"), self.query.get("key"), bearer)
        return next(filter(None, named), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What a script can decide by, and what an answer needs to know.

    `session` is whatever the agent says about which of its runs this is. `output_schema` is there where the answer has
    to be JSON. `wants_usage` and `as_events` are about how the answer is to be sent.
    """

    wire: Wire
    model: str
    stream: bool
    history: tuple[Entry, ...]
    tools: tuple[Tool, ...]
    session: str
    api_key: str | None
    output_schema: Mapping[str, Any] | None = None
    wants_usage: bool = True
    as_events: bool = True
