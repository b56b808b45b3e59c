"""One run's way to the models."""

import asyncio
import logging
from asyncio import Task
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket
from typing import TYPE_CHECKING, Any

from outweigh.gateway.background import Background
from outweigh.gateway.run_ledger import RunLedger
from outweigh.ports import Door
from outweigh.transcript.model_call import Account

if TYPE_CHECKING:
    from aiohttp import web

    from outweigh.gateway.reverse_proxy import ReverseProxy

DOOR = "model"

# Whatever a client does to its connection is in the account or nowhere; nobody is to read tracebacks about it.
_SILENCE = logging.Logger("outweigh.gateway")
_SILENCE.addHandler(logging.NullHandler())


class RunMeter:
    """Serves a run's doors, each on a socket that a sandbox listens on, and tells what passed."""

    def __init__(self, ledger: RunLedger, background: Background, proxy: "ReverseProxy") -> None:
        self._ledger = ledger
        self._background = background
        self._proxy = proxy
        self._open_doors: set[_OpenDoor] = set()
        self._final: Account | None = None

    @property
    def door(self) -> Door:
        """The door that a sandbox opens to it."""
        return Door(name=DOOR, serve=self._serve)

    @property
    def key(self) -> str:
        """What the agent must send instead of a real key."""
        return self._ledger.key

    def account(self) -> Account:
        """Everything that passed so far; what a client has received is in it."""
        return self._final or self._background.run(self._account())

    def unserved(self) -> tuple[str, ...]:
        """What was asked for and is not served: a bounded number."""
        return tuple(self._ledger.unserved)

    async def close(self) -> None:
        """Close what is still open, and the account with it. In the background's own thread."""
        self._ledger.is_open = False
        for door in tuple(self._open_doors):
            await door.close()
        self._final = self._ledger.account()

    async def _account(self) -> Account:
        return self._ledger.account()

    @contextmanager
    def _serve(self, listening: socket) -> Iterator[None]:
        door = _OpenDoor(self._ledger, self._proxy)
        self._background.run(door.open(listening))
        self._open_doors.add(door)
        try:
            yield
        finally:
            self._background.run(door.close())
            self._open_doors.discard(door)


class _OpenDoor:
    """A listening socket with a server on it. Belongs to the thread of the gateway."""

    def __init__(self, ledger: RunLedger, proxy: "ReverseProxy") -> None:
        self._ledger = ledger
        self._proxy = proxy
        self._answering: set[Task[Any]] = set()

    async def open(self, listening: socket) -> None:
        """Begin to answer."""
        from aiohttp import web  # noqa: PLC0415 - heavy, and needed only here

        self._server = web.Server(self._answer, handler_cancellation=True, access_log=None, logger=_SILENCE)
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

    async def _answer(self, request: "web.BaseRequest") -> "web.StreamResponse":
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            return await self._proxy.answer(self._ledger, request)
        finally:
            self._answering.discard(task)
