"""Ports of containers that cannot be entered are carried by a second container, and nothing else is opened."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import SHUT_RDWR, SHUT_WR, socket
from threading import Thread

import pytest
from tests.prerequisites import require
from tests.sandbox.container_fixtures import HOST_PYTHON, a_request, busybox_image, python_folders, working_engine
from tests.sandbox.distant_engine import distant_engine, distant_engine_missing

from outweigh.ports.sandboxes import CommandEnding, ForwardedPort, Sandbox, SandboxError, SandboxRequest
from outweigh.sandbox.container import ContainerSandboxProvider
from outweigh.sandbox.container_engine import ContainerEngine
from outweigh.sandbox.port_relay import relay_ports
from outweigh.testing.sandbox_fixtures import COMMAND_TIMEOUT_SECONDS

PROGRAMS = Path(__file__).parents[2] / "src/outweigh/sandbox"
RUNTIMES = {"python": [sys.executable, "-I", "-S", str(PROGRAMS / "relay_program.py")]}
if node := shutil.which("node"):
    RUNTIMES["node"] = [node, str(PROGRAMS / "relay_program.js")]
PORT = 7411


@contextmanager
def shout(listening: socket) -> Iterator[None]:
    """Answers every connection with what it sent, in capital letters, once the other side has sent everything."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                parts = []
                while part := connection.recv(65536):
                    parts.append(part)
                connection.sendall(b"".join(parts).upper())

    thread = Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listening.shutdown(SHUT_RDWR)
        thread.join()


SHOUT = ForwardedPort(name="shout", serve=shout)


def free_port() -> int:
    with socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def send(connection: socket, text: bytes) -> None:
    connection.sendall(text)
    connection.shutdown(SHUT_WR)


def ask(port: int, text: bytes) -> bytes:
    with socket() as connection:
        connection.connect(("127.0.0.1", port))
        Thread(target=send, args=(connection, text), daemon=True).start()
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
        return b"".join(parts)


@pytest.mark.parametrize("runtime", RUNTIMES)
class TestTheProgram:
    def test_connections_are_carried_both_ways_and_apart(self, runtime: str) -> None:
        port = free_port()
        with relay_ports([*RUNTIMES[runtime], str(port)], {"PATH": "/usr/bin:/bin"}, [SHOUT]):
            answers = [ask(port, f"text {place}".encode()) for place in range(5)]

        assert answers == [f"TEXT {place}".encode() for place in range(5)]

    def test_megabytes_arrive_whole(self, runtime: str) -> None:
        port, text = free_port(), bytes(range(97, 107)) * 500_000
        with relay_ports([*RUNTIMES[runtime], str(port)], {"PATH": "/usr/bin:/bin"}, [SHOUT]):
            assert ask(port, text) == text.upper()

    def test_nothing_listens_when_it_is_over(self, runtime: str) -> None:
        port = free_port()
        with relay_ports([*RUNTIMES[runtime], str(port)], {"PATH": "/usr/bin:/bin"}, [SHOUT]):
            pass

        with socket() as connection:
            assert connection.connect_ex(("127.0.0.1", port)) != 0


def test_a_relay_that_sends_nonsense_ends_its_connections_and_harms_nothing() -> None:
    nonsense = "printf '\\0\\0\\0\\0\\0\\0\\0\\0\\0'; printf '\\2\\0\\0\\0\\1\\377\\377\\377\\377'; cat >/dev/null"
    with relay_ports(["/bin/sh", "-c", nonsense], {}, [SHOUT]):
        pass


@pytest.mark.parametrize(
    ("script", "reason"),
    [("exit 97", "neither python3 nor node"), ("echo Error: no such image >&2; exit 1", "no such image")],
)
def test_a_relay_that_does_not_start_says_why(script: str, reason: str) -> None:
    with pytest.raises(SandboxError, match=reason), relay_ports(["/bin/sh", "-c", script], {}, [SHOUT]):
        pass


