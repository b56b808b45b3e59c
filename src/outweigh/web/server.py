"""Serve the viewer until Ctrl-C: the socket, the address that is printed, and the token where others can reach it."""

import secrets
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from outweigh.errors import UsageError
from outweigh.store.dataset_manifest import refuse_dataset
from outweigh.web.application import make_viewer
from outweigh.web.catalogue import StoreCatalogue

TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRequest:
    """Which stores to show, by paths and addresses, and where to listen; port 0 takes any that is free."""

    paths: tuple[Path | str, ...]
    host: str = "127.0.0.1"
    port: int = 0


def serve_viewer(request: ViewRequest, on_ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; `on_ready` takes the address as soon as requests are answered."""
    for path in request.paths:
        refuse_dataset(Path(path))
    catalogue = StoreCatalogue(list(request.paths))
    token = None if _is_loopback(request.host) else secrets.token_urlsafe(TOKEN_BYTES)
    with _bind_socket(request.host, request.port) as listener:
        catalogue.read()
        url = _url(request.host, listener.getsockname()[1], token)
        try:
            with suppress(KeyboardInterrupt):
                _run_server(make_viewer(catalogue, token), listener, lambda: on_ready(url))
        finally:
            catalogue.verdicts.stop()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _url(host: str, port: int, token: str | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/" + ("" if token is None else f"?token={token}")


def _bind_socket(host: str, port: int) -> socket.socket:
    """Bind a listening socket, before its address is shown to anybody."""
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


def _run_server(app: Starlette, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C; `ready` is called as soon as requests are answered."""
    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1, lifespan="off"
    )
    listener.listen(settings.backlog)
    ready()
    uvicorn.Server(settings).run(sockets=[listener])
