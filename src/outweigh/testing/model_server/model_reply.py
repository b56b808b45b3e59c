"""What the model answers, before it is put into the format of a protocol."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from outweigh.testing.model_server.ledger import Tokens
from outweigh.testing.model_server.model_request import OfferedToolKind, turn_id

_CHUNK_CHARACTERS = 24


class StopReason(StrEnum):
    """Why the model stopped."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyToolCall:
    """One call of a tool. The arguments of a free-form tool are its `input`, those of a local shell its `command`."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    kind: OfferedToolKind = OfferedToolKind.FUNCTION


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A whole answer. `number` is its place in the ledger and makes its id unique; `created` is a Unix time."""

    number: int
    step: int
    created: int
    model: str
    text: str
    thinking: str
    calls: tuple[ReplyToolCall, ...]
    stop: StopReason
    tokens: Tokens

    def id(self, prefix: str) -> str:
        """The answer's id, in the style of a provider; it says which turn it is, as a call's does."""
        return f"{prefix}{turn_id(f'{self.number:016d}', self.step, 0)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReply:
    """A refusal of the service, in the words of one provider."""

    status: int
    type: str
    message: str
    code: str | None = None
    retry_after_seconds: float | None = None


def split_stream(text: str) -> Iterator[str]:
    """A text in the small parts that a stream delivers, so that clients have to put them together."""
    for start in range(0, len(text), _CHUNK_CHARACTERS):
        yield text[start : start + _CHUNK_CHARACTERS]
