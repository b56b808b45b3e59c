"""Providers that behave as a test wants them to, on loopback."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep

from aiohttp import web

from outweigh.gateway.event_loop_thread import EventLoopThread

PATIENCE_SECONDS = 60.0

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@contextmanager
def an_upstream(handler: Handler) -> Iterator[str]:
    """A server that answers everything with this; its address."""
    with EventLoopThread() as background:
        accepting, server = background.run(_listen(handler))
        try:
            yield f"http://127.0.0.1:{accepting.sockets[0].getsockname()[1]}"
        finally:
            background.run(_close(accepting, server))


async def _listen(handler: Handler) -> tuple[asyncio.Server, web.Server]:
    server = web.Server(handler, handler_cancellation=True, access_log=None)
    return await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0), server


async def _close(accepting: asyncio.Server, server: web.Server) -> None:
    accepting.close()
    for connection in server.connections:
        connection.force_close()


async def stream(request: web.BaseRequest, headers: dict[str, str] | None = None) -> web.StreamResponse:
    """The beginning of a stream of events."""
    response = web.StreamResponse(headers={"content-type": "text/event-stream", **(headers or {})})
    await request.read()
    await response.prepare(request)
    return response


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that must come, for as long as any machine may need."""
    deadline = monotonic() + PATIENCE_SECONDS
    while not condition():
        assert monotonic() < deadline, "it did not come"
        sleep(0.01)
