"""The port of sandboxes: where agents and checks run, isolated from the host."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from socket import socket
from threading import Event
from typing import Protocol


class CommandEnding(StrEnum):
    """How a command came to its end."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedCommand:
    """What a command left behind. Output is kept up to a limit; `truncated` says that there was more."""

    ending: CommandEnding
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    truncated: bool
    duration_seconds: float


class SandboxError(Exception):
    """The sandbox itself failed, not the command in it; the run is an infrastructure failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardedPort:
    """A way out of a sandbox: a port on its own loopback, behind which somebody outside answers.

    The sandbox listens where programs inside can connect, and nobody else, and hands the socket to `serve`, which
    answers on it until the context is left. Only what has a door can be reached.
    """

    name: str
    serve: Callable[[socket], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRequest:
    """What a sandbox is made of. `workspace` and `home` are folders of the host, laid out and private to this trial.

    `label` names the trial, so that what a killed engine left behind can be found. `cancel` ends everything at once.
    """

    workspace: Path
    home: Path
    label: str
    read_only: tuple[str, ...]
    doors: tuple[ForwardedPort, ...]
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

    @property
    def home(self) -> str:
        """The private home folder as seen from inside; it lasts as long as the sandbox."""

    @property
    def host_home(self) -> Path:
        """The same folder as seen from outside."""

    def port(self, door: str) -> int:
        """Where on 127.0.0.1 a program inside reaches what is behind this door."""

    def exec(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        stdin: bytes = b"",
        listen: Callable[[bytes], None] | None = None,
    ) -> CompletedCommand:
        """Run a command in the workspace with this environment and no other; a timeout ends its whole tree.

        `listen` hears all of standard output as it comes, also what is beyond the limit of what is kept.
        """

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
