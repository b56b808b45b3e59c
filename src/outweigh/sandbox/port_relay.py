"""Ports of a container whose network cannot be entered from here, because its engine runs it on another or a virtual
machine, as on macOS: a second container in the same network carries them over its standard input and output.

The container itself keeps its network without a way out, and nothing listens on a network of the host: servers of the
ports listen on sockets in a folder that only this user may enter. A program in the container cannot reach the
second one, which has processes of its own.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from socket import AF_UNIX, SHUT_RDWR, SHUT_WR, SOCK_STREAM, socket
from threading import Lock, Thread, Timer
from typing import IO

from outweigh.ports.sandboxes import ForwardedPort, SandboxError
from outweigh.process import spawn
from outweigh.sandbox.container_engine import last_line
from outweigh.sandbox.relay_program import DATA, END, HEADER, OPEN, READY
from outweigh.sandbox.sandbox_ports import assign_ports, serve_ports

START_TIMEOUT_SECONDS = 120.0
_CHUNK_BYTES = 65536
_BACKLOG = 128
# The gateway takes no more connections of one run either.
_MAX_CONNECTIONS = 256
_PROGRAMS = ("relay_program.py", "relay_program.js")
_NO_PROGRAM_EXIT_CODE = 97
_SCRIPT = f"""folder=$1; shift
if command -v python3 >/dev/null; then exec python3 -I -S "$folder/{_PROGRAMS[0]}" "$@"; fi
if command -v node >/dev/null; then exec node "$folder/{_PROGRAMS[1]}" "$@"; fi
exit {_NO_PROGRAM_EXIT_CODE}
"""


def copy_relay_programs(folder: Path) -> None:
    """Copy what the second container executes to a folder that it can read."""
    for name in _PROGRAMS:
        shutil.copyfile(Path(__file__).with_name(name), folder / name)


def relay_command(folder: str, ports: Sequence[ForwardedPort]) -> tuple[str, ...]:
    """What the second container executes; `folder` is where it finds the programs."""
    return ("/bin/sh", "-c", _SCRIPT, "sh", folder, *map(str, assign_ports(ports).values()))


@contextmanager
def relay_ports(
    command: Sequence[str],
    environment: Mapping[str, str],
    ports: Sequence[ForwardedPort],
    start_seconds: float = START_TIMEOUT_SECONDS,
) -> Iterator[None]:
    """Serve ports through a relay that this command starts; leaving the context ends it."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="outweigh-ports-", ignore_cleanup_errors=True))
        paths = [str(Path(folder, str(place))) for place in range(len(ports))]
        stack.enter_context(serve_ports(ports, [_listen(path) for path in paths]))
        process = stack.enter_context(_started(command, environment))
        assert process.stdin is not None
        assert process.stdout is not None
        _await_ready(process, process.stdout, start_seconds)
        connections = _Connections(paths, process.stdin)
        receiving = Thread(target=connections.receive, args=(process.stdout,), daemon=True)
        receiving.start()
        try:
            yield
        finally:
            process.kill()
            receiving.join()


def _listen(path: str) -> socket:
    listening = socket(AF_UNIX, SOCK_STREAM)
    listening.bind(path)
    listening.listen(_BACKLOG)
    return listening


@contextmanager
def _started(command: Sequence[str], environment: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    try:
        process = spawn(command, environment=environment, folder=Path("/"), takes_input=True)
    except OSError as fault:
        raise SandboxError(f"the ports of the container could not be opened: {fault}.") from fault
    try:
        yield process
    finally:
        process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        process.wait()


def _await_ready(process: "subprocess.Popen[bytes]", output: IO[bytes], seconds: float) -> None:
    deadline = Timer(seconds, process.kill)
    deadline.daemon = True
    deadline.start()
    try:
        frame = _read_frame(output)
    finally:
        deadline.cancel()
    if frame is not None and frame[0] == READY:
        return
    process.kill()
    assert process.stderr is not None
    error = last_line(process.stderr.read())
    if process.wait() == _NO_PROGRAM_EXIT_CODE:
        error = "the image has neither python3 nor node; add one of them"
    raise SandboxError(
        f"no port could be opened into the container ({error}). Its engine runs it on another or a virtual machine, so "
        "its network cannot be entered from here, and a second container of the same image has to carry the port."
    )


class _Connections:
    """The connections of one relay, each to the server of its port."""

    def __init__(self, paths: Sequence[str], to_relay: IO[bytes]) -> None:
        self._paths = paths
        self._to_relay = to_relay
        self._sending = Lock()
        self._open: dict[int, socket] = {}

    def receive(self, output: IO[bytes]) -> None:
        """Pass on what comes from the container, until the relay ends or says something that makes no sense."""
        while (frame := _read_frame(output)) is not None:
            kind, number, data = frame
            if kind == OPEN and len(data) == 1 and data[0] < len(self._paths):
                self._connect(number, self._paths[data[0]])
            elif kind in (DATA, END) and number in self._open:
                self._pass_on(self._open[number], kind, data)
        for connection in list(self._open.values()):
            with suppress(OSError):
                connection.shutdown(SHUT_RDWR)

    def _connect(self, number: int, path: str) -> None:
        connection = socket(AF_UNIX, SOCK_STREAM)
        try:
            if len(self._open) >= _MAX_CONNECTIONS:
                raise ConnectionRefusedError
            connection.connect(path)
        except OSError:
            connection.close()
            self._send(END, number, b"")
            return
        self._open[number] = connection
        Thread(target=self._answer, args=(number, connection), daemon=True).start()

    def _pass_on(self, connection: socket, kind: int, data: bytes) -> None:
        with suppress(OSError):  # the server has closed it; its answer is on the way
            if kind == DATA:
                connection.sendall(data)
            else:
                connection.shutdown(SHUT_WR)

    def _answer(self, number: int, connection: socket) -> None:
        with connection:
            with suppress(OSError):
                while chunk := connection.recv(_CHUNK_BYTES):
                    self._send(DATA, number, chunk)
            self._open.pop(number, None)
            self._send(END, number, b"")

    def _send(self, kind: int, number: int, data: bytes) -> None:
        content = memoryview(HEADER.pack(kind, number, len(data)) + data)
        with self._sending, suppress(OSError, ValueError):  # the relay has ended, and its pipe may be closed
            while content:
                content = content[self._to_relay.write(content) :]


def _read_frame(output: IO[bytes]) -> tuple[int, int, bytes] | None:
    """The next frame; None at the end, or where the frame is larger than any that a relay sends."""
    header = _read_exactly(output, HEADER.size)
    if header is None:
        return None
    kind, number, length = HEADER.unpack(header)
    data = _read_exactly(output, length) if length <= _CHUNK_BYTES else None
    return None if data is None else (kind, number, data)


def _read_exactly(output: IO[bytes], count: int) -> bytes | None:
    parts: list[bytes] = []
    while count:
        part = output.read(count)
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
