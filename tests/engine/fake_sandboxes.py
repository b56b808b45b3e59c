"""Rooms for tests of the engine: the real local sandbox, one that cannot start, and workspaces that are copies."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from outweigh.model.task import FolderSource, Task
from outweigh.ports.sandboxes import Sandbox, SandboxError, SandboxRequest
from outweigh.sandbox.local import LocalSandboxProvider


def room_request(workspace: Path, home: Path) -> SandboxRequest:
    """A request for a room that asks for nothing special."""
    home.mkdir(exist_ok=True)
    return SandboxRequest(
        workspace=workspace,
        home=home,
        label="test",
        read_only=(),
        doors=(),
        image=None,
        memory_mb=None,
        processes=None,
        cancel=Event(),
    )


class WatchedRooms(LocalSandboxProvider):
    """Local sandboxes that remember what was asked of them."""

    def __init__(self) -> None:
        self.requests: list[SandboxRequest] = []

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator[Sandbox]:
        self.requests.append(request)
        with super().open(request) as sandbox:
            yield sandbox


class BrokenRooms(LocalSandboxProvider):
    """A kind of sandbox that cannot start today."""

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator[Sandbox]:
        raise SandboxError("no room to be had")
        yield


class Copies:
    """Workspaces that are copies of a task's folder."""

    def prepare(self, task: Task) -> Path:
        assert isinstance(task.workspace, FolderSource)
        return Path(task.workspace.path)

    @contextmanager
    def lay(self, pristine: Path, target: Path) -> Iterator[Path]:
        shutil.copytree(pristine, target, symlinks=True)
        try:
            yield target
        finally:
            shutil.rmtree(target)
