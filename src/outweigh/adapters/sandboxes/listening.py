"""Sockets that listen in the network of another process, opened from outside: nothing has to run inside for them."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from socket import AF_UNIX, SOCK_SEQPACKET, recv_fds, socket, socketpair

from outweigh.apart import start_apart
from outweigh.ports.sandboxes import SandboxError

_PROGRAM = Path(__file__).with_name("listener_inside.py")
_PATIENCE_SECONDS = 30.0
_MOST_WORDS = 4096


def listen_in(process: int, ports: Iterable[int]) -> list[socket]:
    """Listen on these ports of the loopback that a process has, in this order."""
    wanted = [str(port) for port in ports]
    ours, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
    with ours:
        with theirs:
            helper = _start([str(process), str(theirs.fileno()), *wanted], theirs.fileno())
        with helper:
            try:
                return _sockets(ours, len(wanted))
            finally:
                helper.kill()


def _start(arguments: list[str], answer_on: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-I", "-S", str(_PROGRAM), *arguments]
    try:
        return start_apart(command, environment={}, folder=Path("/"), descriptors=(answer_on,))
    except OSError as fault:
        raise _refusal(str(fault)) from fault


def _sockets(ours: socket, count: int) -> list[socket]:
    ours.settimeout(_PATIENCE_SECONDS)
    try:
        words, descriptors, _, _ = recv_fds(ours, _MOST_WORDS, count)
    except OSError as fault:
        raise _refusal(str(fault)) from fault
    sockets = [socket(fileno=descriptor) for descriptor in descriptors]
    for received in sockets:
        received.set_inheritable(False)
    if len(sockets) == count:
        return sockets
    for received in sockets:
        received.close()
    raise _refusal(words.decode(errors="replace") or "no answer")


def _refusal(reason: str) -> SandboxError:
    return SandboxError(
        f"no door could be opened into the sandbox, because its network cannot be entered from here ({reason}). Run as "
        "the user whose processes the sandboxes are (as root for a docker daemon), or use another kind of sandbox."
    )
