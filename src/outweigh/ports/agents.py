"""The port of agents: how one is asked to attempt a trial, and what it returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from outweigh.model.arm import Arm
from outweigh.model.failure import Failure
from outweigh.model.run_record import AgentIdentity, AlignedAction, ObservedSetup, Status, Step, Trial
from outweigh.model.task import Task
from outweigh.model.usage import ComponentTokens, Cost, Usage
from outweigh.ports.gateways import ModelAccess
from outweigh.ports.sandboxes import Sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRequest:
    """What an agent is asked: the trial, the task's words, the arm, and its limits.

    `model_access` is None where the agent goes to its model directly, with what it has itself.
    """

    trial: Trial
    task: Task
    arm: Arm
    timeout_seconds: float
    budget_usd: float | None
    environment: Mapping[str, str]
    model_access: ModelAccess | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOutcome:
    """What the agent did, before anything is checked. What it does not say is None, never 0.

    `failure` says more about a status than a word can, where the agent's kind of failure is known.
    `retry_after_seconds` asks for a pause of the whole account; `artifacts` are kept beside the record by name.
    `request_count` is how many requests to a model its own figures cover; `loaded` is what it says it had at hand.
    """

    status: Status
    status_detail: str | None
    agent: AgentIdentity
    duration_seconds: float | None
    usage: Usage
    cost: Cost
    step_count: int | None
    tool_call_count: int | None
    steps: tuple[Step, ...] | None
    components: tuple[ComponentTokens, ...] | None
    actions: tuple[AlignedAction, ...] | None
    reached_steps: frozenset[str] | None
    failure: Failure | None
    retry_after_seconds: float | None
    request_count: int | None
    loaded: ObservedSetup | None
    warnings: tuple[str, ...]
    artifacts: Mapping[str, bytes]


class Agent(Protocol):
    """Attempts a trial inside a sandbox. A failed attempt is an outcome with a status, never an exception."""

    @property
    def name(self) -> str:
        """The name a suite uses."""

    def missing(self, arm: Arm) -> str | None:
        """What is missing for this arm to run here, with the way out; None when nothing is."""

    def uses_model(self, arm: Arm) -> bool:
        """Whether it sends requests to a model, which then go through the gateway."""

    def read_only(self, arm: Arm) -> tuple[str, ...]:
        """Folders of the host that it is installed in and must see from inside, as they are called outside."""

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        """Work on the task until done, out of time or out of money."""
