"""A sandbox that passes everything on to another one; subclasses change how commands are run."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from outweigh.ports.sandboxes import CompletedCommand, Mount, Sandbox, bare_sandbox, path_inside


class SandboxWrapper:
    """Passes everything on to the sandbox that it wraps."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    @property
    def workspace(self) -> str:
        """The path of the workspace inside the sandbox."""
        return self._sandbox.workspace

    @property
    def host_workspace(self) -> Path:
        """The path of the workspace on the host."""
        return self._sandbox.host_workspace

    @property
    def home(self) -> str:
        """The path of the home folder inside the sandbox."""
        return self._sandbox.home

    @property
    def host_home(self) -> Path:
        """The path of the home folder on the host."""
        return self._sandbox.host_home

    @property
    def confine(self) -> str | None:
        """The path inside of the program that confines others."""
        return self._sandbox.confine

    @property
    def bare(self) -> Sandbox:
        """The same sandbox, whose commands start no services."""
        return bare_sandbox(self._sandbox)

    def mounted_at(self, mount: Mount) -> str:
        """The path inside the sandbox of a folder that the request names."""
        return self._sandbox.mounted_at(mount)

    def path_inside(self, path: str) -> str:
        """The path inside of a path of the host that the request names."""
        return path_inside(self._sandbox, path)

    def port(self, name: str) -> int:
        """The number on 127.0.0.1 where programs inside reach the forwarded port of this name."""
        return self._sandbox.port(name)

    def exec(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        stdin: bytes = b"",
        on_output: Callable[[bytes], None] | None = None,
    ) -> CompletedCommand:
        """Run a command in the workspace."""
        return self._sandbox.exec(
            command, environment=environment, timeout_seconds=timeout_seconds, stdin=stdin, on_output=on_output
        )

    def read(self, path: str, limit: int) -> bytes | None:
        """Read a file of the workspace."""
        return self._sandbox.read(path, limit)

    def write(self, path: str, content: bytes, *, executable: bool = False) -> None:
        """Write a file into the workspace."""
        self._sandbox.write(path, content, executable=executable)
