"""An open door to the models: a server on a socket that a sandbox listens on. Loaded when a gateway is opened."""

import asyncio
import logging
from asyncio import Task
from socket import socket
from typing import Any

from aiohttp import web

from outweigh.gateway.reverse_proxy import ReverseProxy
from outweigh.gateway.run_ledger import RunLedger

MOST_CONNECTIONS = 256
"""No agent needs so many, and all runs share what the engine's process may open."""

# Whatever a client does to its connection is in the account or nowhere; nobody is to read tracebacks about it.
_SILENCE = logging.Logger("outweigh.gateway")
_SILENCE.addHandler(logging.NullHandler())


class OpenDoor:
    """Answers on one socket for one run. Belongs to the thread of the gateway."""

    def __init__(self, ledger: RunLedger, proxy: ReverseProxy) -> None:
        self._ledger = ledger
        self._proxy = proxy
        self._answering: set[Task[Any]] = set()

    async def open(self, listening: socket) -> None:
        """Begin to answer."""
        self._server = _BoundedServer(self._answer, handler_cancellation=True, access_log=None, logger=_SILENCE)
        self._accepting = await asyncio.get_running_loop().create_server(self._server, sock=listening)

    async def close(self) -> None:
        """Hang up on everybody; what they asked for is in the ledger as it stands."""
        self._accepting.close()
        answering = tuple(self._answering)
        for task in answering:
            task.cancel()
        if answering:
            await asyncio.wait(answering)
        for connection in self._server.connections:
            connection.force_close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            return await self._proxy.answer(self._ledger, request)
        finally:
            self._answering.discard(task)


class _BoundedServer(web.Server):
    """Hangs up on a connection too many before it takes anything."""

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Count it in."""
        super().connection_made(handler, transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
