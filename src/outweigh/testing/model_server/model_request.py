"""A request to a model, independent of protocol, and its position in its conversation, found from the history it
carries.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any

Json = dict[str, Any]


class WireProtocol(StrEnum):
    """The protocols, by the names that scripts use."""

    ANTHROPIC = "anthropic"
    CHAT = "chat"
    RESPONSES = "responses"
    GEMINI = "gemini"


class OfferedToolKind(StrEnum):
    """How a tool is called: with arguments by a schema, with one free text, or as a shell that the provider defines."""

    FUNCTION = "function"
    FREEFORM = "freeform"
    LOCAL_SHELL = "local_shell"


class HistoryRole(StrEnum):
    """Who wrote an entry; tool results and everything else are `OTHER`."""

    SYSTEM = "system"
    USER = "user"
    MODEL = "model"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    """A tool that the agent offers, with the schema of its arguments."""

    name: str
    schema: Mapping[str, Any]
    kind: OfferedToolKind = OfferedToolKind.FUNCTION


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One entry of a history, with the ids of the tool calls that the model made in it."""

    role: HistoryRole
    texts: tuple[str, ...] = ()
    call_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPost:
    """A request as it came over HTTP; header names are in lower case."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def api_key(self) -> str | None:
        """The API key, wherever the clients of this provider put it."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ").strip()
        named = (self.headers.get("x-api-key"), self.headers.get("x-goog-api-key"), self.query.get("key"), bearer)
        return next(filter(None, named), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request as scripts and answers need it.

    `session` is what the agent says about which of its runs this is. `output_schema` is set if the answer has to be
    JSON. `wants_usage` and `as_events` say how the answer is to be sent.
    """

    protocol: WireProtocol
    model: str
    stream: bool
    history: tuple[HistoryEntry, ...]
    tools: tuple[OfferedTool, ...]
    session: str
    api_key: str | None
    output_schema: Mapping[str, Any] | None = None
    wants_usage: bool = True
    as_events: bool = True


_OWN_ID = re.compile(r"_ow(\d+)x(\d+)$")
# Notes, such as the time of day, that an agent attaches to the newest message only.
_MOVING_NOTE = re.compile(r"<info-msg>.*?</info-msg>\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPosition:
    """The position of a request: after how many turns of which conversation.

    `prompt` is everything before the model's first answer. `conversation` is the same for all requests of one
    conversation: a hash of the API key, of what the agent says about its session, and of the user's part of the prompt.
    The system prompt is left out, because some agents change a line of it with every request.
    """

    step: int
    prompt: str
    conversation: str


def turn_id(stem: str, step: int, index: int) -> str:
    """An id that says which turn it comes from; each protocol adds its own prefix."""
    return f"{stem}_ow{step}x{index}"


def find_position(request: ModelRequest, said: Collection[str]) -> ConversationPosition:
    """Count the turns that this server has answered in a history; `said` are the texts it may have sent.

    Answers that the agent made up do not count. Consecutive entries of the model are one turn, because protocols and
    agents split an answer differently. The id of a tool call says which turn it was, even if the agent has dropped or
    reordered entries.
    """
    step, within_turn = 0, False
    before: list[HistoryEntry] = []
    for entry in request.history:
        made = [int(found[1]) + 1 for call in entry.call_ids if (found := _OWN_ID.search(call))]
        is_own = entry.role is HistoryRole.MODEL and any(text.strip() in said for text in entry.texts)
        if made:
            step = max(made)
        elif is_own and not within_turn:
            step += 1
        elif step == 0:
            before.append(entry)
        within_turn = entry.role is HistoryRole.MODEL and (bool(made) or is_own or within_turn)
    return ConversationPosition(step=step, prompt=_joined_texts(before), conversation=_conversation(request, before))


def _conversation(request: ModelRequest, before: Sequence[HistoryEntry]) -> str:
    opening = _MOVING_NOTE.sub("", _joined_texts([entry for entry in before if entry.role is HistoryRole.USER]))
    parts = "\0".join((request.protocol, request.api_key or "", request.session, opening))
    return sha256(parts.encode(errors="surrogatepass")).hexdigest()[:12]


def _joined_texts(entries: Sequence[HistoryEntry]) -> str:
    return "\n".join(text for entry in entries for text in entry.texts)
