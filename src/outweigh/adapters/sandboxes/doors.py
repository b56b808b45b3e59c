"""Doors of a sandbox: sockets that listen inside, and whoever answers on them outside."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from socket import create_server, socket

from outweigh.ports.sandboxes import Door, SandboxError

_LOOPBACK = "127.0.0.1"
_FIRST_PORT = 7411


def ports_inside(doors: Sequence[Door]) -> dict[str, int]:
    """The ports of doors in a sandbox with a loopback of its own, where all are free."""
    return {name: _FIRST_PORT + place for place, name in enumerate(_names(doors))}


def port_of(name: str, ports: Mapping[str, int]) -> int:
    """The port of a door that a sandbox has."""
    if name not in ports:
        raise SandboxError(f"the sandbox has no door {name!r}, only these: {', '.join(ports) or 'none'}.")
    return ports[name]


@contextmanager
def answering(doors: Sequence[Door], sockets: Sequence[socket]) -> Iterator[None]:
    """Answer at every door; afterwards nobody does, and the sockets are closed."""
    with ExitStack() as open_doors:
        for listening in sockets:
            open_doors.enter_context(listening)
        for door, listening in zip(doors, sockets, strict=True):
            open_doors.enter_context(door.serve(listening))
        yield


@contextmanager
def doors_of_the_host(doors: Sequence[Door]) -> Iterator[dict[str, int]]:
    """Answer on the host's own loopback, on ports that happen to be free; says which."""
    names = _names(doors)
    sockets = [create_server((_LOOPBACK, 0)) for _ in names]
    with answering(doors, sockets):
        yield {name: listening.getsockname()[1] for name, listening in zip(names, sockets, strict=True)}


def _names(doors: Sequence[Door]) -> list[str]:
    names = [door.name for door in doors]
    if len(set(names)) < len(names):
        raise SandboxError(f"two doors of a sandbox have the same name: {', '.join(names)}.")
    return names
