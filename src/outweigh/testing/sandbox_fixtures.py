"""What tests of sandboxes use: requests, shell scripts, an echo server behind a port, and the base class of the
contract.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import SHUT_RDWR, socket
from threading import Event, Thread

from outweigh.ports.sandboxes import CompletedCommand, ForwardedPort, Sandbox, SandboxProvider, SandboxRequest

# A daemon in a session of its own that appends to a file of the workspace and holds no stream open.
DAEMON_SCRIPT = "setsid sh -c 'while :; do echo alive >>beat; sleep 0.05; done' </dev/null >/dev/null 2>&1 &"
# Waits until the daemon is running.
WAIT_FOR_DAEMON = "until [ -s beat ]; do sleep 0.02; done;"
# Long enough for any machine: only a command that hangs takes longer.
COMMAND_TIMEOUT_SECONDS = 120.0
# For commands that never end: long enough for a slow machine to have started them.
SHORT_TIMEOUT_SECONDS = 3.0


def a_sandbox_request(folder: Path, label: str = "contract") -> SandboxRequest:
    """A request for a sandbox over fresh folders, with no other settings."""
    workspace, home = folder / "workspace", folder / "home"
    workspace.mkdir(parents=True, exist_ok=True)
    home.mkdir(exist_ok=True)
    return SandboxRequest(
        workspace=workspace,
        home=home,
        label=label,
        read_only=(),
        ports=(),
        image=None,
        memory_mb=None,
        processes=None,
        cancel=Event(),
    )


def run_shell(
    sandbox: Sandbox, script: str, timeout_seconds: float = COMMAND_TIMEOUT_SECONDS, **environment: str
) -> CompletedCommand:
    """Run a shell script in a sandbox."""
    return sandbox.exec(["sh", "-c", script], environment=environment, timeout_seconds=timeout_seconds)


def is_unchanging(path: Path, seconds: float = 0.4) -> bool:
    """Whether a file has stopped growing."""
    size = path.stat().st_size
    time.sleep(seconds)
    return path.stat().st_size == size


def dial_script(port: int, word: str) -> str:
    """A script that sends a word to a port on loopback and prints the reply."""
    by_bash = f'exec 3<>/dev/tcp/127.0.0.1/{port} && echo "{word}" >&3 && cat <&3'
    by_netcat = f"echo {word} | nc 127.0.0.1 {port}"
    return f"if command -v bash >/dev/null; then bash -c '{by_bash}'; else {by_netcat}; fi"


class EchoServer:
    """A server behind a forwarded port that replies with its name and the line it received; it records whether it was
    stopped.
    """

    def __init__(self, name: str) -> None:
        self.port = ForwardedPort(name=name, serve=self._serve)
        self.is_answering = False
        self.sockets: list[socket] = []

    @contextmanager
    def _serve(self, listening: socket) -> Iterator[None]:
        self.sockets.append(listening)
        thread = Thread(target=self._answer, args=(listening,), daemon=True)
        thread.start()
        self.is_answering = True
        try:
            yield
        finally:
            self.is_answering = False
            listening.shutdown(SHUT_RDWR)
            thread.join()

    def _answer(self, listening: socket) -> None:
        while True:
            try:
                caller, _ = listening.accept()
            except OSError:
                return
            with caller, caller.makefile("rb") as words:
                caller.sendall(self.port.name.encode() + b" heard " + words.readline())


class SandboxContractBase(ABC):
    """What the contract needs to know: the provider under test, and where to work."""

    @abstractmethod
    def provider(self) -> SandboxProvider:
        """The provider under test."""

    @abstractmethod
    def folder(self) -> Path:
        """An empty folder of the host for this test."""

    def request(self) -> SandboxRequest:
        """The sandbox that is requested; override it to name an image."""
        return a_sandbox_request(self.folder() / "own")

    def is_isolated(self) -> bool:
        """Whether programs are kept from what they were not given; override it for a kind that does not
        promise that.
        """
        return True

    @contextmanager
    def opened(self) -> Iterator[Sandbox]:
        """A sandbox over fresh folders."""
        with self.provider().open(self.request()) as sandbox:
            yield sandbox
