"""The port of the gateway: metered access to models, a proxy to allowed hosts, and the model calls that passed."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from outweigh.model.bill import Charge
from outweigh.model.failure import Failure
from outweigh.model.usage import BilledUsage, Component, ComponentTokens, Usage
from outweigh.ports.sandboxes import ForwardedPort
from outweigh.transcript.atif import AtifStep


class Dialect(StrEnum):
    """The APIs of model providers."""

    ANTHROPIC_MESSAGES = "anthropic_messages"
    OPENAI_RESPONSES = "openai_responses"
    OPENAI_CHAT = "openai_chat"
    GEMINI = "gemini"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmMarker:
    """A text of an arm's set-up; a request that contains it shows that the agent loaded that part.

    `name` is unique among the markers of a run, such as "skill:testing" or "instructions".
    """

    name: str
    component: Component
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatedUsage:
    """The tokens of a request without a final count, at least, likely and at most; dollars where a price is known."""

    low: Usage
    likely: Usage
    high: Usage
    low_usd: float | None
    likely_usd: float | None
    high_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request and its response. `usage` is the provider's own count; parts that it did not send are None.

    `cost_usd` is what it cost, None where that is not known; `billed` is what the response states about its bill, and
    `charge` how that was priced. `tools` are the names of the tools offered, `deferred_tools` those that the model can
    only search for, and `hosted_uses` counts those that the provider ran itself. `fallback_models` are others that the
    request allows to answer. `provider` is the suite's name for who served it, and `host` where that is. `estimate` is
    there where `usage` is not complete and can be bounded.
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
    hosted_uses: Mapping[str, int] = field(default_factory=dict)
    fallback_models: tuple[str, ...] = ()
    provider: str | None = None
    host: str | None = None
    estimate: EstimatedUsage | None = None
    deferred_tools: tuple[str, ...] = ()
    billed: tuple[BilledUsage, ...] = ()
    charge: Charge | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredSteps:
    """A run as its requests and responses show it: `count` responses, and the tool calls in them.

    `tool_calls` is None where the model was offered no tools: then nothing says what the agent did.
    """

    count: int
    tool_calls: int | None
    steps: tuple[AtifStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredCalls:
    """All model calls of a run. `seen` are the names of the markers that were found in requests.

    `price_table` names the tables that priced the calls; None where none did. `bodies` are the request and response
    bodies as lines of JSON, where the suite asks for them. `unserved` are requests that the gateway does not support.
    With `is_plan` a subscription paid for them.
    `conversation` is None where no response was complete.
    """

    calls: tuple[ModelCall, ...]
    seen: frozenset[str]
    price_table: str | None
    bodies: bytes
    unserved: tuple[str, ...] = ()
    is_plan: bool = False
    conversation: MeteredSteps | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAccess:
    """How a program inside a sandbox reaches the model. The key is valid only for this run.

    `allow` is what the suite allows beyond the arm's own model, such as the provider's "web_search".
    """

    base_url: str
    key: str
    allow: tuple[str, ...] = ()


class RunStop(Protocol):
    """Ends a run early."""

    def stop(self) -> None:
        """End the agent's program. Called from the gateway's thread, and perhaps more than once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLimit:
    """After so many answers to requests that offer tools, a run is over: what it asks for then is refused.

    Sub-agents do not count. `stop` is called when the last of these answers calls a tool, and when more is asked for.
    """

    answers: int
    stop: RunStop


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterRequest:
    """The limits of a run, and the markers to look for in its requests.

    `models` are patterns of the models that it may ask, None for any. `allow` is what the suite allows beyond that:
    further models, and what a provider runs or fetches by itself, by name. `provider` is the one of the suite's own
    providers that serves the run, None for those under `[gateway]`.
    """

    label: str
    budget_usd: float | None
    tokens: int | None
    markers: tuple[ArmMarker, ...]
    keep_bodies: bool
    models: tuple[str, ...] | None = None
    allow: tuple[str, ...] = ()
    provider: str | None = None
    answer_limit: AnswerLimit | None = None


class Meter(Protocol):
    """One run's access to models, open as long as the run lasts."""

    @property
    def port(self) -> ForwardedPort:
        """The port that a sandbox forwards to the gateway."""

    @property
    def key(self) -> str:
        """The key that the agent sends instead of a real one; it identifies the run."""

    def account(self) -> MeteredCalls:
        """All calls so far."""

    def held_seconds(self) -> float:
        """For how long requests have waited so far because the suite limits the tokens of a minute."""


class Gateway(Protocol):
    """Forwards agents' requests to models: meters them, enforces limits, and keeps the real keys outside sandboxes."""

    def meter(self, request: MeterRequest) -> AbstractContextManager[Meter]:
        """Open access for one run; leaving the context ends it and aborts requests that are still running."""


class HostAccess(Protocol):
    """One run's access to the hosts that its suite allows."""

    def proxy_port(self) -> ForwardedPort:
        """The port of an HTTP proxy that connects only to those hosts."""

    def refused(self) -> tuple[str, ...]:
        """The other hosts that the run tried to reach so far, each with its port."""
