"""The local sandbox: a separate folder and process tree, for agents that are trusted.

Runs are separated by convention only: a program in it can read and write whatever the caller can.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from secrets import token_hex

from outweigh.ports.sandboxes import CompletedCommand, Mount, Sandbox, SandboxError, SandboxRequest
from outweigh.sandbox.base_sandbox import BaseSandbox, sweep_host_sandboxes
from outweigh.sandbox.cgroups import (
    DEFAULT_PATH,
    EXEC_PREFIX,
    CgroupLimits,
    ControlGroup,
    control_group,
    enter_cgroups,
)
from outweigh.sandbox.leftover_processes import SANDBOX_MARK, kill_marked
from outweigh.sandbox.process_tree import ProcessGroupTree, SandboxCommand, run_process_tree
from outweigh.sandbox.sandbox_ports import serve_host_ports

_KIND = "local"


class LocalSandboxProvider:
    """Opens sandboxes without isolation; works everywhere."""

    @property
    def name(self) -> str:
        """The name that a suite uses."""
        return _KIND

    def missing(self) -> str | None:
        """Nothing is ever missing."""
        return None

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator[Sandbox]:
        """Use the folders as they are; leaving the context kills every process that was started in them."""
        if request.image is not None:
            raise SandboxError(
                f"the local sandbox has no images and cannot use {request.image!r}; use the container sandbox."
            )
        token = token_hex(8)
        limits = CgroupLimits(memory_mb=request.memory_mb, processes=request.processes)
        with (
            serve_host_ports(request.ports) as ports,
            control_group(_KIND, request.label, token, limits) as group,
        ):
            yield _LocalSandbox(request, _LocalProcessTree(group, f"{_KIND}/{request.label}#{token}"), ports)

    def sweep(self, label_prefix: str) -> list[str]:
        """Remove what a killed engine left running."""
        return sweep_host_sandboxes(_KIND, label_prefix)


class _LocalProcessTree(ProcessGroupTree):
    """A process group, and the processes that left it: in a control group, or found by their mark."""

    def __init__(self, group: ControlGroup, mark: str) -> None:
        self.group = group
        self.mark = mark

    def kill(self, leader: int) -> None:
        super().kill(leader)
        self.group.kill()
        if not self.group.holds_all:
            kill_marked(self.mark.__eq__)


class _LocalSandbox(BaseSandbox):
    def __init__(self, request: SandboxRequest, tree: _LocalProcessTree, ports: Mapping[str, int]) -> None:
        super().__init__(request, workspace=str(request.workspace), home=str(request.home), ports=ports)
        self._tree = tree

    def mounted_at(self, mount: Mount) -> str:
        """The folder itself: nothing is mounted, so it is writable whatever the request says."""
        return str(mount.source)

    def _run(self, wanted: SandboxCommand) -> CompletedCommand:
        own = {"PATH": DEFAULT_PATH, "HOME": self.home, SANDBOX_MARK: self._tree.mark}
        entrances = self._tree.group.entrances
        # Both shells exit with 127 where there is no such program; one of them is enough.
        command = enter_cgroups(entrances, wanted.command) if entrances else [*EXEC_PREFIX, *wanted.command]
        return run_process_tree(replace(wanted, command=command, environment={**own, **wanted.environment}), self._tree)
