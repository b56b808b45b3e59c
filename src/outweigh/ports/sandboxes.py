"""The port of sandboxes: where agents and checks run, isolated from the host."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from socket import socket
from threading import Event
from typing import Protocol, runtime_checkable

from outweigh.model.task_environment import TaskImage


class CommandEnding(StrEnum):
    """How a command ended."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedCommand:
    """The result of a command. Output is captured up to a limit; `truncated` says that there was more."""

    ending: CommandEnding
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    truncated: bool
    duration_seconds: float


class SandboxError(Exception):
    """The sandbox itself failed, not a command in it; the run becomes an infrastructure failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardedPort:
    """A port on the loopback of a sandbox that is served from outside; programs inside can reach nothing else.

    The sandbox listens on it so that only programs inside can connect, and passes the socket to `serve`, which answers
    on it until its context is left.
    """

    name: str
    serve: Callable[[socket], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A folder of the host that is shown at a full path inside, read-only unless it is `writable`.

    `hidden` are paths below it that are empty inside. A sandbox without a file system of its own shows the folder where
    it is, with all that is in it; `Sandbox.mounted_at` says where to look.
    """

    source: Path
    target: str
    writable: bool = False
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyImage:
    """An image of a task that is stored here: its name, where the workspace is in it, and its variables."""

    name: str
    working_directory: str
    variables: Mapping[str, str] = field(default_factory=dict)


def never_held() -> float:
    """Nothing holds the run up."""
    return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRequest:
    """What a sandbox is made of. `workspace` and `home` are folders of the host that belong to this trial alone.

    `label` names the trial, so that leftovers of a killed engine can be found. `cancel` ends every command at once.
    `held_seconds` says for how long the run was held up from outside so far, which its commands are not timed for.
    `disk_mb` limits what each temporary folder of the sandbox may hold; the workspace and the home are the engine's.

    `task_image` is the image of the task itself: the workspace is at its working directory, and commands get its
    variables. There, `system_paths` are paths below /usr of the host that are shown apart from the image's own. With
    `writable_system` programs can write to all of the image, in a layer that ends with the sandbox, or with every
    command where the system is `renewed`.
    """

    workspace: Path
    home: Path
    label: str
    read_only: tuple[str, ...]
    ports: tuple[ForwardedPort, ...]
    image: str | None
    memory_mb: int | None
    processes: int | None
    cancel: Event
    mounts: tuple[Mount, ...] = ()
    disk_mb: int | None = None
    cpus: float | None = None
    task_image: ReadyImage | None = None
    system_paths: tuple[str, ...] = ()
    writable_system: bool = False
    renewed: bool = False
    held_seconds: Callable[[], float] = never_held


class Sandbox(Protocol):
    """An isolated environment with a workspace. When it is closed, no process started in it is alive."""

    @property
    def workspace(self) -> str:
        """The path of the workspace inside the sandbox."""

    @property
    def host_workspace(self) -> Path:
        """The path of the workspace on the host."""

    @property
    def home(self) -> str:
        """The path of the private home folder inside the sandbox; it lasts as long as the sandbox."""

    @property
    def host_home(self) -> Path:
        """The path of the home folder on the host."""

    def mounted_at(self, mount: Mount) -> str:
        """The path inside the sandbox of a folder that the request names."""

    @property
    def confine(self) -> str | None:
        """The path inside of a program that executes its arguments so that they cannot reach the process that started
        it; None where this machine cannot do that.
        """

    def port(self, name: str) -> int:
        """The number on 127.0.0.1 where programs inside reach the forwarded port of this name."""

    def exec(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        stdin: bytes = b"",
        on_output: Callable[[bytes], None] | None = None,
    ) -> CompletedCommand:
        """Run a command in the workspace with exactly this environment; a timeout kills its whole process tree.

        `on_output` gets all of standard output as it arrives, including what is beyond the capture limit.
        """

    def read(self, path: str, limit: int) -> bytes | None:
        """At most `limit` bytes of a workspace file, None without such a file; raise on a path that leads outside."""

    def write(self, path: str, content: bytes, *, executable: bool = False) -> None:
        """Write a file into the workspace; raise on a path that leads outside."""


@runtime_checkable
class RelocatesPaths(Protocol):
    """A sandbox that shows paths of the host's system elsewhere; one that does not need not say so."""

    def path_inside(self, path: str) -> str:
        """The path inside of a path of the host that the request names."""


def path_inside(sandbox: Sandbox, path: str) -> str:
    """Where a path of the host that a request names is to be found inside."""
    return sandbox.path_inside(path) if isinstance(sandbox, RelocatesPaths) else path


@runtime_checkable
class StartsServices(Protocol):
    """A sandbox that starts the services of a task with every command."""

    @property
    def bare(self) -> Sandbox:
        """The same sandbox, whose commands start no services."""


def bare_sandbox(sandbox: Sandbox) -> Sandbox:
    """The sandbox for a command of the adapter itself, such as a look for a program, which needs no services."""
    return sandbox.bare if isinstance(sandbox, StartsServices) else sandbox


class SandboxProvider(Protocol):
    """Opens sandboxes of one kind."""

    @property
    def name(self) -> str:
        """The name that a suite uses."""

    def missing(self) -> str | None:
        """What must be installed or set for it to work on this machine; None when it works."""

    def open(self, request: SandboxRequest) -> AbstractContextManager[Sandbox]:
        """Start a sandbox; leaving the context ends it with everything in it."""

    def sweep(self, label_prefix: str) -> list[str]:
        """Remove sandboxes with such labels that a killed engine left behind; returns what was removed."""


@runtime_checkable
class UsesImages(Protocol):
    """A provider whose sandboxes can have the image of a task."""

    def prepare_image(self, image: TaskImage, *, network: str) -> ReadyImage:
        """Build an image, or find a stored one; raise UsageError where that fails. It is built once by its content.

        `network` is what the build can reach: the engine's `default`, that of the `host`, or `none`.
        """

    def copy_files(self, image: ReadyImage, target: Path) -> None:
        """Copy what an image has in its working directory into a new folder."""
