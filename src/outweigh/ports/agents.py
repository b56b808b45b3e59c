"""The port of agents: how one is asked to attempt a trial, and what it returns."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypedDict, Unpack, runtime_checkable

from outweigh.model.agent_files import AgentFileLocations, file_locations_of
from outweigh.model.arm import Arm
from outweigh.model.failure import Failure, Status
from outweigh.model.run_record import AgentIdentity, AlignedAction, ObservedSetup, Step, Trial
from outweigh.model.task import Task
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST, ComponentTokens, Cost, Usage
from outweigh.ports.gateways import ModelAccess
from outweigh.ports.sandboxes import Sandbox


class UserReplies(Protocol):
    """The user's side of a task with several turns."""

    def next_message(self, answer: str | None) -> str | None:
        """What the user says to the agent's answer, None being unknown; None where there is nothing more to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRequest:
    """One attempt that an agent is to make: the trial, the task, the arm, and its limits.

    `environment` is what the suite lets the agent see. `model_access` is None where the agent reaches its model
    directly, with its own credentials. `replies` says what follows the instruction, None where nothing does.
    """

    trial: Trial
    task: Task
    arm: Arm
    timeout_seconds: float
    budget_usd: float | None
    environment: Mapping[str, str]
    model_access: ModelAccess | None
    replies: UserReplies | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStart:
    """How a tool server of the arm started, as recorded beside it inside the sandbox.

    `is_recorded` is False where nothing in the sandbox could record it. `has_answered` says that it answered the
    agent's first request, and `tools` are those that it then listed, None where it listed none. `fault` says what went
    wrong, as the end of a sentence about the server.
    """

    is_recorded: bool
    was_started: bool
    has_answered: bool
    tools: tuple[str, ...] | None
    fault: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEvidence:
    """What an adapter knows about the tool servers of its arm.

    `starts` has those that are started inside the sandbox, by name. `tool_forms` are the ways in which the agent names
    a server's tools to its model, such as `mcp__{server}__{tool}`; None where they are not known. `own_tools` are
    tools of the agent itself whose names look like that.
    """

    starts: Mapping[str, ServerStart]
    tool_forms: tuple[str, ...] | None
    own_tools: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOutcome:
    """What the agent did, before anything is checked. A value that the agent does not report is None, never 0.

    `failure` explains the status where the kind of failure is known. `retry_after_seconds` asks the engine to pause
    all runs of the account. `request_count` is how many requests to a model `usage` and `cost` cover. `loaded` is the
    set-up that the agent reports it had available. `artifacts` are stored next to the record, by name. `servers` is
    what the adapter knows about tool servers, None where it records nothing about them.
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
    servers: ServerEvidence | None = None


class KnownFields(TypedDict, total=False):
    """The fields of an AttemptOutcome that an agent may leave out because it does not know them."""

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
    servers: ServerEvidence | None


def build_outcome(
    agent: AgentIdentity,
    status: Status = Status.COMPLETED,
    detail: str | None = None,
    **known: Unpack[KnownFields],
) -> AttemptOutcome:
    """An outcome with the given fields; all others are unknown."""
    unknown = AttemptOutcome(
        status=status,
        status_detail=detail,
        agent=agent,
        duration_seconds=None,
        usage=NO_USAGE,
        cost=UNKNOWN_COST,
        step_count=None,
        tool_call_count=None,
        steps=None,
        components=None,
        actions=None,
        reached_steps=None,
        failure=None,
        retry_after_seconds=None,
        request_count=None,
        loaded=None,
        warnings=(),
        artifacts={},
    )
    return replace(unknown, **known)


class Agent(Protocol):
    """Attempts a trial inside a sandbox. A failed attempt is an outcome with a status, not an exception."""

    @property
    def name(self) -> str:
        """The name that a suite uses."""

    def missing(self, arm: Arm) -> str | None:
        """What must be installed or set for this arm to run on this machine; None when it can run."""

    def uses_model(self, arm: Arm) -> bool:
        """Whether it sends requests to a model, which then go through the gateway."""

    def read_only(self, arm: Arm) -> tuple[str, ...]:
        """Folders of the host that the agent needs inside the sandbox, such as its own installation."""

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        """Work on the task until it is done, or until time or budget runs out."""


@runtime_checkable
class NamesModels(Protocol):
    """An agent that asks for other models than its arm names; one that does not need not say so."""

    def other_models(self, arm: Arm) -> tuple[str, ...]:
        """Patterns of these models, such as those for titles and summaries."""


@runtime_checkable
class ResolvesModels(Protocol):
    """An agent with names of its own for models; one that sends its arm's model as it is need not say so."""

    def resolved_models(self, arm: Arm) -> tuple[str, ...]:
        """Patterns of the models that the arm's model stands for; none where it is a model's own name."""


@runtime_checkable
class NeedsSystemPaths(Protocol):
    """An agent whose program may be installed below /usr of the host; one that does not need it need not say so."""

    def system_paths(self, arm: Arm) -> tuple[str, ...]:
        """The paths below /usr that it needs in the image of a task, which has a system of its own."""


SOLUTION_MOUNT = "/solution"
"""Where the solution is in Harbor, and here in a task's own image, for whom it is shown to."""


@runtime_checkable
class RunsSolution(Protocol):
    """An agent that runs the task's own solution instead of working."""

    runs_solution: bool


@runtime_checkable
class HoldsConversations(Protocol):
    """An agent for tasks with several turns: it asks the request's `replies` after each of its answers."""

    def holds_conversations(self, arm: Arm) -> bool:
        """Whether it can go on in the same session with this arm."""


@runtime_checkable
class NamesHosts(Protocol):
    """An agent that knows where its model is; one that does not need not say so."""

    def hosts(self, arm: Arm) -> tuple[str, ...]:
        """The hosts that it must reach where it asks its model directly, as entries of `allow_hosts`."""


@runtime_checkable
class PlacesFiles(Protocol):
    """An agent that outweigh does not know and that reads its files at places of its own."""

    @property
    def file_locations(self) -> AgentFileLocations:
        """Where it reads skills, instructions and other files, to which those of an arm are copied."""


def agent_file_locations(name: str, agent: object) -> AgentFileLocations:
    """Where an agent reads its files: by what its adapter says, else by its name."""
    return agent.file_locations if isinstance(agent, PlacesFiles) else file_locations_of(name)
