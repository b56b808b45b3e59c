"""A separate program that works in the namespaces of another process: it opens listening sockets in the network and
passes them back, or it makes /proc read-only.

A thread can enter a network namespace, but only a process with a single thread can enter the user namespace that owns
it, and the engine has several. Sandboxes wait for this program, so it imports nothing that takes time.

Arguments: the job and the process id; for the job `listen` also the descriptor of a socket to reply on, and the ports.
That reply is the listening sockets, or an error message. The jobs `protect-proc` and `release-proc` end with an error
message and exit code 1 where they fail.
"""

import _socket
import array
import ctypes
import fcntl
import os
import sys

_GET_USER_NAMESPACE = 0xB701
_NEW_USER, _NEW_NETWORK, _NEW_MOUNTS = 0x10000000, 0x40000000, 0x20000
# The loopback interface of a sandbox may come up a moment after its network.
_IP_FREEBIND = 15
_BACKLOG = 128
_READ_ONLY, _NO_SUID_NO_DEVICES_NO_PROGRAMS, _REMOUNT, _BIND = 1, 2 | 4 | 8, 32, 4096


def main(job: str, process: str, *arguments: str) -> None:
    """Do one job."""
    if job == "listen":
        _pass_sockets(process, *arguments)
        return
    try:
        _enter_namespace(process, "mnt", _NEW_MOUNTS)
        _remount_proc(_READ_ONLY if job == "protect-proc" else 0)
    except OSError as fault:
        sys.exit(fault.strerror)


def _pass_sockets(process: str, reply_descriptor: str, *ports: str) -> None:
    reply = _socket.socket(fileno=int(reply_descriptor))
    try:
        _enter_namespace(process, "net", _NEW_NETWORK)
        listening = [_listen(int(port)) for port in ports]
    except OSError as fault:
        reply.send((fault.strerror or str(fault)).encode())
        return
    descriptors = array.array("i", [listener.fileno() for listener in listening])
    reply.sendmsg([b""], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])


_OWN = {"net": "network", "mnt": "mounts"}


def _enter_namespace(process: str, name: str, kind: int) -> None:
    namespace = os.open(f"/proc/{process}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC)
    if os.fstat(namespace).st_ino == os.stat(f"/proc/self/ns/{name}").st_ino:  # noqa: PTH116 - pathlib takes time
        raise OSError(0, f"it has no {_OWN[name]} of its own")
    try:
        _enter(namespace, kind)
    except PermissionError:
        # The creator of the user namespace that owns this one may enter that one, and then this.
        _enter(fcntl.ioctl(namespace, _GET_USER_NAMESPACE), _NEW_USER)
        _enter(namespace, kind)


def _enter(namespace: int, kind: int) -> None:
    _check(ctypes.CDLL(None, use_errno=True).setns(namespace, kind))


def _remount_proc(read_only: int) -> None:
    flags = ctypes.c_ulong(_REMOUNT | _BIND | _NO_SUID_NO_DEVICES_NO_PROGRAMS | read_only)
    _check(ctypes.CDLL(None, use_errno=True).mount(None, b"/proc", None, flags, None))


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _listen(port: int) -> _socket.socket:
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.setsockopt(_socket.IPPROTO_IP, _IP_FREEBIND, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(_BACKLOG)
    return listener


if __name__ == "__main__":
    main(*sys.argv[1:])
