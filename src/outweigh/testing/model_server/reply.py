"""What the model answers, before it is put into a protocol's shape."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from outweigh.testing.model_server.position import turn_id
from outweigh.testing.model_server.request import ToolKind
from outweigh.testing.model_server.tokens import Tokens

_PIECE = 24


class Stop(StrEnum):
    """Why the model stopped."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool. The arguments of a free-form tool are its `input`, those of a local shell its `command`."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    kind: ToolKind = ToolKind.FUNCTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A whole answer. `number` is its place in the ledger and makes its id unique; `created` is a Unix time."""

    number: int
    step: int
    created: int
    model: str
    text: str
    thinking: str
    calls: tuple[ToolCall, ...]
    stop: Stop
    tokens: Tokens

    def id(self, prefix: str) -> str:
        """The answer's id, in the style of a provider; it says which turn it is, as a call's does."""
        return f"{prefix}{turn_id(f'{self.number:016d}', self.step, 0)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A refusal of the service, in the words of one provider."""

    status: int
    type: str
    message: str
    code: str | None = None
    retry_after_seconds: float | None = None


def pieces(text: str) -> Iterator[str]:
    """A text in the small parts that a stream delivers, so that clients have to put them together."""
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]
