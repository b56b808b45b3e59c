"""A separate program that opens listening sockets in the network namespace of another process and passes them back.

A thread can enter a network namespace, but only a process with a single thread can enter the user namespace that owns
it, and the engine has several. Sandboxes wait for this program, so it imports nothing that takes time.

Arguments: the process id, the descriptor of a socket to reply on, the ports. The reply is the listening sockets, or an
error message.
"""

import _socket
import array
import ctypes
import fcntl
import os
import sys

_GET_USER_NAMESPACE = 0xB701
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
# The loopback interface of a sandbox may come up a moment after its network.
_IP_FREEBIND = 15
_BACKLOG = 128


def main(process: str, reply_descriptor: str, *ports: str) -> None:
    """Enter the namespace, listen, and send the sockets."""
    reply = _socket.socket(fileno=int(reply_descriptor))
    try:
        _enter_network(process)
        listening = [_listen(int(port)) for port in ports]
    except OSError as fault:
        reply.send((fault.strerror or str(fault)).encode())
        return
    descriptors = array.array("i", [listener.fileno() for listener in listening])
    reply.sendmsg([b""], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])


def _enter_network(process: str) -> None:
    network = os.open(f"/proc/{process}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    if os.fstat(network).st_ino == os.stat("/proc/self/ns/net").st_ino:  # noqa: PTH116 - pathlib takes time
        raise OSError(0, "it has no network of its own")
    try:
        _enter(network, _NEW_NETWORK)
    except PermissionError:
        # The creator of the user namespace that owns the network may enter that one, and then its network.
        _enter(fcntl.ioctl(network, _GET_USER_NAMESPACE), _NEW_USER)
        _enter(network, _NEW_NETWORK)


def _enter(namespace: int, kind: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace, kind) != 0:
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
