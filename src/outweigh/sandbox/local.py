"""The local sandbox: a folder and a process tree of its own, for agents that are trusted.

It keeps runs apart by convention only: a program in it can read and write whatever the caller can.
"""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from outweigh.ports.sandboxes import CompletedCommand, Sandbox, SandboxError, SandboxRequest
from outweigh.sandbox.cgroups import (
    DEFAULT_PATH,
    EXEC_PREFIX,
    CgroupLimits,
    ControlGroup,
    control_group,
    enter_cgroups,
    sweep_groups,
)
from outweigh.sandbox.confined_files import ConfinedFiles
from outweigh.sandbox.leftover_processes import SANDBOX_MARK, kill_marked
from outweigh.sandbox.process_tree import SandboxCommand, run_process_tree, signal_group
from outweigh.sandbox.sandbox_ports import find_port, serve_host_ports

_KIND = "local"


class LocalSandboxProvider:
    """Opens folders; needs nothing."""

    @property
    def name(self) -> str:
        """The kind, as a suite names it."""
        return _KIND

    def missing(self) -> str | None:
        """Nothing ever is."""
        return None

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator[Sandbox]:
        """Hold the workspace; leaving ends every process that was started in it."""
        if request.image is not None:
            raise SandboxError(
                f"the local sandbox has no images and cannot use {request.image!r}; use the container sandbox."
            )
        token = token_hex(8)
        limits = CgroupLimits(memory_mb=request.memory_mb, processes=request.processes)
        with (
            serve_host_ports(request.doors) as ports,
            control_group(_KIND, request.label, token, limits) as group,
        ):
            yield _LocalSandbox(request, _LocalProcessTree(group, f"{_KIND}/{request.label}#{token}"), ports)

    def sweep(self, label_prefix: str) -> list[str]:
        """End what a killed engine left running."""
        groups = sweep_groups(_KIND, label_prefix)
        ended = kill_marked(lambda mark: mark.startswith(f"{_KIND}/{label_prefix}"))
        return [*(f"control group {name}" for name in groups), *(f"process {process}" for process in ended)]


@dataclass(frozen=True, slots=True)
class _LocalProcessTree:
    """A group of processes, and those that left it: held by a control group, or found by their mark."""

    group: ControlGroup
    mark: str

    def ask(self, leader: int) -> None:
        signal_group(leader, signal.SIGTERM)

    def end(self, leader: int) -> None:
        signal_group(leader, signal.SIGKILL)
        self.group.kill()
        if not self.group.holds_all:
            kill_marked(self.mark.__eq__)


@dataclass(frozen=True, slots=True)
class _LocalSandbox:
    request: SandboxRequest
    tree: _LocalProcessTree
    ports: Mapping[str, int]

    @property
    def workspace(self) -> str:
        return str(self.request.workspace)

    @property
    def host_workspace(self) -> Path:
        return self.request.workspace

    @property
    def home(self) -> str:
        return str(self.request.home)

    @property
    def host_home(self) -> Path:
        return self.request.home

    def port(self, door: str) -> int:
        return find_port(door, self.ports)

    def exec(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        stdin: bytes = b"",
        listen: Callable[[bytes], None] | None = None,
    ) -> CompletedCommand:
        own = {"PATH": DEFAULT_PATH, "HOME": self.home, SANDBOX_MARK: self.tree.mark}
        entrances = self.tree.group.entrances
        job = SandboxCommand(
            # Either shell ends with 127 where there is no such program; one of them is enough.
            command=enter_cgroups(entrances, command) if entrances else [*EXEC_PREFIX, *command],
            environment={**own, **environment},
            folder=self.request.workspace,
            stdin=stdin,
            timeout_seconds=timeout_seconds,
            cancel=self.request.cancel,
            listen=listen,
        )
        return run_process_tree(job, self.tree)

    def read(self, path: str, limit: int) -> bytes | None:
        return self._files.read(path, limit)

    def write(self, path: str, content: bytes, *, executable: bool = False) -> None:
        self._files.write(path, content, executable=executable)

    @property
    def _files(self) -> ConfinedFiles:
        return ConfinedFiles(self.request.workspace, self.workspace)
