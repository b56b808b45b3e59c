"""One small protocol per kind of adapter: the page an adapter author reads."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from threading import Event
from typing import Protocol

from outweigh.record.codec import Located, OnInvalid
from outweigh.record.components import ComponentTokens
from outweigh.record.cost import Cost
from outweigh.record.pricing import PriceTable
from outweigh.record.run_record import AgentIdentity, RunRecord
from outweigh.record.status import Status
from outweigh.record.trajectory import AlignedAction, Step
from outweigh.record.trial import Trial
from outweigh.record.usage import Usage
from outweigh.report.document import Report
from outweigh.task.arm import Arm
from outweigh.task.task import Task

__all__ = [
    "Agent",
    "AttemptOutcome",
    "AttemptRequest",
    "Completed",
    "Ending",
    "PriceTable",
    "Reporter",
    "RunStore",
    "Sandbox",
    "SandboxError",
    "SandboxProvider",
    "SandboxRequest",
    "Store",
    "Workspaces",
]


class Store(Protocol):
    """Where records are read from."""

    def records(self, on_invalid: OnInvalid) -> Iterator[Located]:
        """Read every run and judgment; what cannot be read goes to `on_invalid`."""


class RunStore(Protocol):
    """Where an engine keeps its evidence: nothing acknowledged is ever lost."""

    def begin(self, run_id: str, trial: Trial, attempt: int) -> None:
        """Write down, durably, that an attempt is about to start."""

    def append(self, record: RunRecord) -> None:
        """Keep a finished run; when this returns, the record survives a power cut."""

    def keep(self, content: bytes) -> str:
        """Keep an artifact and return the hash it is found by."""

    def finished(self) -> Mapping[tuple[str, str, int], Sequence[RunRecord]]:
        """All records so far, by (task, arm, repeat), in order of attempts."""


class Reporter(Protocol):
    """Turns an answer into text."""

    def render(self, report: Report) -> str:
        """The whole output, ending in a line feed."""


class Ending(StrEnum):
    """How a command came to its end."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """What a command left behind. Output is kept up to a limit; `truncated` says that there was more."""

    ending: Ending
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    truncated: bool
    duration_seconds: float


class SandboxError(Exception):
    """The sandbox itself failed, not the command in it; the run is an infrastructure failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRequest:
    """What a sandbox is made of. `workspace` and `home` are folders of the host, laid out and private to this trial.

    `label` names the trial, so that what a killed engine left behind can be found. `cancel` ends everything at once.
    """

    workspace: Path
    home: Path
    label: str
    read_only: tuple[str, ...]
    model_socket: Path | None
    allow_hosts: tuple[str, ...]
    image: str | None
    memory_mb: int | None
    processes: int | None
    cancel: Event


class Sandbox(Protocol):
    """A closed room with a workspace. When it is left, nothing that was started in it is alive."""

    @property
    def workspace(self) -> str:
        """The working folder as seen from inside."""

    @property
    def host_workspace(self) -> Path:
        """The same folder as seen from outside."""

    def exec(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        stdin: bytes = b"",
    ) -> Completed:
        """Run a command in the workspace with this environment and no other; a timeout ends its whole tree."""

    def read(self, path: str, limit: int) -> bytes | None:
        """A file of the workspace, at most so many bytes; None when there is none. A path that leads out is refused."""

    def write(self, path: str, content: bytes, *, executable: bool = False) -> None:
        """Put a file into the workspace. A path that leads out is refused."""


class SandboxProvider(Protocol):
    """Opens sandboxes of one kind."""

    @property
    def name(self) -> str:
        """The kind, as a suite names it."""

    def missing(self) -> str | None:
        """What is missing for it to work here, with the way out; None when it works."""

    def open(self, request: SandboxRequest) -> AbstractContextManager[Sandbox]:
        """Start one; leaving the context ends it and everything in it."""

    def sweep(self, label_prefix: str) -> list[str]:
        """End and remove whatever sandboxes with such labels a killed engine left behind; says what it found."""


class Workspaces(Protocol):
    """Workspaces of tasks: prepared once, laid out fresh for every trial."""

    def prepare(self, task: Task) -> Path:
        """The pristine workspace of a task, made on first use."""

    def lay(self, pristine: Path, target: Path) -> AbstractContextManager[Path]:
        """A private, writable copy of it; leaving the context removes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRequest:
    """What an agent is asked: the trial, the task's words, the arm, and its limits."""

    trial: Trial
    task: Task
    arm: Arm
    timeout_seconds: float
    budget_usd: float | None
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOutcome:
    """What the agent did, before anything is checked. What it does not say is None, never 0.

    `retry_after_seconds` asks for a pause of the whole account; `artifacts` are kept beside the record by name.
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
    reached_steps: frozenset[str]
    retry_after_seconds: float | None
    artifacts: Mapping[str, bytes]


class Agent(Protocol):
    """Attempts a trial inside a sandbox. A failed attempt is an outcome with a status, never an exception."""

    @property
    def name(self) -> str:
        """The name a suite uses."""

    def missing(self, arm: Arm) -> str | None:
        """What is missing for this arm to run here, with the way out; None when nothing is."""

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        """Work on the task until done, out of time or out of money."""
