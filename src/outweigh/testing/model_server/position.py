"""Where in its conversation a request stands, from the history that it carries."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256

from outweigh.testing.model_server.request import Entry, ModelRequest, Role

_OWN_ID = re.compile(r"_ow(\d+)x(\d+)$")
# Notes that an agent moves along with the newest message, the time of day among them.
_MOVING_NOTE = re.compile(r"<info-msg>.*?</info-msg>\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a request stands: after how many turns, of which conversation.

    `prompt` is everything before the model's first word. `conversation` is the same for all requests of one
    conversation: it is made of the key, of what the agent says about its session, and of the user's part of the
    prompt. The system prompt plays no part, because some agents change a line of it with every request.
    """

    step: int
    prompt: str
    conversation: str


def turn_id(stem: str, step: int, index: int) -> str:
    """An id that says which turn it comes from; each protocol puts its own prefix before it."""
    return f"{stem}_ow{step}x{index}"


def place_of(request: ModelRequest, said: Collection[str]) -> Place:
    """Count the turns that this server has had; `said` are the texts that it may have said.

    Words that an agent put into the model's mouth do not count. Neighbouring entries of the model are one turn,
    because protocols and agents differ in how they cut an answer up. A call knows its turn by its id, which stays right
    where an agent has dropped or reordered the past.
    """
    step, within_turn = 0, False
    before: list[Entry] = []
    for entry in request.history:
        made = [int(found[1]) + 1 for call in entry.call_ids if (found := _OWN_ID.search(call))]
        is_own = entry.role is Role.MODEL and any(text.strip() in said for text in entry.texts)
        if made:
            step = max(made)
        elif is_own and not within_turn:
            step += 1
        elif step == 0:
            before.append(entry)
        within_turn = entry.role is Role.MODEL and (bool(made) or is_own or within_turn)
    return Place(step=step, prompt=_words(before), conversation=_conversation(request, before))


def _conversation(request: ModelRequest, before: Sequence[Entry]) -> str:
    opening = _MOVING_NOTE.sub("", _words([entry for entry in before if entry.role is Role.USER]))
    parts = "\0".join((request.wire, request.api_key or "", request.session, opening))
    return sha256(parts.encode(errors="surrogatepass")).hexdigest()[:12]


def _words(entries: Sequence[Entry]) -> str:
    return "\n".join(text for entry in entries for text in entry.texts)
