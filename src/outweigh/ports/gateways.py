"""The port of the gateway: a metered way to the model, a proxy to allowed hosts, and the model calls that were seen."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from outweigh.model.failure import Failure
from outweigh.model.usage import Component, ComponentTokens, Usage
from outweigh.ports.sandboxes import ForwardedPort


class Dialect(StrEnum):
    """The APIs that models speak."""

    ANTHROPIC_MESSAGES = "anthropic_messages"
    OPENAI_RESPONSES = "openai_responses"
    OPENAI_CHAT = "openai_chat"
    GEMINI = "gemini"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmMarker:
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
class MeteredCalls:
    """Everything a run asked of models. `seen` are the names of the markers that were found in what was sent.

    `price_table` names the tables that priced the calls; None where none did. `bodies` are the texts of requests and
    answers, as lines of JSON, where the suite asks for them. `unserved` is what was asked for and cannot be had.
    """

    calls: tuple[ModelCall, ...]
    seen: frozenset[str]
    price_table: str | None
    bodies: bytes
    unserved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAccess:
    """How a program inside a sandbox reaches the model. The key is worth nothing anywhere else."""

    base_url: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterRequest:
    """What a run may take from models, and what to look for in what it sends."""

    label: str
    budget_usd: float | None
    tokens: int | None
    markers: tuple[ArmMarker, ...]
    keep_bodies: bool


class Meter(Protocol):
    """One run's way to the model, open as long as the run lasts."""

    @property
    def door(self) -> ForwardedPort:
        """The door that a sandbox opens to it."""

    @property
    def key(self) -> str:
        """What the agent must send instead of a real key; it tells the runs apart."""

    def account(self) -> MeteredCalls:
        """Everything that passed so far."""


class Gateway(Protocol):
    """Stands between agents and models: meters, keeps the keys, holds the caps."""

    def meter(self, request: MeterRequest) -> AbstractContextManager[Meter]:
        """Open the way for one run; leaving the context closes it, also for what is still under way."""


class HostAccess(Protocol):
    """One run's way to the hosts that its suite allows."""

    def door(self) -> ForwardedPort:
        """The door to an HTTP proxy that connects to them alone."""

    def refused(self) -> tuple[str, ...]:
        """Which others were asked for so far, with their ports."""
