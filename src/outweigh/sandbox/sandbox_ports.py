"""Ports of a sandbox: sockets that listen on the loopback inside and are served by the engine outside.

Sockets in another network namespace are opened by namespace_program.py, which must stay beside this file.
"""

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from socket import AF_UNIX, SOCK_SEQPACKET, create_server, recv_fds, socket, socketpair

from outweigh.ports.sandboxes import ForwardedPort, SandboxError
from outweigh.process import spawn

_LOOPBACK = "127.0.0.1"
_FIRST_PORT = 7411


def assign_ports(ports: Sequence[ForwardedPort]) -> dict[str, int]:
    """The numbers of ports in a sandbox with its own loopback, where all numbers are free."""
    return {name: _FIRST_PORT + place for place, name in enumerate(_port_names(ports))}


def find_port(name: str, ports: Mapping[str, int]) -> int:
    """The number of a port by its name."""
    if name not in ports:
        raise SandboxError(f"the sandbox has no port {name!r}, only these: {', '.join(ports) or 'none'}.")
    return ports[name]


@contextmanager
def serve_ports(ports: Sequence[ForwardedPort], sockets: Sequence[socket]) -> Iterator[None]:
    """Serve every port on its socket; leaving the context stops the servers and closes the sockets."""
    with ExitStack() as stack:
        for listening in sockets:
            stack.enter_context(listening)
        for port, listening in zip(ports, sockets, strict=True):
            stack.enter_context(port.serve(listening))
        yield


@contextmanager
def serve_host_ports(ports: Sequence[ForwardedPort]) -> Iterator[dict[str, int]]:
    """Serve ports on the host's own loopback, with numbers that happen to be free; yields those numbers by name."""
    names = _port_names(ports)
    sockets = [create_server((_LOOPBACK, 0)) for _ in names]
    with serve_ports(ports, sockets):
        yield {name: listening.getsockname()[1] for name, listening in zip(names, sockets, strict=True)}


def _port_names(ports: Sequence[ForwardedPort]) -> list[str]:
    names = [port.name for port in ports]
    if len(set(names)) < len(names):
        raise SandboxError(f"two ports of a sandbox have the same name: {', '.join(names)}.")
    return names


NAMESPACE_PROGRAM = Path(__file__).with_name("namespace_program.py")
_LISTENER_TIMEOUT_SECONDS = 30.0
_MAX_MESSAGE_BYTES = 4096


def listen_in_namespace(process: int, ports: Iterable[int]) -> list[socket]:
    """Listen on these ports of the loopback of a process; returns the sockets in the same order."""
    wanted = [str(port) for port in ports]
    ours, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
    with ours:
        with theirs:
            helper = _start_listener([str(process), str(theirs.fileno()), *wanted], theirs.fileno())
        with helper:
            try:
                return _receive_sockets(ours, len(wanted))
            finally:
                helper.kill()


def _start_listener(arguments: list[str], reply_descriptor: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-I", "-S", str(NAMESPACE_PROGRAM), "listen", *arguments]
    try:
        return spawn(command, environment={}, folder=Path("/"), descriptors=(reply_descriptor,))
    except OSError as fault:
        raise _listen_error(str(fault)) from fault


def _receive_sockets(ours: socket, count: int) -> list[socket]:
    ours.settimeout(_LISTENER_TIMEOUT_SECONDS)
    try:
        message, descriptors, _, _ = recv_fds(ours, _MAX_MESSAGE_BYTES, count)
    except OSError as fault:
        raise _listen_error(str(fault)) from fault
    sockets = [socket(fileno=descriptor) for descriptor in descriptors]
    for received in sockets:
        received.set_inheritable(False)
    if len(sockets) == count:
        return sockets
    for received in sockets:
        received.close()
    raise _listen_error(message.decode(errors="replace") or "no answer")


def _listen_error(reason: str) -> SandboxError:
    return SandboxError(
        f"no port could be opened into the sandbox, because its network cannot be entered from here ({reason}). Run as "
        "the user whose processes the sandboxes are (as root for a docker daemon), or use another kind of sandbox."
    )
