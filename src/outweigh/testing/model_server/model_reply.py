"""The model's answer, before it is encoded by a protocol."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from outweigh.testing.model_server.ledger import Tokens
from outweigh.testing.model_server.model_request import OfferedToolKind, turn_id
from outweigh.testing.model_server.model_script import BillingSpec

_CHUNK_CHARACTERS = 24


class StopReason(StrEnum):
    """Why the model stopped."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyToolCall:
    """One tool call. A free-form tool has its `input` as argument, a local shell its `command`."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    kind: OfferedToolKind = OfferedToolKind.FUNCTION


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A complete answer. `number` is its number in the ledger and makes its id unique; `created` is a Unix time.

    `tokens` are those that the counts of the answer include; `compaction` is billed beside them.
    """

    number: int
    step: int
    created: int
    model: str
    text: str
    thinking: str
    calls: tuple[ReplyToolCall, ...]
    stop: StopReason
    tokens: Tokens
    compaction: Tokens | None
    billing: BillingSpec

    @property
    def billed_tokens(self) -> Tokens:
        """All tokens that the answer costs."""
        return self.tokens if self.compaction is None else self.tokens + self.compaction

    def id(self, prefix: str) -> str:
        """The answer's id with a provider's prefix; like the id of a tool call it says which turn it belongs to."""
        return f"{prefix}{turn_id(f'{self.number:016d}', self.step, 0)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReply:
    """An error of the service, as one provider reports it."""

    status: int
    type: str
    message: str
    code: str | None = None
    retry_after_seconds: float | None = None


def split_stream(text: str) -> Iterator[str]:
    """Split a text into small parts as a stream does, so that clients have to join them."""
    for start in range(0, len(text), _CHUNK_CHARACTERS):
        yield text[start : start + _CHUNK_CHARACTERS]