def test_a_relay_that_never_says_that_it_is_ready_is_not_waited_for_forever() -> None:
    with (
        pytest.raises(SandboxError, match="no port could be opened"),
        relay_ports(["/bin/sleep", "600"], {}, [SHOUT], start_seconds=0.2),
    ):
        pass


@pytest.fixture(scope="module")
def engine() -> Iterator[ContainerEngine]:
    """An engine whose containers cannot be entered from here."""
    require("container", ContainerSandboxProvider().missing())
    require("container", distant_engine_missing(working_engine()))
    with distant_engine(working_engine()) as far:
        yield far


@pytest.fixture(scope="module")
def provider(engine: ContainerEngine) -> ContainerSandboxProvider:
    return ContainerSandboxProvider(engine)


_ASK = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.sendall(b"hello"); connection.shutdown(1)
print(connection.recv(100).decode())
"""


def ask_inside(sandbox: Sandbox) -> str:
    command = [HOST_PYTHON, "-Ic", _ASK, str(sandbox.port("shout"))]
    done = sandbox.exec(command, environment={"PATH": "/usr/bin"}, timeout_seconds=COMMAND_TIMEOUT_SECONDS)
    return done.stdout.decode().strip()


@pytest.mark.needs_container
class TestInAContainerThatCannotBeEntered:
    @pytest.fixture
    def request_with_port(self, engine: ContainerEngine, tmp_path: Path) -> Iterator[SandboxRequest]:
        with busybox_image(engine) as image:
            yield a_request(tmp_path, image, read_only=python_folders(), ports=(SHOUT,))

    def test_programs_inside_reach_the_port(
        self, provider: ContainerSandboxProvider, request_with_port: SandboxRequest
    ) -> None:
        with provider.open(request_with_port) as sandbox:
            assert [ask_inside(sandbox), ask_inside(sandbox)] == ["HELLO", "HELLO"]

    def test_they_reach_nothing_else(
        self, provider: ContainerSandboxProvider, request_with_port: SandboxRequest
    ) -> None:
        with provider.open(request_with_port) as sandbox:
            done = sandbox.exec(["cat", "/proc/net/dev"], environment={"PATH": "/bin"}, timeout_seconds=60)

        interfaces = [line.split(":")[0].strip() for line in done.stdout.decode().splitlines()[2:]]
        assert interfaces == ["lo"]

    def test_they_cannot_end_the_relay(
        self, provider: ContainerSandboxProvider, request_with_port: SandboxRequest
    ) -> None:
        with provider.open(request_with_port) as sandbox:
            sandbox.exec(["/bin/sh", "-c", "kill -9 -1"], environment={"PATH": "/bin"}, timeout_seconds=60)
            assert ask_inside(sandbox) == "HELLO"

    def test_a_container_that_is_replaced_after_a_timeout_has_the_port_again(
        self, provider: ContainerSandboxProvider, request_with_port: SandboxRequest
    ) -> None:
        with provider.open(request_with_port) as sandbox:
            late = sandbox.exec(["sleep", "600"], environment={"PATH": "/bin"}, timeout_seconds=0.5)
            assert (late.ending, ask_inside(sandbox)) == (CommandEnding.TIMED_OUT, "HELLO")

    def test_no_container_is_left(
        self, engine: ContainerEngine, provider: ContainerSandboxProvider, request_with_port: SandboxRequest
    ) -> None:
        with provider.open(request_with_port) as sandbox:
            ask_inside(sandbox)

        left = engine.run("ps", "--all", "--quiet", f"--filter=label=outweigh.trial={request_with_port.label}")
        assert left.out == ""

    def test_an_image_without_python_and_node_says_what_to_add(
        self, engine: ContainerEngine, provider: ContainerSandboxProvider, tmp_path: Path
    ) -> None:
        with busybox_image(engine) as image:
            request = a_request(tmp_path, image, ports=(SHOUT,))
            with pytest.raises(SandboxError, match="neither python3 nor node"), provider.open(request):
                pass
