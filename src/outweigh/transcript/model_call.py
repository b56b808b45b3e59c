"""What passed between an agent and a model, request by request, as seen from the middle."""

from dataclasses import dataclass
from enum import StrEnum

from outweigh.record.components import Component, ComponentTokens
from outweigh.record.usage import Usage
from outweigh.transcript.failure import Failure


class Dialect(StrEnum):
    """The APIs that models speak."""

    ANTHROPIC_MESSAGES = "anthropic_messages"
    OPENAI_RESPONSES = "openai_responses"
    OPENAI_CHAT = "openai_chat"
    GEMINI = "gemini"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """A text that gives a part of an arm's set-up away when it is seen in a request.

    `name` is unique among the markers of a run, such as "skill:testing" or "instructions".
    """

    name: str
    component: Component
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request and its answer. `usage` is the provider's own; its parts are None where the answer broke off before.

    `cost_usd` is the usage at list prices, None where no price is known. `tools` are the names of the tools offered.
    """

    dialect: Dialect
    requested_model: str | None
    model: str | None
    usage: Usage
    reasoning_tokens: int | None
    cost_usd: float | None
    http_status: int | None
    failure: Failure | None
    started_at_seconds: float
    time_to_first_token_seconds: float | None
    duration_seconds: float
    components: tuple[ComponentTokens, ...]
    tools: tuple[str, ...]
    is_sub_agent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Everything a run asked of models. `seen` are the names of the markers that were found in what was sent.

    `price_table` names the tables that priced the calls; None where none did. `bodies` are the texts of requests and
    answers, as lines of JSON, where the suite asks for them. `unserved` is what was asked for and cannot be had.
    """

    calls: tuple[ModelCall, ...]
    seen: frozenset[str]
    price_table: str | None
    bodies: bytes
    unserved: tuple[str, ...] = ()
