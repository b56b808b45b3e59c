"""What all sandboxes share: their paths, their ports, the files of the workspace, and how a command is described."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from outweigh.ports.sandboxes import CompletedCommand, Mount, SandboxRequest
from outweigh.sandbox.cgroups import sweep_groups
from outweigh.sandbox.confined_files import ConfinedFiles
from outweigh.sandbox.leftover_processes import kill_marked
from outweigh.sandbox.process_tree import SandboxCommand
from outweigh.sandbox.sandbox_ports import find_port

WORKSPACE = "/ws"
HOME = "/home/agent"
TEMPORARY_FOLDERS = ("/tmp", "/var/tmp", "/run", "/dev/shm")
"""Folders inside that are kept in memory, each up to a limit."""
_TEMPORARY_BYTES = 2**30
_MEBIBYTE = 2**20


def temporary_bytes(disk_mb: int | None) -> int:
    """The most that a temporary folder may hold: a gibibyte, or less where the suite limits disk space to less."""
    return _TEMPORARY_BYTES if disk_mb is None else min(_TEMPORARY_BYTES, disk_mb * _MEBIBYTE)


def hidden_paths(mount: Mount) -> Iterator[tuple[Path, str]]:
    """The hidden paths of a mount that exist: where they are on the host, and inside, both without links.

    Nothing outside of the folder is shown, so a link that leads there has nothing to hide.
    """
    root = mount.source.resolve()
    for name in mount.hidden:
        real = (root / name).resolve()
        if real != root and real.is_relative_to(root) and real.exists():
            yield real, f"{mount.target}/{real.relative_to(root).as_posix()}"


class BaseSandbox(ABC):
    """A sandbox over two folders of the host. Subclasses say how a command is run in it.

    `workspace` and `home` are the paths of those folders inside, and `ports` the numbers of the forwarded ports there.
    """

    def __init__(self, request: SandboxRequest, *, workspace: str, home: str, ports: Mapping[str, int]) -> None:
        self._request = request
        self._workspace = workspace
        self._home = home
        self._ports = ports
        self._files = ConfinedFiles(request.workspace, workspace)

    @property
    def workspace(self) -> str:
        """The path of the workspace inside the sandbox."""
        return self._workspace

    @property
    def host_workspace(self) -> Path:
        """The path of the workspace on the host."""
        return self._request.workspace

    @property
    def home(self) -> str:
        """The path of the private home folder inside the sandbox."""
        return self._home

    @property
    def host_home(self) -> Path:
        """The path of the home folder on the host."""
        return self._request.home

    def mounted_at(self, mount: Mount) -> str:
        """The path inside the sandbox of a folder that the request names."""
        return mount.target

    @property
    def confine(self) -> str | None:
        """The path inside of the program that confines others; None where this machine or kind has none."""
        return None

    def port(self, name: str) -> int:
        """The number on 127.0.0.1 where programs inside reach the forwarded port of this name."""
        return find_port(name, self._ports)

    def read(self, path: str, limit: int) -> bytes | None:
        """Read a file of the workspace, from outside."""
        return self._files.read(path, limit)

    def write(self, path: str, content: bytes, *, executable: bool = False) -> None:
        """Write a file into the workspace, from outside."""
        self._files.write(path, content, executable=executable)

    def exec(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        stdin: bytes = b"",
        on_output: Callable[[bytes], None] | None = None,
    ) -> CompletedCommand:
        """Run a command in the workspace with exactly this environment."""
        return self._run(
            SandboxCommand(
                command=command,
                environment=environment,
                folder=self._request.workspace,
                stdin=stdin,
                timeout_seconds=timeout_seconds,
                cancel=self._request.cancel,
                on_output=on_output,
                held_seconds=self._request.held_seconds,
            )
        )

    @abstractmethod
    def _run(self, wanted: SandboxCommand) -> CompletedCommand:
        """Run a command that is described as it looks from inside the sandbox."""


def sweep_host_sandboxes(kind: str, label_prefix: str) -> list[str]:
    """Kill the processes and remove the control groups of sandboxes that a killed engine left on this host."""
    groups = sweep_groups(kind, label_prefix)
    killed = kill_marked(lambda mark: mark.startswith(f"{kind}/{label_prefix}"))
    return [*(f"control group {name}" for name in groups), *(f"process {process}" for process in killed)]
