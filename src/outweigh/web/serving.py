"""The viewer on a socket, until somebody ends it."""

import socket
from collections.abc import Callable
from contextlib import ExitStack

import uvicorn
from starlette.applications import Starlette

from outweigh.errors import UsageError


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there, before anything is promised to anybody."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with ExitStack() as held:
            listener = held.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            held.pop_all()
    except OSError as fault:
        raise UsageError(
            f"{host}:{port} cannot be listened on: {fault.strerror}. Name another --port or --host."
        ) from fault
    return listener


def serve(app: Starlette, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Answer until Ctrl-C; `ready` is called when a request would be answered."""
    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1, lifespan="off"
    )
    listener.listen(settings.backlog)
    ready()
    uvicorn.Server(settings).run(sockets=[listener])
