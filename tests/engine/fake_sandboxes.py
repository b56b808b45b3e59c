"""Sandboxes for tests of the engine: the local one, one that cannot start, and workspaces that are copies."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from outweigh.model.task import FolderSource, Task
from outweigh.ports.sandboxes import Sandbox, SandboxError, SandboxRequest
from outweigh.sandbox.local import LocalSandboxProvider


def plain_sandbox_request(workspace: Path, home: Path) -> SandboxRequest:
    """A request for a sandbox without ports, images or limits."""
    home.mkdir(exist_ok=True)
    return SandboxRequest(
        workspace=workspace,
        home=home,
        label="test",
        read_only=(),
        ports=(),
        image=None,
        memory_mb=None,
        processes=None,
        cancel=Event(),
    )


class RecordedSandboxes(LocalSandboxProvider):
    """Local sandboxes that remember what was asked of them."""

    def __init__(self) -> None:
        self.requests: list[SandboxRequest] = []

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator[Sandbox]:
        self.requests.append(request)
        with super().open(request) as sandbox:
            yield sandbox


class BrokenSandboxes(LocalSandboxProvider):
    """A kind of sandbox that cannot start today."""

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator[Sandbox]:
        raise SandboxError("no sandbox today")
        yield


class FailingSandboxes(LocalSandboxProvider):
    """Local sandboxes of which the first work and the next ones do not; all further ones work again, if any do."""

    def __init__(self, *, works_for: int, fails_for: int | None = None) -> None:
        self._opened = 0
        self._works_for = works_for
        self._last = None if fails_for is None else works_for + fails_for

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator[Sandbox]:
        self._opened += 1
        if self._opened > self._works_for and (self._last is None or self._opened <= self._last):
            raise SandboxError("no more sandboxes today")
        with super().open(request) as sandbox:
            yield sandbox


class Copies:
    """Workspaces that are copies of a task's folder."""

    def prepare(self, task: Task) -> Path:
        assert isinstance(task.workspace, FolderSource)
        return Path(task.workspace.path)

    @contextmanager
    def lay_out(self, pristine: Path, target: Path) -> Iterator[Path]:
        shutil.copytree(pristine, target, symlinks=True)
        try:
            yield target
        finally:
            shutil.rmtree(target)

    def snapshot(self, workspace: Path, target: Path) -> Path:
        shutil.copytree(workspace, target, symlinks=True)
        return target
